// Drawings: silhouettes on a grid of 48 by 48, in the colour of the text. Games add their own.
const PATHS: Record<string, string> = {
	SHIELD:
		"M24 3c6 4 12 5 18 5 1 17-5 29-18 37C11 37 5 25 6 8c6 0 12-1 18-5zM24 9v29c9-6.500 13-15 13-25-4.500-.3-9-1.600-13-4z",
	MAGIC:
		"M22 8l4.500 13.500L40 26l-13.500 4.500L22 44l-4.500-13.500L4 26l13.500-4.500zM38 3l2 6 6 2-6 2-2 6-2-6-6-2 6-2z",
	BLOCKED: "M12 5l12 12L36 5l7 7-12 12 12 12-7 7-12-12-12 12-7-7 12-12L5 12z",
	BULB: "M24 3a15 15 0 0 1 8 28l-1 5H17l-1-5a15 15 0 0 1 8-28zM17 38h14v3H17zM19 43h10v3H19z",
	LIST: "M4 9h6v6H4zM15 9h29v6H15zM4 21h6v6H4zM15 21h29v6H15zM4 33h6v6H4zM15 33h29v6H15z",
	BOOK: "M4 7c8-3 14-2 18 2v32c-4-4-10-5-18-2zM44 7c-8-3-14-2-18 2v32c4-4 10-5 18-2z",
	EYE: "M1 24C10 8 38 8 47 24 38 40 10 40 1 24zM24 14a10 10 0 1 0 0 20 10 10 0 0 0 0-20zM24 19a5 5 0 1 1 0 10 5 5 0 0 1 0-10z",
	HAND: "M5 11L22 6l7 31-17 5zM27 8l15 4-7 31-7-2 5-6z",
};

/** Adds the drawings of a game, by name. */
export const addGlyphs = (paths: Record<string, string>) => void Object.assign(PATHS, paths);

/** The shape of a drawing, inside an <svg> of the caller, whose middle lies at x, y. */
export function GlyphAt(props: {
	name: string;
	x: number;
	y: number;
	size: number;
	class?: string;
}) {
	const { name, x, y, size } = props;
	const place = `translate(${x - size / 2} ${y - size / 2}) scale(${size / 48})`;
	return <path class={props.class} d={PATHS[name]} fill-rule="evenodd" transform={place} />;
}

/** A drawing of its own, as high as the text around it; without a label it is decoration. */
export function Glyph(props: { name: string; label?: string; class?: string }) {
	return (
		<svg
			class={`glyph ${props.class ?? ""}`}
			viewBox="0 0 48 48"
			role={props.label ? "img" : undefined}
			aria-label={props.label}
			aria-hidden={props.label ? undefined : "true"}
		>
			<path d={PATHS[props.name]} fill-rule="evenodd" />
		</svg>
	);
}
