// The drawings of Skystones, on a grid of 48 by 48.
import { addGlyphs } from "@app/cards/glyphs";

addGlyphs({
	FIRE: "M26 2c1 9 13 13 13 26 0 10-7 17-15 17S9 38 9 29c0-7 5-10 6-18 4 2 6 6 6 10 4-4 6-12 5-19zM24 27c-1 5-6 6-6 11 0 3 3 5 6 5s6-2 6-5c0-5-5-6-6-11z",
	EARTH: "M2 42L18 10l6 11 4-5 18 26zM18 17l-5 10 4-2 3 3 3-2z",
	ELECTRO: "M29 2L8 27h12l-5 19 24-27H26z",
	WATER:
		"M24 2c8 12 15 20 15 28a15 15 0 0 1-30 0C9 22 16 14 24 2zM15 30c0 6 4 9 8 10v-4c-3-1-4-3-4-6z",
	AIR: "M3 17h24a4 4 0 1 0-4-5h-5a9 9 0 1 1 9 10H3zM3 25h34a7.500 7.500 0 1 1-7 10h5a3 3 0 1 0 2-5H3zM3 33h18a6 6 0 1 1-6 8h5a1.500 1.500 0 1 0 1-3H3z",
});
