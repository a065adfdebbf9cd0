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
	sending: (left: number) =>
		left === 1 ? "Your last card is on its way …" : `${left} of your cards are on their way …`,
	stopped: "Not all cards could be taken. Please choose the rest.",
	tooHeavy: (points: number, size: number, limit: number) =>
		`with its ${points} points, ${size} cards would come to more than ${limit}.`,
	handFull: "your hand is full. Put a card back first.",
	noSquare: "no free square takes this card.",
	chooseSquare: "Choose a square.",
	pile: "Your pile",
	points: "Rounds won",
	pick: (card: string) => `Pick ${card}`,
	place: (card: string, square: string) => `${card} to ${square}`,
	blocked: "blocked",
	only: (element: string) => `only ${element}`,
	edges: (n: number, e: number, s: number, w: number) =>
		`north ${n}, east ${e}, south ${s}, west ${w}`,
	dealt: (n: number) => `got ${n} cards`,
	aside: "A card was set aside.",
	field: (square: string, field: string) => `${square} became a special field: ${field}`,
	roundStarted: (n: number) => `got the first turn of round ${n}`,
	picked: (card: string) => `picked ${card}`,
	placed: (card: string, square: string) => `placed ${card} on ${square}`,
	taking: (n: number) => (n === 1 ? " and took 1 card" : ` and took ${n} cards`),
	passed: "could not place a card and passed",
	roundWon: (a: number, b: number) => `won the round, ${a} to ${b} chips`,
	roundTied: "The round was tied.",
	chips: "Chips",
};

const cards = (n: number) => (n === 1 ? "1 Karte" : `${n} Karten`);

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
	sending: (left) =>
		left === 1 ? "Deine letzte Karte ist unterwegs …" : `${left} deiner Karten sind unterwegs …`,
	stopped: "Nicht alle Karten waren noch zu haben. Bitte wähle den Rest.",
	tooHeavy: (points, size, limit) =>
		`mit ihren ${points} Punkten kämen ${size} Karten auf mehr als ${limit}.`,
	handFull: "deine Hand ist voll. Leg erst eine Karte zurück.",
	noSquare: "kein freies Feld nimmt diese Karte auf.",
	chooseSquare: "Wähle ein Feld.",
	pile: "Dein Stapel",
	points: "Gewonnene Runden",
	pick: (card) => `${card} wählen`,
	place: (card, square) => `${card} auf ${square}`,
	blocked: "blockiert",
	only: (element) => `nur ${element}`,
	edges: (n, e, s, w) => `Norden ${n}, Osten ${e}, Süden ${s}, Westen ${w}`,
	dealt: (n) => `hat ${cards(n)} bekommen`,
	aside: "Eine Karte wurde beiseitegelegt.",
	field: (square, field) => `${square} ist jetzt ein Sonderfeld: ${field}`,
	roundStarted: (n) => `darf in Runde ${n} zuerst legen`,
	picked: (card) => `hat ${card} gewählt`,
	placed: (card, square) => `hat ${card} auf ${square} gelegt`,
	taking: (n) => ` und ${cards(n)} genommen`,
	passed: "musste passen",
	roundWon: (a, b) => `hat die Runde gewonnen, ${a} zu ${b} Chips`,
	roundTied: "Die Runde endete unentschieden.",
	chips: "Chips",
};

export const all = { en, de };
export const say = texts(all);
