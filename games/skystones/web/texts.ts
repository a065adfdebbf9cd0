// What the web app says about Skystones, in English and German.
import { texts } from "@app/i18n";

const en = {
	blurb: "Nine squares, four edges, and a hand whose cards have at most 20 points together.",
	optionSpecialFields: "Special fields on the board",
	optionSpecialFieldsNote:
		"On a special field no card may be placed, or only cards of one element. Chance decides which.",
	round: (n: number) => `Round ${n}`,
	lastBoard: "Last board",
	board: "Board",
	newest: "newest card",
	placeCard: "Choose a card, then a square.",
	pickHand: (n: number, size: number, sum: number, limit: number) =>
		`Choose ${size} cards for this round: ${n} of ${size}, ${sum} of at most ${limit} points.`,
	takeHand: "Take this hand",
	waiting: (left: number) =>
		left === 1
			? "Your last card is kept, and taken in its turn."
			: `${left} of your cards are kept, and taken in their turn. You may leave.`,
	stopped: "Not all cards could be taken. Please choose the rest.",
	tooHeavy: (points: number, size: number, limit: number) =>
		`with its ${points} points, ${size} cards would come to more than ${limit}.`,
	handFull: "your hand is full. Put a card back first.",
	noSquare: "no free square takes this card.",
	chooseSquare: "Choose a square.",
	pile: "Your pile",
	points: "Rounds won",
	edges: (n: number, e: number, s: number, w: number) =>
		`north ${n}, east ${e}, south ${s}, west ${w}`,
	chips: "Chips",
};

const de: typeof en = {
	blurb: "Neun Felder, vier Kanten und eine Hand, deren Karten zusammen höchstens 20 Punkte haben.",
	optionSpecialFields: "Sonderfelder auf dem Spielfeld",
	optionSpecialFieldsNote:
		"Auf ein Sonderfeld darf keine Karte gelegt werden, oder nur Karten eines Elements. Der Zufall entscheidet, welches.",
	round: (n) => `Runde ${n}`,
	lastBoard: "Letztes Spielfeld",
	board: "Spielfeld",
	newest: "neueste Karte",
	placeCard: "Wähle eine Karte, dann ein Feld.",
	pickHand: (n, size, sum, limit) =>
		`Wähle ${size} Karten für diese Runde: ${n} von ${size}, ${sum} von höchstens ${limit} Punkten.`,
	takeHand: "Diese Hand nehmen",
	waiting: (left) =>
		left === 1
			? "Deine letzte Karte ist vorgemerkt und wird genommen, sobald sie dran ist."
			: `${left} deiner Karten sind vorgemerkt. Du kannst gehen.`,
	stopped: "Nicht alle Karten waren noch zu haben. Bitte wähle den Rest.",
	tooHeavy: (points, size, limit) =>
		`mit ihren ${points} Punkten kämen ${size} Karten auf mehr als ${limit}.`,
	handFull: "deine Hand ist voll. Leg erst eine Karte zurück.",
	noSquare: "kein freies Feld nimmt diese Karte auf.",
	chooseSquare: "Wähle ein Feld.",
	pile: "Dein Stapel",
	points: "Gewonnene Runden",
	edges: (n, e, s, w) => `Norden ${n}, Osten ${e}, Süden ${s}, Westen ${w}`,
	chips: "Chips",
};

export const all = { en, de };
export const say = texts(all);
