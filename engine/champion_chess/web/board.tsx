// The board of Champion Chess: two champions face each other, and three categories decide.
import type { Event } from "@app/api/types";
import { CardBack } from "@app/cards/frame";
import { Glyph } from "@app/cards/glyphs";
import { type BoardProps, type Context, cardOf } from "@app/games/module";
import {
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessSide,
	type ChampionChessView,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { Pile } from "@app/ui/pile";
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

export function ChessBoard({ view, events, context, picker, near }: BoardProps) {
	const game = view.game.value as ChampionChessView;
	const far = 1 - near;
	const corners = challenge(game, events);
	const fresh = game.phase === ChampionChessPhase.CHAMPION;
	const mine = corners[near]!;
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
	const shown = corners.some((corner) => corner.champion);
	return (
		<div class="chessboard">
			<div class="boardhead">
				<span>{fresh && shown ? say().lastChallenge : say().challenge(game.challenge)}</span>
				<Piles side={game.sides[far]!} seat={far} context={context} />
			</div>
			<div class="arena">
				<Side corner={corners[far]!} seat={far} context={context} secret={waiting(far)} />
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
				<Side
					corner={mine}
					seat={near}
					context={context}
					secret={waiting(near)}
					planned={planned}
				/>
			</div>
			<Piles side={game.sides[near]!} seat={near} context={context} />
		</div>
	);
}

function Side(props: {
	corner: Corner;
	seat: number;
	context: Context;
	secret: boolean;
	planned?: string[];
}) {
	const { corner, seat, context, secret, planned = [] } = props;
	const state = corner.won === undefined ? "" : corner.won ? "won" : "captured";
	const aid = [...(corner.aid ?? []), ...planned];
	return (
		<div class={`corner ${state}`}>
			<div class="slot" data-testid="champion">
				{secret && !corner.champion ? (
					<CardBack label={say().secret} />
				) : corner.champion ? (
					<span data-flip={`champion${seat}${corner.champion}`} class="onslot">
						<ChessCard
							card={context.catalog.cards.get(corner.champion)}
							catalog={context.catalog}
							side={seat}
						/>
					</span>
				) : (
					<span class="emptyslot">{say().champion}</span>
				)}
				{state && (
					<span class={`verdict ${state}`}>{state === "won" ? say().won : say().captured}</span>
				)}
			</div>
			<div class="aidrow">
				{aid.map((card, index) => (
					<span key={`${card}${index}`} class="mini" data-flip={`aid${seat}${card}${index}`}>
						<ChessCard
							card={context.catalog.cards.get(card)}
							catalog={context.catalog}
							side={seat}
						/>
					</span>
				))}
				{secret && corner.champion && corner.won === undefined && (
					<span class="mini">
						<CardBack label={say().secret} />
					</span>
				)}
			</div>
		</div>
	);
}

function Piles({
	side,
	seat,
	context,
}: {
	side: ChampionChessSide;
	seat: number;
	context: Context;
}) {
	const drawn = (cards: ChampionChessCard[]) => cards.map(idOf);
	return (
		<div class="piles">
			<span class="pilelabel">
				{say().deck} <b>{side.deckSize}</b>
			</span>
			<Pile
				title={say().reserve}
				cards={drawn(side.reserve)}
				context={context}
				side={seat}
				Card={ChessCard}
			/>
			<Pile
				title={say().defeated}
				cards={drawn(side.defeated)}
				context={context}
				side={seat}
				Card={ChessCard}
			/>
		</div>
	);
}

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
