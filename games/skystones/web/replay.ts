// The table of Skystones after each event of a record, and the deal derived again from chance.
import type { MatchRecord } from "@app/api/types";
import type { Deal, Follower } from "@app/games/module";
import { type SkystonesEvent, SkystonesPhase } from "@app/gen/croupier/v1/skystones_pb";
import { deckByIndex } from "@app/replay/deal";
import { type On, take } from "@app/replay/states";

export function follow(record: MatchRecord): Follower {
	const ruleset = record.ruleset?.game.case === "skystones" ? record.ruleset.game.value : undefined;
	const size = ruleset?.boardSize ?? 3;
	const board: { field: number; card?: number; owner?: number }[] = Array.from(
		{ length: size * size },
		() => ({ field: 0 }),
	);
	const sides = [0, 1].map(() => ({ hand: [] as number[], pile: [] as number[], points: 0 }));
	let phase = SkystonesPhase.PICK;
	let round = 1;
	const on: On<SkystonesEvent["event"]> = {
		dealt: ({ seat, cards }) => {
			if (seat !== undefined) sides[seat]!.pile = [...cards];
		},
		fieldLaid: ({ square, field }) => {
			board[square]!.field = field;
		},
		roundStarted: (started) => {
			round = started.round;
			phase = SkystonesPhase.PICK;
		},
		picked: ({ card }, seat) => {
			if (card === undefined) return;
			take(sides[seat]!.pile, [card]);
			sides[seat]!.hand.push(card);
		},
		placed: ({ card, square, taken }, seat) => {
			phase = SkystonesPhase.PLACE;
			take(sides[seat]!.hand, [card]);
			board[square] = { ...board[square]!, card, owner: seat };
			for (const each of taken) board[each]!.owner = seat;
		},
		roundEnded: ({ winner }) => {
			if (winner !== undefined) sides[winner]!.points++;
			for (const side of sides) side.pile.push(...side.hand.splice(0));
			for (const [at, square] of board.entries()) board[at] = { field: square.field };
		},
	};
	return {
		on,
		game: () => ({
			case: "skystones",
			value: {
				phase,
				round,
				board: board.map((square) => ({ ...square })),
				sides: sides.map(({ hand, pile, points }) => ({
					points,
					handSize: hand.length,
					pileSize: pile.length,
				})),
			},
		}),
		hands: () => [sides[0]!.hand, sides[1]!.hand],
		nameOf: String,
	};
}

export const deal: Deal = {
	derive: (draws, specs) => {
		const cards = draws.shuffle(deckByIndex(specs));
		const half = Math.floor(cards.length / 2);
		return [
			...cards.slice(0, half).map((card) => `0 ${card}`),
			...cards.slice(half, 2 * half).map((card) => `1 ${card}`),
			...cards.slice(2 * half).map((card) => `- ${card}`),
		];
	},
	told: (happened) =>
		happened.flatMap((each) => {
			const { event } = each as SkystonesEvent;
			if (event.case !== "dealt") return [];
			return event.value.cards.map((card) => `${event.value.seat ?? "-"} ${card}`);
		}),
};
