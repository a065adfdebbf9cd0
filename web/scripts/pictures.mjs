// Draws what has to be a PNG: the icons of an installed app, and what a link to a game shows where it is shared.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { initWasm, Resvg } from "@resvg/resvg-wasm";

const STATIC = "../service/gateway/static";
const GAMES = "../games";
const SIZE = [600, 315]; // As those who show previews ask for it.

await initWasm(readFileSync("node_modules/@resvg/resvg-wasm/index_bg.wasm"));

function draw(svg, width, name) {
	const drawn = new Resvg(svg, { fitTo: { mode: "width", value: width } }).render();
	writeFileSync(`${STATIC}/${name}.png`, drawn.asPng());
}

const icon = (name) => readFileSync(`public/${name}.svg`, "utf8");
for (const width of [192, 512]) draw(icon("icon"), width, `icon-${width}`);
draw(icon("icon-maskable"), 512, "icon-maskable");
draw(icon("icon-maskable"), 180, "apple-touch-icon");

/** A fan of cards with these drawings, on a cloth. */
function preview([middle, edge], drawings) {
	const cards = drawings.map((path, index) => {
		const from = index - (drawings.length - 1) / 2;
		return `<g transform="translate(${300 + 82 * from} ${168 + 7 * from * from}) rotate(${8 * from})">
			<rect x="-55" y="-80" width="110" height="154" rx="11" fill="#fbf6ea" stroke="#2a2118" stroke-width="2"/>
			<path d="${path}" fill="${edge}" fill-rule="evenodd" transform="translate(-36 -40) scale(1.5)"/></g>`;
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.join(" ")}">
		<rect width="${SIZE[0]}" height="${SIZE[1]}" fill="${middle}"/>${cards.join("")}</svg>`;
}

/** The drawings of a file, which are written as names with paths. */
const drawingsOf = (file) =>
	[...readFileSync(file, "utf8").matchAll(/^\t[A-Z_]+:\s*"(M[^"]+)"/gm)].map(([, path]) => path);

mkdirSync(`${STATIC}/i`, { recursive: true });
const star = drawingsOf("src/cards/glyphs.tsx")[1];
draw(preview(["#0d5a4e", "#0d5a4e"], [star, star, star]), SIZE[0], "i/game");
for (const game of readdirSync(GAMES)) {
	const web = `${GAMES}/${game}/web`;
	if (!existsSync(`${web}/style.css`)) continue;
	const felt = [...readFileSync(`${web}/style.css`, "utf8").matchAll(/--felt-[ab]: (#\w+)/g)];
	const drawings = readdirSync(web)
		.filter((file) => file.endsWith(".tsx"))
		.flatMap((file) => drawingsOf(`${web}/${file}`));
	const cloth = felt.map(([, colour]) => colour);
	draw(preview(cloth, drawings.slice(0, 5)), SIZE[0], `i/${game}`);
}
