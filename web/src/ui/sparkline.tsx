// A small graph of scores from 0 to 1, with a line at one half.
const WIDTH = 200;
const HEIGHT = 56;

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
	const points = values.map((value, index) => {
		const x = (WIDTH * index) / Math.max(1, values.length - 1);
		return `${x.toFixed(1)},${(HEIGHT - 3 - value * (HEIGHT - 6)).toFixed(1)}`;
	});
	return (
		<svg
			class="graph sparkline"
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			preserveAspectRatio="none"
			role="img"
			aria-label={label}
		>
			<line class="half" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
			<polygon class="area" points={`0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`} />
			<polyline class="curve" points={points.join(" ")} />
		</svg>
	);
}
