// What the web app says about PowerShot Soccer, in English and German.
import { texts } from "@app/i18n";

const en = {
	blurb: "Pass, dribble, shoot, and bluff the keeper.",
	half: (n: number): string => (n === 1 ? "First half" : "Second half"),
	attackNow: "You attack: play a card. One with a flag gives up the ball.",
	defend: "You defend: answer with a card. One with a sign challenges.",
	defenceless: "None of your cards can challenge: play one that you can spare.",
	challenges: (role: string) => `challenges: ${role}`,
	givesUp: "gives up the ball",
	newest: "newest cards",
	roles: { GIVE_UP: "give up the ball", DECLINE: "no challenge" } as Record<string, string>,
	playAs: "Play it as",
	as: (card: string, role: string) => `${card} as ${role}`,
	possession: "Possession",
	standing: (n: number) => (n === 1 ? "1 card stands" : `${n} cards stand`),
	attack: "This attack",
	lastAttack: "Last attack",
	powerShot: "PowerShot!",
	total: (n: number) => `total ${n}`,
	goals: "Goals",
	shuffled: (n: number) => `shuffled ${n} cards`,
	kickOffShown: (card: string) => `showed ${card} for the kick-off`,
	halfStarted: (n: number): string =>
		n === 1 ? "kicked off the first half" : "kicked off the second half",
	playedAs: (card: string, role: string) => `played ${card} as ${role}`,
	outcomes: {
		1: "the card stands",
		2: "repelled: a new attack",
		3: "lost the ball",
		4: "GOAL!",
		5: "gave up the ball",
	} as Record<number, string>,
	told: {
		1: "kept the ball",
		2: "kept the ball for a new attack",
		3: "lost the ball",
		4: "scored: GOAL!",
		5: "gave up the ball",
	} as Record<number, string>,
	gaveUp: (card: string) => `gave up the ball with ${card}`,
	declined: (card: string) => `let it pass with ${card}`,
	discards: (who: string) => `Discards, ${who}`,
	power: (power: number, defence: number) =>
		defence > 0 ? `${power} against ${defence}` : `${power}, not challenged`,
	halfEnded: (n: number, a: number, b: number) =>
		`${n === 1 ? "Half-time" : "Full time"}: ${a} to ${b}`,
	kickOff: "Kick-off",
	themes: { attack: "Attack", defend: "Defence" } as Record<string, string>,
};

const cards = (n: number) => (n === 1 ? "1 Karte" : `${n} Karten`);

const de: typeof en = {
	blurb: "Passen, dribbeln, schießen und den Torwart täuschen.",
	half: (n) => (n === 1 ? "Erste Halbzeit" : "Zweite Halbzeit"),
	attackNow: "Du greifst an: spiel eine Karte. Mit einer Fahne gibst du den Ball ab.",
	defend: "Du verteidigst: antworte mit einer Karte. Karten mit einem Zeichen greifen den Ball an.",
	defenceless: "Keine deiner Karten greift den Ball an: spiel eine, die du entbehren kannst.",
	challenges: (role) => `greift den Ball an: ${role}`,
	givesUp: "gibt den Ball ab",
	newest: "neueste Karten",
	roles: { GIVE_UP: "Ball abgeben", DECLINE: "kein Angriff auf den Ball" },
	playAs: "Spielen als",
	as: (card, role) => `${card} als ${role}`,
	possession: "Ballbesitz",
	standing: (n) => (n === 1 ? "1 Karte steht" : `${n} Karten stehen`),
	attack: "Dieser Angriff",
	lastAttack: "Letzter Angriff",
	powerShot: "PowerShot!",
	total: (n) => `Summe ${n}`,
	goals: "Tore",
	shuffled: (n) => `hat ${cards(n)} gemischt`,
	kickOffShown: (card) => `hat für den Anstoß ${card} gezeigt`,
	halfStarted: (n) => `hat Anstoß in der ${n === 1 ? "ersten" : "zweiten"} Halbzeit`,
	playedAs: (card, role) => `hat ${card} als ${role} gespielt`,
	outcomes: {
		1: "die Karte steht",
		2: "abgewehrt: neuer Angriff",
		3: "Ball verloren",
		4: "TOR!",
		5: "Ball abgegeben",
	},
	told: {
		1: "hat den Ball behalten",
		2: "hat den Ball für einen neuen Angriff behalten",
		3: "hat den Ball verloren",
		4: "hat getroffen: TOR!",
		5: "hat den Ball abgegeben",
	},
	gaveUp: (card) => `hat den Ball mit ${card} abgegeben`,
	declined: (card) => `hat den Ball mit ${card} durchgelassen`,
	discards: (who) => `Ablage ${who}`,
	power: (power, defence) =>
		defence > 0 ? `${power} gegen ${defence}` : `${power}, ohne Gegenwehr`,
	halfEnded: (n, a, b) => `${n === 1 ? "Halbzeit" : "Abpfiff"}: ${a} zu ${b}`,
	kickOff: "Anstoß",
	themes: { attack: "Angriff", defend: "Abwehr" },
};

export const all = { en, de };
export const say = texts(all);
