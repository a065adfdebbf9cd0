// Lines of the log, and the sentences for the screen reader.
import { EndReason, type Event } from "../api/types";
import type { Context, Line } from "../games/module";
import { t } from "../i18n";
import { sentence } from "./ending";

/** Who sits in a seat, as the viewer calls them. */
export function nameOfSeat(context: Context, seat: number): string {
	if (seat === context.me) return t().me;
	const player = context.view.players[seat];
	if (player?.displayName) return player.displayName;
	if (context.me === undefined) return context.catalog.game.seatTitles[seat] ?? `${seat}`;
	return player?.kind.case === "bot" ? t().theBot : t().theOther;
}

/** Who plays there: a bot with its strength, or a person by name. */
export function playerOfSeat(context: Context, seat: number): string {
	const player = context.view.players[seat];
	if (seat === context.me) return t().you;
	if (player?.kind.case === "bot") return botOf(player.kind.value.strength);
	const name = player?.displayName || player?.keyName;
	return name || (context.me === undefined ? "" : t().friend);
}

export const botOf = (strength: string) => `${t().bot} · ${t().strengths[strength] ?? strength}`;

/** Whether an event is of the game itself, and not of every match. */
export const inGame = ({ event }: Event) =>
	event.case !== undefined && !GENERAL.includes(event.case);

const GENERAL: readonly string[] = [
	"seatDecided",
	"matchEnded",
	"timeExpired",
	"seatJoined",
	"seatTokenReplaced",
	"seatDeclined",
	"entropyHash",
	"entropy",
];

export function describeEvent(event: Event, context: Context): Line | undefined {
	const line = lineOf(event, context);
	if (line?.seat === undefined || line.seat !== context.me || line.name) return line;
	return { ...line, text: t().toMe(line.text) };
}

function lineOf(event: Event, context: Context): Line | undefined {
	const what = event.event;
	switch (what.case) {
		case "seatDecided":
			return { seat: what.value.seat, text: t().decided };
		case "matchEnded":
			return { text: t().ended, strong: true };
		case "timeExpired":
			return { seat: what.value.seats[0], text: t().expired, strong: true };
		case "seatJoined":
			return { seat: what.value.seat, text: t().joined };
		case "seatTokenReplaced":
			return { seat: what.value.seat, text: t().tokenReplaced };
		case "seatDeclined":
			return { seat: what.value.seat, text: t().declined };
		case "entropyHash":
		case "entropy":
			return { seat: what.value.seat, text: t().entropy };
		case undefined:
			return undefined;
		default:
			return context.catalog.module.describeEvent(event, context);
	}
}

/** Whether whoever invited has given up before anybody came. */
const isWithdrawn = ({ view }: Context) =>
	view.game.case === undefined && view.result?.reason === EndReason.RESIGNATION;

/** How the match ended, for the viewer. */
export function outcome(context: Context): string | undefined {
	const result = context.view.result;
	if (!result) return undefined;
	if (result.reason === EndReason.DECLINED || isWithdrawn(context)) return t().notPlayed;
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
	if (result.ending) return sentence(context, result.ending);
	const [first = 0, second = 0] = result.scores;
	const loser = first === second ? undefined : first < second ? 0 : 1;
	const who = loser === undefined ? undefined : nameOfSeat(context, loser);
	const why = isWithdrawn(context) ? "withdrawn" : (EndReason[result.reason] ?? "").toLowerCase();
	const whose = who === undefined ? "both" : loser === context.me ? "you" : "";
	const { phrases } = context.catalog.game;
	const said = phrases[`over.${why}.${whose}`] ?? phrases[`over.${why}`];
	return said?.replace("{seat}", () => who ?? "");
}
