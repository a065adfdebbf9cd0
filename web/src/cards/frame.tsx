// The paper, title and back of cards. The face of a card is its game's: games/<game>/web/card.tsx.
import type { ComponentChildren } from "preact";
import type { CatalogCard } from "../api/types";

export const WIDTH = 100;
export const HEIGHT = 140;

/** A card as a drawing of 100 by 140. Its colours come from the style sheet, but for its tint. */
export function CardFrame(props: {
	class: string;
	label: string;
	/** The card's id, by which it can be asked. */
	card?: string;
	tint?: string;
	children: ComponentChildren;
	height?: number;
}) {
	const height = props.height ?? HEIGHT;
	return (
		<svg
			class={`face notranslate ${props.class}`}
			style={props.tint && { "--tint": props.tint }}
			viewBox={`0 0 ${WIDTH} ${height}`}
			role="img"
			aria-label={props.label}
			data-card={props.card}
		>
			<rect class="paper" x="1" y="1" width={WIDTH - 2} height={height - 2} rx="9" />
			{props.children}
			<rect class="edge" x="1" y="1" width={WIDTH - 2} height={height - 2} rx="9" />
		</svg>
	);
}

/** A card in words: its title, its kind where that is worth a word, and its numbers. */
export const labelOf = ({ title, numbers }: CatalogCard, kind = "") =>
	[title, kind, ...numbers.map((each) => `${each.title} ${each.value}`)].filter(Boolean).join(", ");

/** Tells the style sheet how many things share a place, for a `ref`: `.fit` makes them as large as fits. */
export const counted = (count: number) => (element: HTMLElement | null) =>
	element?.style.setProperty("--n", `${Math.max(1, count)}`);

const RULER = 100;
const widths = new Map<string, number>();

/** How wide a title of size 1 is, in the visitor's font. */
function widthOf(text: string): number {
	const known = widths.get(text);
	if (known) return known;
	const pen = document.createElement("canvas").getContext("2d");
	const font = getComputedStyle(document.documentElement).getPropertyValue("--serif");
	if (pen) pen.font = `700 ${RULER}px ${font}`;
	const SPACING = 0.01; // The style sheet's, after each letter.
	const width = (pen?.measureText(text).width ?? 0) / RULER + SPACING * text.length;
	widths.set(text, width);
	return width;
}

/** The font size, at most `max`, with which a title is at most `width` wide. */
export const sizeOf = (text: string, width: number, max: number) =>
	Math.floor(10 * Math.min(max, width / widthOf(text))) / 10;

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
	const size = Math.min(...lines.map((line) => sizeOf(line, width, max)));
	const first = y - ((lines.length - 1) * size * 1.05) / 2;
	return (
		<text class="title" x="50" text-anchor="middle" font-size={size}>
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
			class={`face notranslate back ${props.class ?? ""}`}
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
