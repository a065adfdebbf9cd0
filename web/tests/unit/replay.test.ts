// The steps of a replay, put together from the views of both seats and the events of the record.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { game as castle } from "../../../games/castle_rampage/web";
import { MatchRecordSchema, ReplayMatchResponseSchema, ViewSchema } from "../../src/api/types";
import {
	CastleRampageCard,
	type CastleRampageView,
} from "../../src/gen/croupier/v1/castle_rampage_pb";
import { moments } from "../../src/replay/states";

type Entry = NonNullable<MessageInitShape<typeof MatchRecordSchema>["entries"]>[number];
const drawn = {
	event: { case: "castleRampage", value: { event: { case: "drawn", value: {} } } },
} as const;
const { ARCHER, KNIGHT } = CastleRampageCard;

/** A seat knows its own Gate, and not the other one. */
const viewOf = (seat: number) =>
	create(ViewSchema, {
		seat,
		game: {
			case: "castleRampage",
			value: {
				hand: [seat ? KNIGHT : ARCHER],
				sides: [0, 1].map((each) => ({
					gate: { standing: [{ card: each === seat ? KNIGHT : 0 }] },
				})),
			},
		} as const,
	});

/** A match of these versions, dealt in one of them, in some of which something happened. */
function stepsOf(versions: number, dealt: number, happened: number[], before = 0) {
	const start = before ? { events: Array(before).fill(drawn) } : undefined;
	const entries = happened.map(
		(at): Entry => ({ version: BigInt(at), entry: { case: "event", value: drawn } }),
	);
	const responses = Array.from({ length: versions }, (_, version) =>
		create(ReplayMatchResponseSchema, {
			version: BigInt(version),
			endVersion: BigInt(versions - 1),
			views: version < dealt ? [create(ViewSchema), create(ViewSchema)] : [viewOf(0), viewOf(1)],
		}),
	);
	const record = create(MatchRecordSchema, { start, entries });
	return moments({ record, versions: responses }, castle, 0);
}

it("has a step for each version in which something happened, and for the end", () => {
	const steps = stepsOf(7, 1, [1, 3, 3, 4]);
	expect(steps.map(({ version, events }) => [Number(version), events.length])).toEqual([
		[1, 1],
		[3, 2],
		[4, 1],
		[6, 0],
	]);
});

it("begins with all that had happened before a match was played on, once it is dealt", () => {
	expect(stepsOf(4, 1, [2], 5).map(({ events }) => events.length)).toEqual([5, 1, 0]);
});

it("shows both hands, and what each seat knew of its own side", () => {
	const [{ view, hands }] = stepsOf(1, 0, [0]) as [ReturnType<typeof stepsOf>[number]];
	expect(hands).toEqual([["ARCHER"], ["KNIGHT"]]);
	const { sides } = view.game.value as CastleRampageView;
	expect(sides.map(({ gate }) => gate!.standing[0]!.card)).toEqual([KNIGHT, KNIGHT]);
});
