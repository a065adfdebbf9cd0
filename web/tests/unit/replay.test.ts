// The table of a replay: each step keeps its own.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { follow } from "../../../engine/castle_rampage/web/replay";
import { follow as followStones } from "../../../engine/skystones/web/replay";
import { MatchRecordSchema } from "../../src/api/types";
import {
	CastleRampageCard,
	CastleRampageEventSchema,
	CastleRampageStructure,
	type CastleRampageView,
} from "../../src/gen/croupier/v1/castle_rampage_pb";
import {
	SkystonesEventSchema,
	SkystonesField,
	type SkystonesView,
} from "../../src/gen/croupier/v1/skystones_pb";

it.each([
	[CastleRampageStructure.GATE, "gate"],
	[CastleRampageStructure.CASTLE, "castle"],
] as const)("a card that falls later has not fallen before: %s, %s", (structure, place) => {
	const follower = follow();
	const fallen = () => (follower.game().value as CastleRampageView).sides[0]![place]!.fallen;
	const before = fallen();
	const value = { structure, card: CastleRampageCard.KNIGHT };
	follower.follow(create(CastleRampageEventSchema, { event: { case: "destroyed", value } }));
	expect(fallen()).toEqual([CastleRampageCard.KNIGHT]);
	expect(before).toEqual([]);
});

it("a field under a card is there again in the next round", () => {
	const follower = followStones(create(MatchRecordSchema, {}));
	const happen = (event: MessageInitShape<typeof SkystonesEventSchema>["event"]) =>
		follower.follow(create(SkystonesEventSchema, { event }));
	const square = (at: number) => (follower.game().value as SkystonesView).board[at]!;
	happen({ case: "fieldLaid", value: { square: 4, field: SkystonesField.FIRE } });
	happen({ case: "placed", value: { seat: 1, card: 7, square: 4 } });
	expect(square(4)).toMatchObject({ field: SkystonesField.FIRE, card: 7, owner: 1 });
	happen({ case: "roundEnded", value: {} });
	expect(square(4).field).toBe(SkystonesField.FIRE);
	expect(square(4).card).toBe(undefined);
});
