// One of a few things to choose, as a row of radio buttons.
export function Choices<T extends string>(props: {
	title: string;
	name: string;
	value: T;
	choices: (readonly [T, string])[];
	note?: string;
	onChange: (value: T) => void;
}) {
	return (
		<fieldset class="choices">
			<legend>{props.title}</legend>
			<div class="segments">
				{props.choices.map(([value, label]) => (
					<label key={value}>
						<input
							type="radio"
							name={props.name}
							value={value}
							checked={props.value === value}
							onChange={() => props.onChange(value)}
						/>
						<span>{label}</span>
					</label>
				))}
			</div>
			{props.note && <p class="muted note">{props.note}</p>}
		</fieldset>
	);
}
