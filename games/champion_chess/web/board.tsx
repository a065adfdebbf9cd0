// The board of Champion Chess: two champions face each other, and three categories decide.
import type { Event } from "@app/api/types";
import { CardBack, counted } from "@app/cards/frame";
import { Glyph } from "@app/cards/glyphs";
import { type BoardProps, type Context, cardOf, cardProps } from "@app/games/module";
import { Pile } from "@app/games/pile";
import {
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessSide,
	type ChampionChessView,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { CATEGORIES, ChessCard, isNoble } from "./card";
import { say } from "./texts";

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
