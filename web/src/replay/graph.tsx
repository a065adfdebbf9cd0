// The graph of a review: the expected score over the match with the errors on it, and luck below.
import { type ChanceOutcome, type DecisionReview, Verdict } from "../api/types";
import { points, t } from "../i18n";
import { curve, isError, stepOf } from "./review";
import type { Moment } from "./states";

const WIDTH = 340;
const LEFT = 56; // For the words of the axis.
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 130; // Of the scores; luck is below.
const LUCK = 164; // Where its bars stand.
const LUCK_HEIGHT = 22;
const HEIGHT = LUCK + LUCK_HEIGHT + 4;
const LEAST_SCALE = 0.1; // So that next to no luck looks like that.
const SNAP = 7; // A click as near as this to a mark means the mark.

/** The shape of a verdict that is an error: the worse, the more corners. */
export function Shape(props: { verdict: Verdict; x: number; y: number; own: boolean }) {
	const { verdict, x, y, own } = props;
	const at = (corners: readonly (readonly [number, number])[]) =>
		corners.map(([dx, dy]) => `${(x + dx).toFixed(1)},${(y + dy).toFixed(1)}`).join(" ");
	const name = `shape verdict${verdict} ${own ? "own" : "others"}`;
	if (verdict === Verdict.INACCURACY) return <circle class={name} cx={x} cy={y} r="4" />;
	const triangle = [
		[0, -5.5],
		[5.5, 4.5],
		[-5.5, 4.5],
	] as const;
	const square = [
		[0, -6.5],
		[6.5, 0],
		[0, 6.5],
		[-6.5, 0],
	] as const;
	return <polygon class={name} points={at(verdict === Verdict.MISTAKE ? triangle : square)} />;
}

export function Graph(props: {
	all: readonly Moment[];
	decisions: readonly DecisionReview[];
	/** Those that the filter lets through. */
	shown: readonly DecisionReview[];
	chance: readonly ChanceOutcome[];
	near: number;
	at: number;
	/** The whole in words. */
	label: string;
	go: (step: number) => void;
}) {
	const { all, decisions, near, at, label } = props;
	const last = Math.max(1, all.length - 1);
	const x = (step: number) => LEFT + ((WIDTH - LEFT - RIGHT) * step) / last;
	const y = (score: number) => BOTTOM - score * (BOTTOM - TOP);
	const curves = [1 - near, near].map((seat) => {
		const found = curve(all, decisions, near, seat);
		const line = found.map(({ step, score }) => `${x(step).toFixed(1)},${y(score).toFixed(1)}`);
		return { own: seat === near, line: line.join(" "), found };
	});
	const { found, line } = curves[1]!;
	const marks = props.shown.filter(isError).map((each) => ({
		verdict: each.verdict,
		own: each.seat === near,
		step: stepOf(all, each.version),
		score: each.seat === near ? each.expectedScore : 1 - each.expectedScore,
	}));
	const scale = Math.max(LEAST_SCALE, ...props.chance.map(({ luck }) => Math.abs(luck)));
	const thick = Math.min(8, Math.max(2, (0.7 * (WIDTH - LEFT - RIGHT)) / last));

	function pick(event: PointerEvent & { currentTarget: SVGSVGElement }) {
		const box = event.currentTarget.getBoundingClientRect();
		const clicked = ((event.clientX - box.left) / box.width) * WIDTH;
		const steps = marks.map(({ step }) => step);
		const near = (step: number) => Math.abs(x(step) - clicked);
		const mark = steps.sort((a, b) => near(a) - near(b))[0];
		if (mark !== undefined && near(mark) <= SNAP) return props.go(mark);
		props.go(Math.round(((clicked - LEFT) / (WIDTH - LEFT - RIGHT)) * last));
	}
	return (
		<svg
			class="graph reviewgraph"
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			role="img"
			aria-label={label}
			data-testid="graph"
			onPointerDown={pick}
			onPointerMove={(event) => event.buttons === 1 && pick(event)}
		>
			{[
				[1, t().hintWin],
				[0.5, t().reviewEven],
				[0, t().reviewLoss],
			].map(([score, word]) => (
				<g key={word}>
					<text x={LEFT - 10} y={y(score as number) + 4}>
						{word}
					</text>
					<line
						class={score === 0.5 ? "half" : "rule"}
						x1={LEFT}
						x2={WIDTH - RIGHT}
						y1={y(score as number)}
						y2={y(score as number)}
					/>
				</g>
			))}
			{found.length > 1 && (
				<polygon
					class="area"
					points={`${x(found[0]!.step)},${y(0.5)} ${line} ${x(found.at(-1)!.step)},${y(0.5)}`}
				/>
			)}
			{curves.map(({ own, line }) => (
				<polyline key={own} class={`curve ${own ? "" : "dashed"}`} points={line} />
			))}
			<text x={LEFT - 10} y={LUCK + 4}>
				{t().reviewLuck}
			</text>
			<line class="rule" x1={LEFT} x2={WIDTH - RIGHT} y1={LUCK} y2={LUCK} />
			{props.chance.map(({ version, luck }) => {
				const own = near === 0 ? luck : -luck;
				const height = Math.max(1, (LUCK_HEIGHT * Math.abs(own)) / scale);
				return points(luck) === 0 ? null : (
					<rect
						key={`${version}`}
						class={own > 0 ? "lucky" : "unlucky"}
						x={x(stepOf(all, version)) - thick / 2}
						y={own > 0 ? LUCK - height : LUCK}
						width={thick}
						height={height}
					/>
				);
			})}
			<line class="mark" x1={x(at)} x2={x(at)} y1={TOP - 6} y2={HEIGHT - 2} />
			{marks.map(({ verdict, own, step, score }, index) => (
				<Shape key={index} {...{ verdict, own }} x={x(step)} y={y(score)} />
			))}
		</svg>
	);
}

/** The shape of an error in a line of text; other verdicts have none. */
export function Sign({ verdict, own }: { verdict: Verdict; own: boolean }) {
	if (verdict < Verdict.INACCURACY || verdict > Verdict.BLUNDER) return null;
	return (
		<svg class="sign" viewBox="0 0 16 16" aria-hidden="true">
			<Shape verdict={verdict} own={own} x={8} y={8} />
		</svg>
	);
}
