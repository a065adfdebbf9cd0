// What the cards of all games have in common: their paper, their title, and their back.
import type { ComponentChildren } from "preact";

export const WIDTH = 100;
export const HEIGHT = 140;

/** A card as a drawing of 100 by 140. Its colours come from the style sheet, by its classes. */
export function CardFrame(props: {
	class: string;
	label: string;
	children: ComponentChildren;
	height?: number;
}) {
	const height = props.height ?? HEIGHT;
	return (
		<svg
			class={`face ${props.class}`}
			viewBox={`0 0 ${WIDTH} ${height}`}
			role="img"
			aria-label={props.label}
		>
			<rect class="paper" x="1" y="1" width={WIDTH - 2} height={height - 2} rx="9" />
			{props.children}
			<rect class="edge" x="1" y="1" width={WIDTH - 2} height={height - 2} rx="9" />
		</svg>
	);
}

/** Tells the style sheet how many things share a place, for a `ref`: `.fit` makes them as large as fits. */
export const counted = (count: number) => (element: HTMLElement | null) =>
	element?.style.setProperty("--n", `${Math.max(1, count)}`);

/** A title in one line or two, as large as fits. */
export function Title(props: {
	text: string;
	y: number;
	lines?: 1 | 2;
	width?: number;
	max?: number;
}) {
	const { text, y, width = 88, max = 14 } = props;
	const lines = props.lines === 1 ? [text] : split(text);
	const longest = Math.max(...lines.map((line) => line.length));
	const size = Math.min(max, width / (longest * 0.56));
	const first = y - ((lines.length - 1) * size * 1.05) / 2;
	return (
		<text class="title" x="50" text-anchor="middle" font-size={size.toFixed(1)}>
			{lines.map((line, index) => (
				<tspan key={line} x="50" y={(first + index * size * 1.05).toFixed(1)}>
					{line}
				</tspan>
			))}
		</text>
	);
}

/** Splits a long title at the space nearest to its middle. */
function split(text: string): string[] {
	if (text.length <= 11) return [text];
	let best = -1;
	for (let at = text.indexOf(" "); at >= 0; at = text.indexOf(" ", at + 1)) {
		if (best < 0 || Math.abs(at - text.length / 2) < Math.abs(best - text.length / 2)) best = at;
	}
	return best < 0 ? [text] : [text.slice(0, best), text.slice(best + 1)];
}

/** The back of a card. */
export function CardBack(props: { label?: string; class?: string }) {
	return (
		<svg
			class={`face back ${props.class ?? ""}`}
			viewBox="0 0 100 140"
			role={props.label ? "img" : undefined}
			aria-label={props.label}
			aria-hidden={props.label ? undefined : "true"}
		>
			<rect class="paper" x="1" y="1" width="98" height="138" rx="9" />
			<rect class="inlay" x="8" y="8" width="84" height="124" rx="5" />
			<path
				class="lattice"
				d="M50 24L84 70 50 116 16 70zM50 40L72 70 50 100 28 70zM50 56L60 70 50 84 40 70z"
			/>
		</svg>
	);
}
