// The lesson of Skystones, and how its cards are read, in English and German.

import { decides, guideOf, happenings } from "@app/games/lesson";
import { type Moment, rulesetOf } from "@app/games/module";
import {
	type SkystonesEvent,
	SkystonesPhase,
	type SkystonesRuleset,
	type SkystonesView,
} from "@app/gen/croupier/v1/skystones_pb";

const gameOf = (now: Moment) => now.view.game.value as SkystonesView;
const picking = (now: Moment) => gameOf(now).phase === SkystonesPhase.PICK;
const placing = (now: Moment) => gameOf(now).phase === SkystonesPhase.PLACE;

const events = happenings<SkystonesEvent>();
const happened = (kind: SkystonesEvent["event"]["case"]) => (now: Moment) =>
	events(now, kind).length > 0;
const lastRound = (now: Moment) => events(now, "roundEnded").at(-1)?.what;
const rounds = (now: Moment) => {
	const points = (seat: number) => gameOf(now).sides[seat]?.points ?? 0;
	return [points(now.me), points(1 - now.me)] as const;
};

/** The characters of the lesson, by their place in the whole list: enough for two or three rounds. */
const CHARACTERS = [
	0, 1, 2, 3, 4, 6, 7, 9, 10, 13, 14, 16, 17, 19, 21, 22, 23, 24, 27, 28, 29, 32, 34, 35, 37, 38,
	39, 40, 41,
];

