// A small graph of scores from 0 to 1, with a line at one half.
export function Sparkline(props: {
	values: readonly (number | undefined)[];
	label: string;
	mark?: number;
	class?: string;
	onPick?: (index: number) => void;
}) {
	const { values, label, mark } = props;
	const width = 200;
	const height = 56;
	const x = (index: number) => (width * index) / Math.max(1, values.length - 1);
	const y = (value: number) => height - 3 - value * (height - 6);
	const points = values.flatMap((value, index) =>
		value === undefined ? [] : [`${x(index).toFixed(1)},${y(value).toFixed(1)}`],
	);
	return (
		<svg
			class={`sparkline ${props.class ?? ""}`}
			viewBox={`0 0 ${width} ${height}`}
			preserveAspectRatio="none"
			role="img"
			aria-label={label}
		>
			<title>{label}</title>
			<line class="half" x1="0" x2={width} y1={y(0.5)} y2={y(0.5)} />
			{points.length > 1 && (
				<>
					<polygon class="area" points={`0,${height} ${points.join(" ")} ${width},${height}`} />
					<polyline class="curve" points={points.join(" ")} />
				</>
			)}
			{mark !== undefined && <line class="mark" x1={x(mark)} x2={x(mark)} y1="0" y2={height} />}
		</svg>
	);
}
