// The table of a replay: each step keeps its own.
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { follow } from "../../../engine/castle_rampage/web/replay";
import {
	CastleRampageCard,
	CastleRampageEventSchema,
	CastleRampageStructure,
	type CastleRampageView,
} from "../../src/gen/croupier/v1/castle_rampage_pb";

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
