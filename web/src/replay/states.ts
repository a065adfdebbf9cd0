// A match from its record: the table after each step, with both hands.
import { create } from "@bufbuild/protobuf";
import {
	CastleRampageCard,
	type CastleRampageEvent,
	CastleRampagePhase,
	CastleRampageStructure,
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type Event,
	type MatchRecord,
	type PowerShotSoccerEvent,
	PowerShotSoccerOutcome,
	PowerShotSoccerPhase,
	type SkystonesEvent,
	SkystonesPhase,
	type View,
	ViewSchema,
} from "../api/types";

/** The table after one step. */
export interface Moment {
	version: bigint;
	/** What happened in this step, hidden cards shown. */
	events: Event[];
	/** What everyone could see then. */
	view: View;
	/** The hand of each seat: ids of the catalog. */
	hands: [string[], string[]];
}

/** What each game keeps: it follows the events and draws the table as it is now. */
interface Follower {
	follow(event: Event["event"]["value"]): void;
	game(): View["game"];
	hands(): [number[], number[]];
	nameOf(card: number): string;
}

export function moments(record: MatchRecord): Moment[] {
	const kind = record.ruleset?.game.case;
	const follower = kind && FOLLOWERS[kind]?.(record);
	if (!follower) return [];
	const found: Moment[] = [];
	let events: Event[] = [];
	const finish = (version: bigint) => {
		if (events.length === 0) return;
		const over = events.some((event) => event.event.case === "matchEnded");
		const [first, second] = follower.hands();
		found.push({
			version,
			events,
			view: create(ViewSchema, {
				name: record.name,
				version,
				ruleset: record.ruleset,
				result: over ? record.result : undefined,
				game: follower.game(),
			}),
			hands: [sorted(first).map(follower.nameOf), sorted(second).map(follower.nameOf)],
		});
		events = [];
	};
	let version = record.entries[0]?.version ?? 0n;
	for (const { entry, version: at } of record.entries) {
		if (at !== version) finish(version);
		version = at;
		if (entry.case !== "event") continue;
		events.push(entry.value);
		if (entry.value.event.case === kind) follower.follow(entry.value.event.value);
	}
	finish(version);
	return found;
}

const sorted = (cards: readonly number[]) => [...cards].sort((a, b) => a - b);

/** Removes one copy of each card. */
function take(from: number[], cards: readonly number[]) {
	for (const card of cards) {
		const at = from.indexOf(card);
		if (at >= 0) from.splice(at, 1);
	}
}

