// The table of a replay: each step keeps its own.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { follow } from "../../../games/castle_rampage/web/replay";
import { follow as followStones } from "../../../games/skystones/web/replay";
import { MatchRecordSchema } from "../../src/api/types";
import {
	CastleRampageCard,
	CastleRampageStructure,
	type CastleRampageView,
} from "../../src/gen/croupier/v1/castle_rampage_pb";
import { SkystonesField, type SkystonesView } from "../../src/gen/croupier/v1/skystones_pb";
import { moments } from "../../src/replay/states";

type Happened = NonNullable<MessageInitShape<typeof MatchRecordSchema>["entries"]>[number]["entry"];

const recordOf = (game: "castleRampage" | "skystones", events: object[]) =>
	create(MatchRecordSchema, {
		ruleset: { game: { case: game, value: {} } },
		entries: events.map((value, index) => ({
			version: BigInt(index),
			entry: { case: "event", value: { event: { case: game, value } } } as Happened,
		})),
	});

it.each([
	[CastleRampageStructure.GATE, "gate"],
	[CastleRampageStructure.CASTLE, "castle"],
] as const)("a card that falls later has not fallen before: %s, %s", (structure, place) => {
	const value = { structure, card: CastleRampageCard.KNIGHT };
	const record = recordOf("castleRampage", [
		{ event: { case: "shuffled", value: {} } },
		{ seat: 0, event: { case: "destroyed", value } },
	]);
	const fallen = moments(record, follow()).map(
		({ view }) => (view.game.value as CastleRampageView).sides[0]![place]!.fallen,
	);
	expect(fallen).toEqual([[], [CastleRampageCard.KNIGHT]]);
});

it("a field under a card is there again in the next round", () => {
	const record = recordOf("skystones", [
		{ event: { case: "fieldLaid", value: { square: 4, field: SkystonesField.FIRE } } },
		{ event: { case: "placed", value: { seat: 1, card: 7, square: 4 } } },
		{ event: { case: "roundEnded", value: {} } },
	]);
	const squares = moments(record, followStones(record)).map(
		({ view }) => (view.game.value as SkystonesView).board[4]!,
	);
	expect(squares[1]).toMatchObject({ field: SkystonesField.FIRE, card: 7, owner: 1 });
	expect(squares[2]!.field).toBe(SkystonesField.FIRE);
	expect(squares[2]!.card).toBe(undefined);
});
