// Lines of the log, and the sentences for the screen reader.
import { type Action, EndReason, type Event } from "../api/types";
import { t } from "../i18n";
import type { Context, Line } from "./module";
import { capital, type Reader } from "./words";

/** Who sits in a seat, as the viewer calls them within a sentence. */
function calledSeat(context: Context, seat: number): string {
	const { words } = context.catalog;
	if (seat === context.me) return words.word("word.you");
	const player = context.view.players[seat];
	if (player?.displayName) return player.displayName;
	if (context.me === undefined) return words.seatOf(seat);
	return words.word(player?.kind.case === "bot" ? "word.bot" : "word.friend");
}

/** The same at the beginning of a sentence. */
export const nameOfSeat = (context: Context, seat: number) => capital(calledSeat(context, seat));

const readerOf = (context: Context): Reader => ({
	me: context.me,
	who: (seat) => calledSeat(context, seat),
});

/** Who plays there: a bot with its strength, or a person by name. */
export function playerOfSeat(context: Context, seat: number): string {
	const player = context.view.players[seat];
	if (seat === context.me) return t().you;
	if (player?.kind.case === "bot") return botOf(player.kind.value.strength);
	const name = player?.displayName || player?.keyName;
	return name || (context.me === undefined ? "" : t().friend);
}

export const botOf = (strength: string) => `${t().bot} · ${t().strengths[strength] ?? strength}`;

/** An action in a few words. */
export const describeAction = (action: Action, { catalog: { words } }: Context) =>
	words.about(action)?.text ?? "";

/** An event as a line of the log. */
export function describeEvent(event: Event, context: Context): Line | undefined {
	const { words, module } = context.catalog;
	const told = words.about(event, readerOf(context));
	const kind = event.event.case ?? "";
	// An event of the game itself, and not one of every match, such as a later release may add.
	const inGame = kind === context.view.ruleset?.game.case;
	const strong = inGame ? module.strong?.(event) : STRONG.includes(kind);
	const cards = words.cardsIn(event);
	return told && { ...told, cards, strong: strong ?? false };
}

/** What events say, in order. That a seat has decided is news only until both have. */
export const linesOf = (events: readonly Event[], context: Context): Line[] =>
	events.flatMap((event, index) =>
		event.event.case === "seatDecided" && index < events.length - 1
			? []
			: (describeEvent(event, context) ?? []),
	);

/** A line as one sentence. */
export const inOne = ({ seat, text }: Line, context: Context) =>
	seat === undefined ? text : `${nameOfSeat(context, seat)} ${text}`;

const STRONG: readonly string[] = ["matchEnded", "timeExpired"];

/** Whether whoever invited has given up before anybody came. */
const isWithdrawn = ({ view }: Context) =>
	view.game.case === undefined && view.result?.reason === EndReason.RESIGNATION;

/** How the match ended, for the viewer. */
export function outcome(context: Context): string | undefined {
	const result = context.view.result;
	if (!result) return undefined;
	if (!result.scores.length || result.reason === EndReason.DECLINED || isWithdrawn(context))
		return t().notPlayed;
	const [first = 0, second = 0] = result.scores;
	if (first === second) return t().drawn;
	const winner = first > second ? 0 : 1;
	if (context.me === undefined) return t().winner(nameOfSeat(context, winner));
	return winner === context.me ? t().won : t().lost;
}

/** Why the match ended, for the viewer: a sentence. */
export function reason(context: Context): string | undefined {
	const result = context.view.result;
	if (!result) return undefined;
	if (result.ending) return context.catalog.words.ending(result.ending, readerOf(context));
	const [first = 0, second = 0] = result.scores;
	const loser = first === second ? undefined : first < second ? 0 : 1;
	const who = loser === undefined ? undefined : nameOfSeat(context, loser);
	const why = isWithdrawn(context) ? "withdrawn" : (EndReason[result.reason] ?? "").toLowerCase();
	const whose = who === undefined ? "both" : loser === context.me ? "you" : "";
	const { phrases } = context.catalog.game;
	const said = phrases[`over.${why}.${whose}`] ?? phrases[`over.${why}`];
	return said?.replace("{seat}", () => who ?? "");
}