const FOLLOWERS: Record<string, (record: MatchRecord) => Follower> = {
	championChess: () => {
		const sides = [0, 1].map(() => ({
			hand: [] as number[],
			deckSize: 0,
			reserve: [] as number[],
			defeated: [] as number[],
			champion: 0,
			aid: [] as number[],
		}));
		let phase = ChampionChessPhase.CHAMPION;
		let challenge = 1;
		return {
			follow(value) {
				const { seat, event } = value as ChampionChessEvent;
				const side = sides[seat]!;
				switch (event.case) {
					case "shuffled":
						side.deckSize = event.value.count;
						if (event.value.fromReserve) side.reserve = [];
						break;
					case "drawn":
						if (phase === ChampionChessPhase.END) {
							phase = ChampionChessPhase.CHAMPION;
							challenge++;
						}
						side.deckSize -= event.value.count;
						side.hand.push(...event.value.cards);
						break;
					case "mulligan":
						take(side.hand, event.value.cards);
						side.reserve.push(...event.value.cards);
						break;
					case "championRevealed":
						phase = ChampionChessPhase.AID;
						side.champion = event.value.champion;
						// After castling the King is in the deck, and the Rook came from there.
						take(side.hand, [event.value.castled ? KING : event.value.champion]);
						break;
					case "aidRevealed":
						side.aid = [...event.value.cards];
						take(side.hand, side.aid);
						break;
					case "challengeDecided":
						phase = ChampionChessPhase.END;
						(event.value.won ? side.reserve : side.defeated).push(event.value.champion);
						side.defeated.push(...side.aid);
						side.aid = [];
						side.champion = 0;
						break;
					case "discarded":
						take(side.hand, event.value.cards);
						side.reserve.push(...event.value.cards);
						break;
				}
			},
			game: () =>
				create(ViewSchema, {
					game: {
						case: "championChess",
						value: {
							phase,
							challenge,
							sides: sides.map((side) => ({
								handSize: side.hand.length,
								deckSize: side.deckSize,
								reserve: sorted(side.reserve),
								defeated: sorted(side.defeated),
								champion: side.champion,
							})),
						},
					},
				}).game,
			hands: () => [sides[0]!.hand, sides[1]!.hand],
			nameOf: (card) => ChampionChessCard[card] ?? "",
		};
	},
	skystones: (record) => {
		const ruleset =
			record.ruleset?.game.case === "skystones" ? record.ruleset.game.value : undefined;
		const size = ruleset?.boardSize ?? 3;
		const board: { field: number; card?: number; owner?: number }[] = Array.from(
			{ length: size * size },
			() => ({ field: 0 }),
		);
		const sides = [0, 1].map(() => ({ hand: [] as number[], pile: [] as number[], points: 0 }));
		let phase = SkystonesPhase.PICK;
		let round = 1;
		return {
			follow(value) {
				const { event } = value as SkystonesEvent;
				switch (event.case) {
					case "dealt":
						if (event.value.seat !== undefined)
							sides[event.value.seat]!.pile = [...event.value.cards];
						break;
					case "fieldLaid":
						board[event.value.square]!.field = event.value.field;
						break;
					case "roundStarted":
						round = event.value.round;
						phase = SkystonesPhase.PICK;
						break;
					case "picked": {
						const side = sides[event.value.seat]!;
						if (event.value.card === undefined) break;
						take(side.pile, [event.value.card]);
						side.hand.push(event.value.card);
						break;
					}
					case "placed": {
						const { seat, card, square, taken } = event.value;
						phase = SkystonesPhase.PLACE;
						take(sides[seat]!.hand, [card]);
						board[square] = { ...board[square]!, card, owner: seat };
						for (const each of taken) board[each]!.owner = seat;
						break;
					}
					case "roundEnded":
						if (event.value.winner !== undefined) sides[event.value.winner]!.points++;
						for (const side of sides) side.pile.push(...side.hand.splice(0));
						for (const [at, square] of board.entries()) board[at] = { field: square.field };
						break;
				}
			},
			game: () =>
				create(ViewSchema, {
					game: {
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
					},
				}).game,
			hands: () => [sides[0]!.hand, sides[1]!.hand],
			nameOf: String,
		};
	},
	powershotSoccer: () => {
		const sides = [0, 1].map(() => ({ hand: [] as number[], goals: 0, drawPileSize: 0 }));
		let plays: { seat: number; card: number; role: number; outcome: number }[] = [];
		let attackStart = 0;
		let possession = 0;
		let standing = 0;
		let half = 1;
		let phase = PowerShotSoccerPhase.ATTACK;
		return {
			follow(value) {
				const { event } = value as PowerShotSoccerEvent;
				switch (event.case) {
					case "shuffled":
						sides[event.value.seat]!.drawPileSize = event.value.count;
						break;
					case "drawn": {
						const side = sides[event.value.seat]!;
						side.drawPileSize -= event.value.count;
						side.hand.push(...event.value.cards);
						break;
					}
					case "halfEnded":
						for (const side of sides) side.hand = [];
						break;
					case "halfStarted":
						half = event.value.half;
						possession = event.value.kickOff;
						plays = [];
						attackStart = standing = 0;
						phase = PowerShotSoccerPhase.ATTACK;
						break;
					case "played": {
						const { seat, card, role } = event.value;
						take(sides[seat]!.hand, [card]);
						plays.push({ seat, card, role, outcome: 0 });
						phase = seat === possession ? PowerShotSoccerPhase.DEFEND : PowerShotSoccerPhase.ATTACK;
						break;
					}
					case "exchangeDecided": {
						const { seat, outcome } = event.value;
						const last = plays.findLast((play) => play.seat === seat);
						if (last) last.outcome = outcome;
						phase = PowerShotSoccerPhase.ATTACK;
						if (outcome === PowerShotSoccerOutcome.STANDS) {
							standing++;
							break;
						}
						if (outcome === PowerShotSoccerOutcome.GOAL) sides[seat]!.goals++;
						if (outcome !== PowerShotSoccerOutcome.REPELLED) possession = 1 - seat;
						attackStart = plays.length;
						standing = 0;
						break;
					}
				}
			},
			game: () =>
				create(ViewSchema, {
					game: {
						case: "powershotSoccer",
						value: {
							phase,
							half,
							possession,
							standing,
							plays: plays.map((play) => ({ ...play })),
							attackStart,
							sides: sides.map((side, seat) => ({
								goals: side.goals,
								drawPileSize: side.drawPileSize,
								handSize: side.hand.length,
								discardPile: plays
									.slice(0, attackStart)
									.flatMap((play) => (play.seat === seat ? [play.card] : [])),
							})),
						},
					},
				}).game,
			hands: () => [sides[0]!.hand, sides[1]!.hand],
			nameOf: String,
		};
	},
	castleRampage: () => {
		const sides = [0, 1].map(() => ({
			hand: [] as number[],
			gate: [] as number[],
			castle: [] as number[],
			fallenGate: [] as number[],
			fallenCastle: [] as number[],
			catapults: 0,
			granaries: 0,
		}));
		let phase = CastleRampagePhase.SET_UP;
		let drawSize = 0;
		let setUps = 0;
		let turn = 0;
		let active = 0;
		return {
			follow(value) {
				const { seat = 0, event } = value as CastleRampageEvent;
				const side = sides[seat]!;
				switch (event.case) {
					case "shuffled":
						drawSize = event.value.count;
						break;
					case "drawn":
						drawSize -= event.value.count;
						side.hand.push(...event.value.cards);
						break;
					case "cardsSetUp":
						take(side.hand, [...event.value.gate, ...event.value.castle]);
						side.gate.push(...event.value.gate);
						side.castle.push(...event.value.castle);
						setUps += 0.5;
						break;
					case "starterDrawn":
						active = seat;
						break;
					case "turnStarted":
						phase = CastleRampagePhase.TURN;
						turn = event.value.turn;
						active = seat;
						break;
					case "strengthened":
						take(side.hand, [event.value.card]);
						(event.value.structure === CastleRampageStructure.GATE ? side.gate : side.castle).push(
							event.value.card,
						);
						break;
					case "played":
						take(side.hand, [event.value.card]);
						if (event.value.card === CastleRampageCard.CATAPULT) side.catapults++;
						if (event.value.card === CastleRampageCard.GRANARY) side.granaries++;
						break;
					case "discarded":
						take(side.hand, event.value.cards);
						break;
					case "destroyed": {
						const { structure, card } = event.value;
						if (structure === CastleRampageStructure.GATE) {
							take(side.gate, [card]);
							side.fallenGate.push(card);
						} else if (structure === CastleRampageStructure.CASTLE) {
							take(side.castle, [card]);
							side.fallenCastle.push(card);
						} else if (card === CastleRampageCard.CATAPULT) side.catapults--;
						else if (card === CastleRampageCard.GRANARY) side.granaries--;
						break;
					}
					case "returned":
						side.hand.push(event.value.card);
						break;
				}
			},
			game: () =>
				create(ViewSchema, {
					game: {
						case: "castleRampage",
						value: {
							phase,
							setUps: Math.min(1, Math.floor(setUps)),
							turn,
							active,
							drawSize,
							sides: sides.map((side) => ({
								handSize: side.hand.length,
								catapults: side.catapults,
								granaries: side.granaries,
								gate: { standing: side.gate.map((card) => ({ card })), fallen: side.fallenGate },
								castle: {
									standing: side.castle.map((card) => ({ card })),
									fallen: side.fallenCastle,
								},
							})),
						},
					},
				}).game,
			hands: () => [sides[0]!.hand, sides[1]!.hand],
			nameOf: (card) => CastleRampageCard[card] ?? "",
		};
	},
};

const KING = ChampionChessCard.KING;