export const guide = guideOf({
	ruleset: (standard) => {
		const { cards } = standard.game.value as SkystonesRuleset;
		return rulesetOf("skystones", {
			specialFields: 1,
			cards: CHARACTERS.map((place) => cards[place]!),
		});
	},
	tips: {
		goal: { when: (now) => gameOf(now).round === 1 && picking(now), anchor: ".squares" },
		card: { when: (now) => gameOf(now).round === 1, anchor: ".hand .card" },
		pick: { when: (now) => picking(now) && decides(now), anchor: ".hands" },
		limit: { when: (now) => picking(now) && decides(now), anchor: ".prompt" },
		place: { when: (now) => placing(now) && decides(now), anchor: ".squares" },
		field: {
			when: (now) => placing(now) && gameOf(now).board.some(({ field }) => field > 0),
			anchor: ".square .field",
		},
		take: {
			when: (now) => placing(now) && gameOf(now).board.some(({ card }) => card !== undefined),
			anchor: ".tile",
		},
		chain: {
			when: (now) => events(now, "placed").some(({ what }) => what.taken.length > 0),
			anchor: ".squares",
		},
		chips: {
			when: (now) =>
				placing(now) && gameOf(now).board.filter(({ card }) => card !== undefined).length >= 2,
			anchor: ".chips",
		},
		passed: { when: happened("passed"), anchor: ".player.far" },
		round: { when: happened("roundEnded"), anchor: ".player.near .score" },
		aside: { when: (now) => gameOf(now).round >= 2 && picking(now), anchor: ".hands" },
		memory: { when: (now) => gameOf(now).round >= 2 && picking(now), anchor: ".player.far" },
		starter: { when: (now) => gameOf(now).round >= 2 && placing(now), anchor: ".boardhead" },
		length: { when: (now) => gameOf(now).round >= 2 && placing(now), anchor: ".boardhead" },
		end: { when: () => false, anchor: ".player.near .score" },
	},
	words: {
		en: {
			goal: "A match has several rounds. In each, both sides place cards on this board and take each other's. A chip on each card shows its owner: more chips at the end of a round get a point, and more points win.",
			card: "The numbers on the four edges are the card's attack points. The small one in the corner is their total, which counts for your hand. The colour and the sign in the middle are its element.",
			pick: "Pick five cards of your pile for your hand. The other side does the same. Nobody sees which cards the other picks, only how many.",
			limit:
				"The totals of your hand may add up to 20 at most. A card is dimmed if you could not complete a hand of five with it. A strong card costs you elsewhere.",
			place: (now) =>
				`Now cards are placed in turn. ${gameOf(now).round === 1 ? `Chance let ${gameOf(now).starter === now.me ? "you" : "the other side"} begin. ` : ""}Choose a card, then an empty square. Point at a square to see what your card would take there.`,
			field:
				"This square is a special field. Blocked: no card may lie here. With the sign of an element: only cards of this element may. This lesson has one; a match has none unless you choose so.",
			take: "A card that is placed takes every card of the other side directly beside it whose touching edge has fewer points. Equal points take nothing. Corners do not touch.",
			chain:
				"Cards were taken: only the chip on them changes, not their place. A card that is taken takes nothing itself, so there are no chains. It can be taken back.",
			chips:
				"The chips show who owns the cards: yours on the one side, theirs on the other. When neither side can place any more, the round ends, and more chips win it.",
			passed:
				"A side that cannot place any card passes; nobody may pass otherwise. The other side goes on, until neither can place.",
			round: (now) => {
				const round = lastRound(now);
				const chips = `${round?.chips[now.me] ?? 0} chips to ${round?.chips[1 - now.me] ?? 0}`;
				if (round?.winner === undefined)
					return `The round is over with ${chips}: no point for anyone.`;
				return `The round is over with ${chips}: a point for ${round.winner === now.me ? "you" : "the other side"}.`;
			},
			aside:
				"The cards on the board are out for the rest of the match. Cards that you did not place are back in your pile. Do not spend all strong cards in the first round.",
			memory:
				"All cards were dealt to the two piles, but for one that is set aside if their number is odd. So whatever you have not seen, the other side still has. Hints count that for you.",
			starter:
				"Whoever lost a round begins the next one. After a tied round, the side begins that did not begin it.",
			length:
				"The match ends when a side can form no hand of five within 20 points at the start of a round, or after a round in which no card could be placed.",
			end: (now) => {
				const [mine, theirs] = rounds(now);
				const result = mine > theirs ? "You win" : mine < theirs ? "The other side wins" : "A draw";
				return `No further hand of five could be formed, so the match is over. Rounds won: you ${mine}, the other side ${theirs}. ${result}: each round counts one point, however clear it was.`;
			},
		},
		de: {
			goal: "Eine Partie hat mehrere Runden. In jeder legen beide Seiten Karten auf dieses Spielfeld und nehmen sich welche ab. Ein Chip auf jeder Karte zeigt, wem sie gehört: Mehr Chips am Ende bringen einen Punkt. Mehr Punkte gewinnen.",
			card: "Die Zahlen an den vier Kanten sind die Angriffspunkte. Die kleine in der Ecke ist ihre Summe, die für deine Hand zählt. Farbe und Zeichen in der Mitte zeigen das Element.",
			pick: "Wähle fünf Karten aus deinem Stapel für deine Hand. Die andere Seite tut dasselbe. Niemand sieht, welche Karten die andere Seite wählt, nur wie viele.",
			limit:
				"Die Summen deiner Hand dürfen zusammen höchstens 20 ergeben. Eine Karte ist abgedunkelt, wenn du mit ihr keine Hand aus fünf mehr bilden könntest. Eine starke Karte fehlt dir woanders.",
			place: (now) =>
				`Jetzt wird abwechselnd gelegt. ${gameOf(now).round === 1 ? `Der Zufall lässt ${gameOf(now).starter === now.me ? "dich" : "die andere Seite"} beginnen. ` : ""}Wähle eine Karte, dann ein leeres Feld. Zeig auf ein Feld, um zu sehen, was deine Karte dort nähme.`,
			field:
				"Dieses Feld ist ein Sonderfeld. Blockiert: Hier darf keine Karte liegen. Mit dem Zeichen eines Elements: nur Karten dieses Elements. Diese Lektion hat eines; eine Partie nur, wenn du es so einstellst.",
			take: "Eine gelegte Karte nimmt jede gegnerische Karte direkt neben ihr, deren berührende Kante weniger Punkte hat. Gleich viele Punkte nehmen nichts. Über Eck berühren sich Karten nicht.",
			chain:
				"Karten wurden genommen: Nur der Chip darauf wechselt, nicht ihr Platz. Eine genommene Karte nimmt selbst nichts, es gibt also keine Ketten. Sie kann zurückgenommen werden.",
			chips:
				"Die Chips zeigen, wem die Karten gehören: auf der einen Seite deine, auf der anderen die fremden. Kann keine Seite mehr legen, endet die Runde, und mehr Chips gewinnen sie.",
			passed:
				"Eine Seite, die keine Karte legen kann, passt; sonst darf niemand passen. Die andere legt weiter, bis keine mehr kann.",
			round: (now) => {
				const round = lastRound(now);
				const chips = `${round?.chips[now.me] ?? 0} zu ${round?.chips[1 - now.me] ?? 0} Chips`;
				if (round?.winner === undefined) return `Die Runde endet mit ${chips}: kein Punkt.`;
				return `Die Runde endet mit ${chips}: ein Punkt für ${round.winner === now.me ? "dich" : "die andere Seite"}.`;
			},
			aside:
				"Die Karten auf dem Spielfeld sind für den Rest der Partie aus dem Spiel. Karten, die du nicht gelegt hast, sind wieder in deinem Stapel. Verbrauche nicht alle starken in der ersten Runde.",
			memory:
				"Alle Karten sind auf die beiden Stapel verteilt, nur bei ungerader Zahl liegt eine beiseite. Was du noch nicht gesehen hast, hat also die andere Seite. Die Tipps zählen das mit.",
			starter:
				"Wer eine Runde verloren hat, beginnt die nächste. Nach einem Gleichstand beginnt die Seite, die zuletzt nicht begonnen hat.",
			length:
				"Die Partie endet, wenn eine Seite zu Beginn einer Runde keine Hand aus fünf Karten mit höchstens 20 Punkten bilden kann, oder nach einer Runde, in der nichts gelegt werden konnte.",
			end: (now) => {
				const [mine, theirs] = rounds(now);
				const result =
					mine > theirs
						? "Du gewinnst"
						: mine < theirs
							? "Die andere Seite gewinnt"
							: "Unentschieden";
				return `Eine weitere Hand aus fünf Karten war nicht möglich, also ist die Partie vorbei. Gewonnene Runden: du ${mine}, die andere Seite ${theirs}. ${result}: Jede Runde zählt einen Punkt, egal wie deutlich sie war.`;
			},
		},
	},
	anatomy: [
		{
			// The one with five different numbers.
			is: ({ numbers }) => new Set(numbers.map(({ value }) => value)).size === 5,
			parts: {
				north: { at: ".points:nth-of-type(2) rect", number: 1 },
				east: { at: ".points:nth-of-type(3) rect", number: 2 },
				south: { at: ".points:nth-of-type(4) rect", number: 3 },
				west: { at: ".points:nth-of-type(5) rect", number: 4 },
				total: { at: ".total", number: 0 },
				element: { at: ".element" },
			},
		},
	],
	parts: {
		en: {
			north: "Attack points against the card above.",
			east: "Against the card on the right.",
			south: "Against the card below.",
			west: "Against the card on the left.",
			total: "The sum of the four. A hand may have 20 in all.",
			element: "The element, here Water: it counts on special fields only.",
		},
		de: {
			north: "Angriffspunkte gegen die Karte darüber.",
			east: "Gegen die Karte rechts.",
			south: "Gegen die Karte darunter.",
			west: "Gegen die Karte links.",
			total: "Die Summe der vier. Eine Hand darf zusammen 20 haben.",
			element: "Das Element, hier Wasser: Es zählt nur auf Sonderfeldern.",
		},
	},
	terms: {
		en: [
			["points on their four edges", "what a card takes others with", "attack points"],
			["whose points", "the totals: each card's attack points added up", "points of a hand"],
			["chips", "a chip on each card on the board shows who owns it"],
			["gets a point", "a point for the match, one for each round", "point"],
			["special fields", "an option of a match: up to nine squares with a sign"],
		],
		de: [
			["Angriffspunkten", "womit eine Karte andere übernimmt", "Angriffspunkte"],
			[
				"deren Punkte",
				"die Summen: die Angriffspunkte jeder Karte zusammengezählt",
				"Punkte einer Hand",
			],
			["Chips", "ein Chip auf jeder Karte des Spielfelds zeigt, wem sie gehört"],
			["einen Punkt", "ein Punkt für die Partie, einer je Runde", "Punkt"],
			[
				"Sonderfeldern",
				"eine Option der Partie: bis zu neun Felder mit einem Zeichen",
				"Sonderfelder",
			],
		],
	},
});
