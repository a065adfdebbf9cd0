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
	playAs: "Play it as",
	possession: "Possession",
	standing: (n: number) =>
		n === 0 ? "no card stands" : n === 1 ? "1 card stands" : `${n} cards stand`,
	attack: "This attack",
	lastAttack: "Last attack",
	powerShot: "PowerShot!",
	total: (n: number) => `total ${n}`,
	goals: "Goals",
	discards: (who: string) => `Discards, ${who}`,
	kickOff: "Kick-off",
	themes: { attack: "Attack", defend: "Defence" } as Record<string, string>,
};

const de: typeof en = {
	blurb: "Passen, dribbeln, schießen und den Torwart täuschen.",
	half: (n) => (n === 1 ? "Erste Halbzeit" : "Zweite Halbzeit"),
	attackNow: "Du greifst an: spiel eine Karte. Mit einer Fahne gibst du den Ball ab.",
	defend: "Du verteidigst: antworte mit einer Karte. Karten mit einem Zeichen greifen den Ball an.",
	defenceless: "Keine deiner Karten greift den Ball an: spiel eine, die du entbehren kannst.",
	challenges: (role) => `greift den Ball an: ${role}`,
	givesUp: "gibt den Ball ab",
	newest: "neueste Karten",
	playAs: "Spielen als",
	possession: "Ballbesitz",
	standing: (n) =>
		n === 0 ? "keine Karte steht" : n === 1 ? "1 Karte steht" : `${n} Karten stehen`,
	attack: "Dieser Angriff",
	lastAttack: "Letzter Angriff",
	powerShot: "PowerShot!",
	total: (n) => `Summe ${n}`,
	goals: "Tore",
	discards: (who) => `Ablage, ${who}`,
	kickOff: "Anstoß",
	themes: { attack: "Angriff", defend: "Abwehr" },
};

export const all = { en, de };
export const say = texts(all);
