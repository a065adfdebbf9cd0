// The special fields of Skystones in a replay: they stay where they lie for the whole match.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { follow } from "../../../engine/skystones/web/replay";
import { MatchRecordSchema } from "../../src/api/types";
import {
	SkystonesEventSchema,
	SkystonesField,
	type SkystonesView,
} from "../../src/gen/croupier/v1/skystones_pb";

it("a field under a card is there again in the next round", () => {
	const follower = follow(create(MatchRecordSchema, {}));
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
