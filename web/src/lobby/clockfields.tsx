// A clock of one's own, within the limits of the schema.
import { useState } from "preact/hooks";
import type { ClockChoice } from "../api/calls";
import { t } from "../i18n";
import { Choices } from "../ui/choices";

const UNITS = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 } as const;
type Unit = keyof typeof UNITS;
const LONGEST = 30 * UNITS.days;

export function ClockFields(props: { value: ClockChoice; onChange: (value: ClockChoice) => void }) {
	const { value, onChange } = props;
	const [unit, setUnit] = useState<Unit>("minutes");
	const [count, setCount] = useState(10);
	const each = value.perDecision !== undefined;
	const change = (newCount: number, newUnit: Unit, forEach = each) => {
		setCount(newCount);
		setUnit(newUnit);
		const time = newCount * UNITS[newUnit];
		onChange(forEach ? { perDecision: time } : { perMatch: time, increment: value.increment ?? 0 });
	};
	return (
		<div class="ownclock">
			<Choices
				title={t().clockFor}
				name="clockfor"
				value={each ? "each" : "all"}
				onChange={(wanted) => change(count, unit, wanted === "each")}
				choices={[
					["all", t().clockForAll],
					["each", t().clockForEach],
				]}
			/>
			<div class="fields">
				<label>
					{t().clockTime}
					<input
						type="number"
						name="clocktime"
						required
						min={1}
						max={LONGEST / UNITS[unit]}
						value={count}
						onInput={(event) => change(event.currentTarget.valueAsNumber || 0, unit)}
					/>
				</label>
				<select
					aria-label={t().clockUnit}
					value={unit}
					onChange={(event) => change(count, event.currentTarget.value as Unit)}
				>
					{(Object.keys(UNITS) as Unit[]).map((name) => (
						<option key={name} value={name}>
							{t().units[name]}
						</option>
					))}
				</select>
				{!each && (
					<label>
						{t().clockIncrement}
						<input
							type="number"
							name="clockincrement"
							required
							min={0}
							max={UNITS.days}
							value={value.increment ?? 0}
							onInput={(event) =>
								onChange({ ...value, increment: event.currentTarget.valueAsNumber || 0 })
							}
						/>
						{t().units.seconds}
					</label>
				)}
			</div>
			<p class="muted note">{t().clockLimits}</p>
		</div>
	);
}
