import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { game } from "../../../games/castle_rampage/web";
import type { Context } from "../../src/games/module";
import {
	CastleRampagePhase,
	CastleRampageViewSchema,
} from "../../src/gen/croupier/v1/castle_rampage_pb";
import { ViewSchema } from "../../src/gen/croupier/v1/game_pb";

it("says why a card cannot be played that has left the hand meanwhile", () => {
	const value = create(CastleRampageViewSchema, { phase: CastleRampagePhase.TURN });
	const view = create(ViewSchema, { game: { case: "castleRampage", value } });
	for (const numbers of [undefined, [], [{ key: "cost", title: "Cost", value: 0 }]]) {
		const cards = new Map([["KNIGHT", { id: "KNIGHT", numbers }]]);
		const context = { view, me: 0, catalog: { cards } } as unknown as Context;
		expect(game.why!("KNIGHT", [], context)).not.toContain("-1");
	}
});
