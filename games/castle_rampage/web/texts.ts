// What the web app says about Castle Rampage, in English and German.
import { texts } from "@app/i18n";

const en = {
	blurb: "Hide your weak cards behind your walls, and storm theirs.",
	optionSetUps: "Set-ups before the first turn",
	optionSetUpsNote:
		"In a set-up, each player shares out five cards: two under the Gate, two under the Castle, and one to keep.",
	turn: (n: number, all: number) => `Turn ${n} of at most ${all}`,
	setUp: (n: number, all: number) => `Set-up ${n} of ${all}`,
	prompts: {
		1: "Share out your five cards: two under the Gate, two under the Castle, and keep one.",
		2: "Strengthen once, play any cards, and end your turn.",
	} as Record<number, string>,
	slots: ["Gate, upper", "Gate, lower", "Castle, upper", "Castle, lower", "Keep"],
	slotPrompts: [
		"First the upper card of the Gate.",
		"Now the lower card of the Gate.",
		"Now the upper card of the Castle.",
		"Now the lower card of the Castle.",
		"The last one is kept for your hand.",
	],
	shareOut: "Share them out like this",
	play: "Play it",
	toGate: "Under the Gate",
	toCastle: "Under the Castle",
	payWith: "Choose the cards that pay for it.",
	whereTo: "Play it, or put it under a structure?",
	notForThat: "this card cannot pay for it.",
	tooDear: (cost: number, others: number) =>
		`it costs ${cost === 1 ? "another card" : `${cost} other cards`}, and you have ${others === 0 ? "none" : `only ${others}`}.`,
	unitsMissing: "the units that it needs are not in your hand.",
	noTarget: "the other side has no card in play that it could destroy.",
	notNow: "it cannot be played now.",
	strengthenedToo: "And you have already strengthened in this turn.",
	topToBottom: "top → bottom",
	top: "top card: it is attacked next",
	topTag: "top",
	newest: "newest card",
	held: "it has just held",
	draw: "Draw pile",
	discards: "Discard pile",
	fallen: "Destroyed",
	seen: "seen by a Spy",
	shown: "known to everyone",
	strengthened: "already strengthened",
	kept: (card: string) => `Kept: ${card}`,
};

const de: typeof en = {
	blurb: "Versteck deine Schwächen hinter Mauern und stürme die anderen.",
	optionSetUps: "Aufbauten vor dem ersten Zug",
	optionSetUpsNote:
		"Bei einem Aufbau verteilt jede Seite fünf Karten: zwei unter das Tor, zwei unter die Burg, und eine behält sie.",
	turn: (n, all) => `Zug ${n} von höchstens ${all}`,
	setUp: (n, all) => `Aufbau ${n} von ${all}`,
	prompts: {
		1: "Verteile deine fünf Karten: zwei unter das Tor, zwei unter die Burg, eine für die Hand.",
		2: "Verstärke einmal, spiel beliebig viele Karten und beende deinen Zug.",
	},
	slots: ["Tor, oben", "Tor, unten", "Burg, oben", "Burg, unten", "Hand"],
	slotPrompts: [
		"Zuerst die obere Karte des Tors.",
		"Jetzt die untere Karte des Tors.",
		"Jetzt die obere Karte der Burg.",
		"Jetzt die untere Karte der Burg.",
		"Die letzte bleibt für deine Hand.",
	],
	shareOut: "So verteilen",
	play: "Ausspielen",
	toGate: "Unter das Tor",
	toCastle: "Unter die Burg",
	payWith: "Wähle die Karten, die dafür bezahlen.",
	whereTo: "Ausspielen oder unter ein Bauwerk legen?",
	notForThat: "diese Karte kann nicht dafür bezahlen.",
	tooDear: (cost, others) =>
		`sie kostet ${cost === 1 ? "eine andere Karte" : `${cost} andere Karten`}, und du hast ${others === 0 ? "keine" : `nur ${others}`}.`,
	unitsMissing: "die Einheiten, die sie braucht, sind nicht auf deiner Hand.",
	noTarget: "das Gegenüber hat keine Karte im Spiel, die sie zerstören könnte.",
	notNow: "sie kann jetzt nicht gespielt werden.",
	strengthenedToo: "Und du hast in diesem Zug schon verstärkt.",
	topToBottom: "oben → unten",
	top: "oberste Karte: sie wird als Nächste angegriffen",
	topTag: "oben",
	newest: "neueste Karte",
	held: "sie hat gerade gehalten",
	draw: "Nachziehstapel",
	discards: "Ablagestapel",
	fallen: "Zerstört",
	seen: "von einem Spion gesehen",
	shown: "allen bekannt",
	strengthened: "schon verstärkt",
	kept: (card) => `Behalten: ${card}`,
};

export const all = { en, de };
export const say = texts(all);
