// What the web app says about Champion Chess, in English and German.
import { texts } from "@app/i18n";

const en = {
	blurb: "Choose your champion in secret. Both are revealed at once.",
	optionCastling: "Castling",
	optionCastlingNote:
		"Once in a match, a Rook may stand in for a King that is the only noble in the hand.",
	challenge: (n: number) => `Challenge ${n}`,
	prompts: {
		1: "Choose your champion.",
		2: "Add aid to your champion, or none.",
		3: "Discard any cards to your reserve, or none.",
	} as Record<number, string>,
	onlyNobles: "only a noble can be a champion.",
	onlyAid: "a noble gives no aid.",
	onlyOnce: "of all aid but Pawns, one of each kind can be played.",
	noAid: "No aid",
	aid: "Play the aid",
	keepAll: "Keep all cards",
	discard: "Discard",
	castle: "Castle: a Rook takes his place",
	stay: "He fights himself",
	deck: "Deck",
	reserve: "Reserve",
	defeated: "Defeated",
	nobles: "Nobles defeated",
	champion: "Champion",
	secret: "in secret",
	total: "Total",
	lastChallenge: "Last challenge",
	won: "won",
	captured: "captured",
};

const de: typeof en = {
	blurb: "Wähle geheim deinen Champion. Beide werden zugleich aufgedeckt.",
	optionCastling: "Rochade",
	optionCastlingNote:
		"Einmal in der Partie darf ein Turm für einen König antreten, der der einzige Adlige auf der Hand ist.",
	challenge: (n) => `Zweikampf ${n}`,
	prompts: {
		1: "Wähle deinen Champion.",
		2: "Leg deinem Champion Hilfen dazu, oder keine.",
		3: "Leg beliebig viele Karten auf die Reserve ab, oder keine.",
	},
	onlyNobles: "nur Adlige können Champion sein.",
	onlyAid: "Adlige leisten keine Hilfe.",
	onlyOnce: "außer Bauern darf jede Hilfe nur einmal dabei sein.",
	noAid: "Keine Hilfe",
	aid: "Hilfen spielen",
	keepAll: "Alle behalten",
	discard: "Ablegen",
	castle: "Rochade: ein Turm für den König",
	stay: "Er kämpft selbst",
	deck: "Deck",
	reserve: "Reserve",
	defeated: "Besiegt",
	nobles: "Adlige besiegt",
	champion: "Champion",
	secret: "geheim",
	total: "Summe",
	lastChallenge: "Letzter Zweikampf",
	won: "gewonnen",
	captured: "geschlagen",
};

export const all = { en, de };
export const say = texts(all);
