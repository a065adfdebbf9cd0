// The board and the cards of Champion Chess: two champions face each other, and three categories decide.
import type { Event } from "@app/api/types";
import { CardBack, CardFrame, counted, labelOf, Title } from "@app/cards/frame";
import { addGlyphs, Glyph, GlyphAt } from "@app/cards/glyphs";
import {
	type BoardProps,
	type CardProps,
	type Context,
	cardOf,
	cardProps,
} from "@app/games/module";
import { Pile } from "@app/games/pile";
import {
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessSide,
	type ChampionChessView,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { say } from "./texts";

addGlyphs({
	KING: "M22 3h4v4h4v4h-4v4.500c7-4 16-2 16 6.500 0 6-5 9-7 13H13c-2-4-7-7-7-13 0-8.500 9-10.500 16-6.500V11h-4V7h4zM13 37h22v3H13zM11 41h26v4H11z",
	QUEEN:
		"M7 10a3 3 0 1 1 .1 0zM16 7a3 3 0 1 1 .1 0zM24 6a3 3 0 1 1 .1 0zM32 7a3 3 0 1 1 .1 0zM41 10a3 3 0 1 1 .1 0zM7 12l7 10 2-14 6 13 2-15 2 15 6-13 2 14 7-10-5 23H12zM12 37h24v3H12zM10 41h28v4H10z",
	BISHOP:
		"M24 2a3.500 3.500 0 0 1 2.500 6c5 4 9 9.500 9 15 0 5-3 8.500-6 10.500h-11c-3-2-6-5.500-6-10.500 0-5.500 4-11 9-15A3.500 3.500 0 0 1 24 2zM22.500 15v4.500H18v3h4.500V29h3v-6.500H30v-3h-4.500V15zM16 35h16v3H16zM11 41h26v4H11zM14 38h20v3H14z",
	ROOK: "M10 5h6v5h5V5h6v5h5V5h6v12l-5 4v12H15V21l-5-4zM13 35h22v4H13zM9 41h30v4H9z",
	KNIGHT:
		"M13 38c0-9 10-12 10-20-3 4-8 5-11 8l-6-5c1-6 7-9 9-14l0-6 6 4c11 0 18 8 18 19 0 6-2 10-2 14zM20 13a2 2 0 1 0 .1 0zM11 41h28v4H11z",
	PAWN: "M24 6a7.500 7.500 0 0 1 5 13.100c3 1.300 5 3 5 5.900h-4.500c0 5 2 9 5.500 12H13c3.500-3 5.500-7 5.500-12H14c0-2.900 2-4.600 5-5.900A7.500 7.500 0 0 1 24 6zM11 40h26v5H11z",
	STEED:
		"M8 44V22a16 16 0 0 1 32 0v22h-9V22a7 7 0 0 0-14 0v22zM11 36v4h3v-4zM34 36v4h3v-4zM11 26v4h3v-4zM34 26v4h3v-4zM14 15l2 2 2-2-2-2zM30 15l2 2 2-2-2-2z",
	ARMOR:
		"M12 4l6 3c2 3 10 3 12 0l6-3 7 9-6 5 1 11c0 8-8 12-14 15-6-3-14-7-14-15l1-11-6-5zM22.500 15v20h3V15z",
	SWORD: "M38 3h7v7L24 31l5 5-3.500 3.500-5-5L12 43l-7-7 8.500-8.500-5-5L12 19l5 5z",
	FEINT:
		"M4 13c12 6 28 6 40 0 2 18-8 28-20 30C12 41 2 31 4 13zM12 22c2 5 8 5 10 1-3-3-7-3-10-1zM26 23c2 4 8 4 10-1-3-2-7-2-10 1zM15 31c3 7 15 7 18 0-6 3-12 3-18 0z",
	MOVE: "M9 33L29 13h-9V6h21v21h-7v-9L14 38z",
});

export const idOf = (card: ChampionChessCard) => ChampionChessCard[card] ?? "";

/** What one side shows in a challenge. */
interface Corner {
	champion?: string;
	aid?: string[];
	totals?: number[];
	won?: boolean;
}

export function ChessBoard({ view, events, fresh, context, picker, near }: BoardProps) {
	const game = view.game.value as ChampionChessView;
	const far = 1 - near;
	const corners = challenge(game, events);
	const choosing = game.phase === ChampionChessPhase.CHAMPION;
	const revealed = seatsIn(fresh);
	const waiting = (seat: number) =>
		view.result === undefined && !view.deciders.includes(seat) && view.deciders.length > 0;
	// What my champion would have with the aid that is chosen now.
	const planned =
		game.phase === ChampionChessPhase.AID &&
		context.me !== undefined &&
		view.deciders.includes(near)
			? picker.clicks.map((click) => cardOf(click.key))
			: [];
	const totals = [0, 1].map(
		(seat) => corners[seat]!.totals ?? sum(context, corners[seat]!, seat === near ? planned : []),
	);
	const past = (choosing || view.result !== undefined) && corners.some((corner) => corner.champion);
	/** How many cards the challenge that lies here has cost a seat. */
	const lost = (seat: number) => {
		const { won, aid = [] } = corners[seat]!;
		return won === undefined ? 0 : aid.length + (won ? 0 : 1);
	};
	return (
		<div class="chessboard">
			<Piles side={game.sides[far]!} lost={lost(far)} seat={far} context={context} />
			<Side
				corner={corners[far]!}
				seat={far}
				context={context}
				secret={waiting(far)}
				fresh={revealed.has(far)}
			/>
			<div class="middle">
				<p class="boardhead">
					<span>{past ? say().lastChallenge : say().challenge(game.challenge)}</span>
				</p>
				<table class="compare" aria-label={say().total}>
					<tbody>
						{CATEGORIES.map((category, index) => {
							const theirs = totals[far]?.[index];
							const ours = totals[near]?.[index];
							const title = context.catalog.cards.get("KING")?.numbers[index]?.title;
							const lead =
								ours === undefined || theirs === undefined || ours === theirs
									? ""
									: ours > theirs
										? "ours"
										: "theirs";
							return (
								<tr key={category} class={`stat${index} lead-${lead}`}>
									<td class="num">{theirs ?? "–"}</td>
									<th scope="row">
										<Glyph name={category} />
										<span>{title}</span>
									</th>
									<td class="num">{ours ?? "–"}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
			<Side
				corner={corners[near]!}
				seat={near}
				context={context}
				secret={waiting(near)}
				fresh={revealed.has(near)}
				planned={planned}
			/>
			<Piles side={game.sides[near]!} lost={lost(near)} seat={near} context={context} />
		</div>
	);
}

function Side(props: {
	corner: Corner;
	seat: number;
	context: Context;
	secret: boolean;
	/** Whether something of it was revealed since the viewer's last decision. */
	fresh: boolean;
	planned?: string[];
}) {
	const { corner, seat, context, secret, planned = [] } = props;
	const state = corner.won === undefined ? "" : corner.won ? "won" : "captured";
	const aid = [...(corner.aid ?? []), ...planned];
	const hidden = secret && corner.champion && corner.won === undefined;
	return (
		<div class={`corner ${state} ${props.fresh ? "fresh" : ""}`}>
			<div class="duel">
				<div class="slot" data-testid="champion">
					{secret && !corner.champion ? (
						<CardBack label={say().secret} />
					) : corner.champion ? (
						<span data-flip={`champion${seat}${corner.champion}`} class="onslot">
							<ChessCard {...cardProps(context.catalog, corner.champion)} side={seat} />
						</span>
					) : (
						<span class="emptyslot">{say().champion}</span>
					)}
					{state && (
						<span class={`verdict ${state}`}>{state === "won" ? say().won : say().captured}</span>
					)}
				</div>
				<div class="aidbox">
					<div class="aidrow fit spread" ref={counted(aid.length + (hidden ? 1 : 0))}>
						{aid.map((card, index) => (
							<span key={`${card}${index}`} class="mini" data-flip={`aid${seat}${card}${index}`}>
								<ChessCard {...cardProps(context.catalog, card)} side={seat} />
							</span>
						))}
						{hidden && (
							<span class="mini">
								<CardBack label={say().secret} />
							</span>
						)}
					</div>
				</div>
			</div>
		</div>
	);
}

function Piles(props: { side: ChampionChessSide; lost: number; seat: number; context: Context }) {
	const { side, lost, seat, context } = props;
	return (
		<div class="piles">
			<b class="whose">{context.catalog.game.seatTitles[seat]}</b>
			<span class="pilelabel">
				{say().deck} <b>{side.deckSize}</b>
			</span>
			<Pile title={say().reserve} cards={side.reserve.map(idOf)} context={context} side={seat} />
			<Pile
				title={say().defeated}
				cards={side.defeated.map(idOf)}
				gained={lost}
				context={context}
				side={seat}
			/>
		</div>
	);
}

/** The seats whose cards were revealed, in a challenge. */
const seatsIn = (events: readonly Event[]) =>
	new Set(
		events.flatMap(({ event }) => {
			if (event.case !== "championChess") return [];
			const { seat, event: what } = event.value as ChampionChessEvent;
			return /Revealed|Decided/.test(what.case ?? "") ? (seat ?? []) : [];
		}),
	);

/** The points of a champion with its aid. */
function sum(context: Context, corner: Corner, planned: string[]): number[] | undefined {
	if (!corner.champion) return undefined;
	const cards = [corner.champion, ...(corner.aid ?? []), ...planned];
	return CATEGORIES.map((_, index) =>
		cards.reduce(
			(total, card) => total + (context.catalog.cards.get(card)?.numbers[index]?.value ?? 0),
			0,
		),
	);
}

/** What lies on the table: the champions of now, or else the last challenge as it was decided. */
function challenge(game: ChampionChessView, events: readonly Event[]): Corner[] {
	if (game.phase === ChampionChessPhase.AID) {
		return game.sides.map((side) => ({ champion: idOf(side.champion) }));
	}
	const corners: Corner[] = [{}, {}];
	const found = [0, 0];
	for (let at = events.length - 1; at >= 0 && (found[0]! < 3 || found[1]! < 3); at--) {
		const event = events[at]!.event;
		if (event.case !== "championChess") continue;
		const { seat, event: what } = event.value as ChampionChessEvent;
		const corner = corners[seat]!;
		if (what.case === "challengeDecided" && found[seat] === 0) {
			corner.won = what.value.won;
			corner.totals = [what.value.movement, what.value.attack, what.value.defend];
			corner.champion = idOf(what.value.champion);
			found[seat] = 1;
		} else if (what.case === "aidRevealed" && found[seat] === 1) {
			corner.aid = what.value.cards.map(idOf).filter((card) => !isNoble(card));
			found[seat] = 3;
		}
	}
	return corners;
}

/** The drawings of the three categories, in the order of the numbers. */
export const CATEGORIES = ["MOVE", "SWORD", "SHIELD"] as const;
const NOBLES = new Set(["KING", "QUEEN", "BISHOP", "ROOK", "KNIGHT"]);

export const isNoble = (card: string) => NOBLES.has(card);

export function ChessCard({ card, side = 0 }: CardProps) {
	if (!card) return null;
	const noble = isNoble(card.id);
	return (
		<CardFrame
			class={`chess ${noble ? "noble" : "aid"} side${side}`}
			label={labelOf(card)}
			card={card.id}
		>
			{noble && <path class="arch soft" d="M14 98V56a36 36 0 0 1 72 0v42z" />}
			<Title text={card.title} y={19} lines={1} />
			<GlyphAt
				class="piece inked"
				name={card.id}
				x={50}
				y={noble ? 63 : 61}
				size={noble ? 56 : 46}
			/>
			{card.numbers.map((each, index) => (
				<g key={each.title} class={`stat stat${index} ${each.value === 0 ? "none" : ""}`}>
					<rect x={5 + index * 30.5} y="100" width="29" height="35" rx="6" />
					<GlyphAt
						class="white"
						name={CATEGORIES[index] ?? ""}
						x={19.5 + index * 30.5}
						y={109}
						size={11}
					/>
					<text class="white" x={19.5 + index * 30.5} y="131" text-anchor="middle" font-size="18">
						{each.value}
					</text>
				</g>
			))}
		</CardFrame>
	);
}
