// Tells the visitor that it is their turn: in the title, by the icon, by a sound, by a notification.
import { effect } from "@preact/signals";
import type { View } from "../api/types";
import { catalogOf } from "../games/catalog";
import { t } from "../i18n";
import { linkTo, place } from "../state/router";
import { idOf, note, type Seat, seatOf, seats } from "../state/seats";
import { notifications, sound } from "../state/settings";

effect(() => {
	const here = place.value;
	const seat = "id" in here ? seatOf(here.id) : undefined;
	const game = seat && catalogOf(seat.game)?.game.title;
	const turns = (seat ? [seat] : seats.value).filter(({ known }) => known?.turn === "mine").length;
	const turn = turns === 0 ? undefined : seat ? t().yourTurn : t().turnsYours(turns);
	document.title = [turn, game, t().table].filter(Boolean).join(" – ");
	const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
	if (icon) icon.href = turn ? "./icon-turn.svg" : "./icon.svg";
});

/** Keeps what a view says about a match of ours, and calls the visitor if their turn has begun. */
export function observe(match: string, view: View) {
	const seat = seatOf(idOf(match));
	if (!note(match, view, seat && scoresIn(view, seat))) return;
	if (sound.value === "on") chime();
	if (seat && notifications.value === "on" && document.hidden) notify(seat);
}

/** The scores as the game counts them, our own first; of a view that has the game. */
function scoresIn(view: View, { game, seat = 0 }: Seat): string | undefined {
	const module = view.game.case && catalogOf(game)?.module;
	const scores = module && [seat, 1 - seat].map((at) => module.score(view, at)?.value);
	return scores?.every((each) => each !== undefined) ? scores.join(" : ") : undefined;
}

function notify(seat: Seat) {
	try {
		const title = catalogOf(seat.game)?.game.title ?? t().table;
		// The same tag in all tabs: a match has at most one notification.
		const shown = new Notification(t().yourTurn, { body: title, tag: seat.match });
		shown.onclick = () => {
			focus();
			location.hash = linkTo.match(idOf(seat.match));
			shown.close();
		};
	} catch {
		// Some browsers let only a service worker notify.
	}
}

/** Asks for the right to notify; returns whether it was given. */
export const mayNotify = async () =>
	"Notification" in window && (await Notification.requestPermission()) === "granted";

let audio: AudioContext | undefined;

/** Two short tones. */
export function chime() {
	try {
		audio ??= new AudioContext();
		const now = audio.currentTime;
		[659, 880].forEach((frequency, index) => {
			const at = now + 0.14 * index;
			const tone = new OscillatorNode(audio!, { frequency, type: "triangle" });
			const loudness = new GainNode(audio!, { gain: 0 });
			loudness.gain.setValueAtTime(0, at);
			loudness.gain.linearRampToValueAtTime(0.2, at + 0.02);
			loudness.gain.exponentialRampToValueAtTime(0.001, at + 0.3);
			tone.connect(loudness).connect(audio!.destination);
			tone.start(at);
			tone.stop(at + 0.3);
		});
	} catch {
		// Without sound the title still tells.
	}
}
