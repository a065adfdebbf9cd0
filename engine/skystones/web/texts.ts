// What the web app says about Skystones, in English and German.
import { texts } from "@app/i18n";

const en = {
	blurb: "Nine squares, four edges, and a hand whose cards have at most 20 points together.",
	optionSpecialFields: "Special fields on the board",
	optionSpecialFieldsNote:
		"On a special field no card may be placed, or only cards of one element. Chance decides which.",
	round: (n: number) => `Round ${n}`,
	prompts: {
		1: "Pick a card for your hand.",
		2: "Choose a card, then a square.",
	} as Record<number, string>,
	chooseSquare: "Choose a square.",
	pile: "Your pile",
	handTotal: (sum: number, limit: number) => `${sum} of at most ${limit} points`,
	points: "Rounds won",
	pick: (card: string) => `Pick ${card}`,
	place: (card: string, square: string) => `${card} to ${square}`,
	square: (row: number, column: number) => `row ${row}, column ${column}`,
	squareShort: (row: number, column: number) => `${"abc"[column - 1] ?? column}${row}`,
	blocked: "blocked",
	only: (element: string) => `only ${element}`,
	edges: (n: number, e: number, s: number, w: number) =>
		`north ${n}, east ${e}, south ${s}, west ${w}`,
	dealt: (n: number) => `got ${n} cards`,
	aside: "A card was set aside.",
	field: (square: string, field: string) => `${square} became a special field: ${field}`,
	roundStarted: (n: number) => `placed first in round ${n}`,
	picked: (card: string) => `picked ${card}`,
	pickedHidden: "picked a card",
	placed: (card: string, square: string) => `placed ${card} on ${square}`,
	taking: (n: number) => (n === 1 ? " and took 1 card" : ` and took ${n} cards`),
	passed: "could not place and passed",
	roundWon: (a: number, b: number) => `won the round, ${a} to ${b} chips`,
	roundTied: "The round was tied.",
	fields: ["", "Fire", "Earth", "Electro", "Water", "Air", "blocked"],
	chips: "Chips",
};

const cards = (n: number) => (n === 1 ? "1 Karte" : `${n} Karten`);

const de: typeof en = {
	blurb: "Neun Felder, vier Kanten und eine Hand, deren Karten zusammen höchstens 20 Punkte haben.",
	optionSpecialFields: "Sonderfelder auf dem Spielfeld",
	optionSpecialFieldsNote:
		"Auf ein Sonderfeld darf keine Karte gelegt werden, oder nur Karten eines Elements. Der Zufall entscheidet, welches.",
	round: (n) => `Runde ${n}`,
	prompts: {
		1: "Wähle eine Karte für deine Hand.",
		2: "Wähle eine Karte, dann ein Feld.",
	},
	chooseSquare: "Wähle ein Feld.",
	pile: "Dein Stapel",
	handTotal: (sum, limit) => `${sum} von höchstens ${limit} Punkten`,
	points: "Gewonnene Runden",
	pick: (card) => `${card} wählen`,
	place: (card, square) => `${card} auf ${square}`,
	square: (row, column) => `Reihe ${row}, Spalte ${column}`,
	squareShort: (row, column) => `${"abc"[column - 1] ?? column}${row}`,
	blocked: "blockiert",
	only: (element) => `nur ${element}`,
	edges: (n, e, s, w) => `Norden ${n}, Osten ${e}, Süden ${s}, Westen ${w}`,
	dealt: (n) => `bekam ${cards(n)}`,
	aside: "Eine Karte kam beiseite.",
	field: (square, field) => `${square} wurde ein Sonderfeld: ${field}`,
	roundStarted: (n) => `legte in Runde ${n} zuerst`,
	picked: (card) => `wählte ${card}`,
	pickedHidden: "wählte eine Karte",
	placed: (card, square) => `legte ${card} auf ${square}`,
	taking: (n) => ` und nahm ${cards(n)}`,
	passed: "konnte nicht legen und passte",
	roundWon: (a, b) => `gewann die Runde, ${a} zu ${b} Chips`,
	roundTied: "Die Runde war unentschieden.",
	fields: ["", "Feuer", "Erde", "Elektro", "Wasser", "Luft", "blockiert"],
	chips: "Chips",
};

export const all = { en, de };
export const say = texts(all);
