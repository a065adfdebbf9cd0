import { create } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { type View, ViewSchema } from "../../src/api/types";
import type { Seat } from "../../src/state/seats";

const memory = () => {
	const kept = new Map<string, string>();
	return {
		getItem: (key: string) => kept.get(key) ?? null,
		setItem: (key: string, value: string) => void kept.set(key, value),
		removeItem: (key: string) => void kept.delete(key),
	};
};

const seat = (match: string): Seat => ({
	match,
	game: "skystones",
	seat: 0,
	token: "t",
	created: 1,
});

const view = (fields: object): View => create(ViewSchema, { version: 1n, ...fields });

describe("seats", () => {
	let seats: typeof import("../../src/state/seats");
	beforeAll(async () => {
		Object.assign(globalThis, {
			localStorage: memory(),
			addEventListener: () => undefined,
		});
		seats = await import("../../src/state/seats");
	});

	it("change what another tab has stored meanwhile", () => {
		localStorage.setItem("croupier.seats", JSON.stringify([seat("matches/elsewhere")]));
		seats.addSeat(seat("matches/here"));
		expect(seats.seats.value.map(({ match }) => match)).toEqual([
			"matches/here",
			"matches/elsewhere",
		]);
	});

	it("tell once that a turn has begun, and not of the first view", () => {
		seats.addSeat(seat("matches/turns"));
		const note = (deciders: number[]) => seats.note("matches/turns", view({ deciders }));
		expect([[], [0], [0], [1], [0, 1]].map(note)).toEqual([false, true, false, false, true]);
		seats.addSeat(seat("matches/first"));
		expect(seats.note("matches/first", view({ deciders: [0] }))).toBe(false);
	});

	it("keep every running match and the last finished ones, with how they ended", () => {
		for (let at = 0; at < 30; at++) {
			seats.addSeat(seat(`matches/over${at}`));
			seats.note(`matches/over${at}`, view({ result: { scores: [at % 2, 1 - (at % 2)] } }));
		}
		const over = seats.seats.value.filter(({ known }) => known?.turn === "over");
		expect(over).toHaveLength(20);
		expect(over[0]!.match).toBe("matches/over29");
		expect(over.slice(0, 2).map(({ known }) => known?.outcome)).toEqual(["won", "lost"]);
		expect(seats.seatOf("turns")).toBeDefined();
	});
});
