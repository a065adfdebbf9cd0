// The lesson of Champion Chess, and how its cards are read, in English and German.

import { decides, guideOf, happenings } from "@app/games/lesson";
import { type Moment, titleOf } from "@app/games/module";
import {
	type ChampionChessAction,
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessView,
} from "@app/gen/croupier/v1/champion_chess_pb";

const gameOf = (now: Moment) => now.view.game.value as ChampionChessView;
const phase = (now: Moment) => gameOf(now).phase;
const { CHAMPION, AID, END } = ChampionChessPhase;
const early = (now: Moment) => gameOf(now).challenge <= 2;

const events = happenings<ChampionChessEvent>();
const redealt = (now: Moment) => events(now, "mulligan").at(-1)?.seat;

/** How the last challenge ended for the player, and for the other side. */
function challenge(now: Moment) {
	const decided = events(now, "challengeDecided").slice(-2);
	const of = (seat: number) => {
		const found = decided.find((each) => each.seat === seat)?.what;
		if (!found) return { card: "", won: false, numbers: "" };
		const { champion, won, movement, attack, defend } = found;
		const card = titleOf(now.context, ChampionChessCard[champion] ?? "");
		return { card, won, numbers: `${movement} / ${attack} / ${defend}` };
	};
	return { mine: of(now.me), theirs: of(1 - now.me) };
}

const tied = (now: Moment) => {
	const lost = events(now, "challengeDecided").map(({ what }) => !what.won);
	return lost.some((each, index) => index % 2 === 1 && each && lost[index - 1]);
};

const seatTitle = (now: Moment, seat?: number) => now.context.catalog.game.seatTitles[seat ?? 0];
const score = (now: Moment) => now.view.result?.scores[now.me];

export const guide = guideOf({
	tips: {
		goal: { when: (now) => early(now) && phase(now) === CHAMPION, anchor: ".chessboard" },
		card: { when: early, anchor: ".hand .card" },
		champion: { when: (now) => phase(now) === CHAMPION && decides(now), anchor: ".hand" },
		castling: {
			when: (now) =>
				now.view.legalActions.some(({ game }) => {
					const { action } = game.value as ChampionChessAction;
					return action.case === "playChampion" && action.value.castle;
				}),
			anchor: ".hand [data-key='card:KING']",
		},
		king: {
			when: (now) => phase(now) === CHAMPION && gameOf(now).hand.includes(ChampionChessCard.KING),
			anchor: ".hand [data-key='card:KING']",
		},
		aid: { when: (now) => phase(now) === AID && decides(now), anchor: ".hand" },
		sums: { when: (now) => phase(now) === AID && decides(now), anchor: ".compare" },
		outcome: { when: (now) => phase(now) === END, anchor: ".chessboard .middle" },
		fate: { when: (now) => phase(now) === END, anchor: ".chessboard > .piles:last-child" },
		discard: { when: (now) => phase(now) === END && decides(now), anchor: ".hand" },
		tied: { when: tied, anchor: ".chessboard .middle" },
		piles: { when: (now) => gameOf(now).challenge >= 2, anchor: ".chessboard > .piles" },
		castled: {
			when: (now) =>
				events(now, "championRevealed").some(({ seat, what }) => seat !== now.me && what.castled),
			anchor: ".chessboard .middle",
		},
		mulligan: { when: (now) => events(now, "mulligan").length > 0, anchor: ".hand" },
		reshuffle: {
			when: (now) => events(now, "shuffled").some(({ what }) => what.fromReserve),
			anchor: ".chessboard > .piles",
		},
		end: { when: () => false, anchor: ".chessboard .middle" },
	},
	words: {
		en: {
			goal: "Both sides have the same 52 cards. Capture the other King and you win; lose yours and you lose. Both sides choose in secret, and their cards are revealed together.",
			card: "Each card has three numbers, from left to right: Movement, Attack and Defend. The cards with an arch are nobles, which fight. All others are aid, which helps them.",
			champion:
				"Choose a noble as your champion: click it, then the button below. The other side does the same. In their challenge, the side that is higher in more of the three numbers wins.",
			castling:
				"For the first time, the King is your only noble. You may castle: the King goes into the deck, and a Rook from it fights for him. The chance is gone after this turn, even unused.",
			king: "Your King is in your hand. He defends with 10, but hardly moves or attacks. If he loses a challenge, you lose the match. While he stays in your hand, he is safe.",
			aid: "Both champions are known now. Add aid from your hand: as many cards as you like, but only one of each kind. Only Pawns may come in numbers. You may also play none.",
			sums: "Here you see the sums of both sides while you choose. The other side adds aid in secret too. Higher in more of the three numbers wins: two, or one if the rest is equal.",
			outcome: (now) => {
				const { mine, theirs } = challenge(now);
				const sums = `${mine.numbers} against ${theirs.numbers}`;
				if (mine.won) return `Your ${mine.card} won: ${sums}. You were higher in more numbers.`;
				if (theirs.won)
					return `Your ${mine.card} lost: ${sums}. The other side was higher in more.`;
				return `Both champions lost: ${sums}. Neither side was higher in more numbers.`;
			},
			fate: "A champion who wins goes to the reserve and can fight again. The loser, and all aid of both sides, go to the defeated piles and are lost for good.",
			discard:
				"At the end of a turn you may put any of your cards on the reserve. They are not lost. Then hands are filled up to 7, so you draw one card for each that is missing.",
			tied: "Neither side was higher in more numbers than the other. Then both champions are lost.",
			piles:
				"All piles lie face up: click one to look through it. What lies on neither pile of a side is in its hand or its deck, so you can count what it has left.",
			castled: (now) =>
				`${seatTitle(now, 1 - now.me)} has castled: the King was the only noble in hand, so a Rook from the deck fights for him. Each side may do that the first time only.`,
			mulligan: (now) =>
				`${redealt(now) === now.me ? "You" : seatTitle(now, 1 - now.me)} had no noble in hand. Such a hand is shown, goes to the reserve, and 7 new cards are drawn.`,
			reshuffle:
				"A deck was empty, so its reserve was shuffled and became the new deck. That is how winners and discarded cards come back into play.",
			end: (now) => {
				const { mine, theirs } = challenge(now);
				if (score(now) === 1)
					return `You captured the King: your ${mine.card} had ${mine.numbers}, and the ${theirs.card} only ${theirs.numbers}. That decides the match.`;
				if (score(now) === 0)
					return `Your King was captured: he had ${mine.numbers} against ${theirs.numbers} of the ${theirs.card}. That decides the match. Next time, keep another noble in hand.`;
				return "Both Kings fell in the same challenge. That is the only draw in this game.";
			},
		},
		de: {
			goal: "Beide Seiten haben dieselben 52 Karten. Schlägst du den anderen König, gewinnst du; verlierst du deinen, verlierst du. Beide wählen geheim, und ihre Karten werden zugleich aufgedeckt.",
			card: "Jede Karte hat drei Werte, von links nach rechts: Bewegung, Angriff und Verteidigung. Karten mit einem Bogen sind Adlige, die kämpfen. Alle anderen sind Hilfen, die sie unterstützen.",
			champion:
				"Wähle einen Adligen als Champion: Klick ihn an, dann den Knopf darunter. Die andere Seite tut dasselbe. Wer im Zweikampf in mehr der drei Werte höher ist, gewinnt ihn.",
			castling:
				"Zum ersten Mal ist der König dein einziger Adliger. Du darfst rochieren: Er kommt ins Deck, und ein Turm daraus kämpft für ihn. Nach diesem Zug ist die Gelegenheit vorbei, auch ungenutzt.",
			king: "Du hast deinen König auf der Hand. Er verteidigt mit 10, bewegt sich aber kaum und greift kaum an. Verliert er einen Zweikampf, verlierst du die Partie. Auf der Hand ist er sicher.",
			aid: "Jetzt sind beide Champions bekannt. Gib Hilfen dazu: so viele Karten, wie du willst, aber von jeder Art nur eine. Nur Bauern dürfen mehrere sein. Du kannst auch keine spielen.",
			sums: "Hier siehst du die Summen beider Seiten, während du wählst. Auch die andere Seite gibt geheim Hilfen dazu. Wer in mehr Werten höher ist, gewinnt: in zweien, oder in einem bei sonst gleichen.",
			outcome: (now) => {
				const { mine, theirs } = challenge(now);
				const sums = `${mine.numbers} gegen ${theirs.numbers}`;
				if (mine.won) return `Gewonnen (${mine.card}): ${sums}. Du warst in mehr Werten höher.`;
				if (theirs.won)
					return `Verloren (${mine.card}): ${sums}. Die andere Seite war in mehr Werten höher.`;
				return `Beide Champions haben verloren: ${sums}. Keine Seite war in mehr Werten höher.`;
			},
			fate: "Ein siegreicher Champion kommt in die Reserve und kann wieder kämpfen. Der Verlierer und alle Hilfen beider Seiten kommen auf die Stapel der Besiegten und sind für immer verloren.",
			discard:
				"Am Ende des Zuges darfst du beliebig viele Karten in die Reserve legen. Sie sind nicht verloren. Danach werden die Hände auf 7 aufgefüllt: Du ziehst für jede fehlende Karte eine neue.",
			tied: "Keine Seite war in mehr Werten höher als die andere. Dann sind beide Champions verloren.",
			piles:
				"Alle Stapel liegen offen: Klick einen an, um ihn durchzusehen. Was auf keinem Stapel einer Seite liegt, hat sie auf der Hand oder im Deck. So kannst du mitzählen, was ihr bleibt.",
			castled: (now) =>
				`${seatTitle(now, 1 - now.me)} hat rochiert: Der König war der einzige Adlige auf der Hand, also kämpft ein Turm aus dem Deck für ihn. Das geht für jede Seite nur beim ersten Mal.`,
			mulligan: (now) =>
				`${redealt(now) === now.me ? "Du hattest" : `${seatTitle(now, 1 - now.me)} hatte`} keinen Adligen auf der Hand. Eine solche Hand wird gezeigt, kommt in die Reserve, und es werden 7 neue Karten gezogen.`,
			reshuffle:
				"Ein Deck war leer, also wurde die Reserve gemischt und ist jetzt das neue Deck. So kommen Sieger und abgelegte Karten zurück ins Spiel.",
			end: (now) => {
				const { mine, theirs } = challenge(now);
				if (score(now) === 1)
					return `Du hast den König geschlagen: ${mine.card} mit ${mine.numbers} gegen ${theirs.card} mit ${theirs.numbers}. Das entscheidet die Partie.`;
				if (score(now) === 0)
					return `Dein König wurde geschlagen: Er hatte ${mine.numbers} gegen ${theirs.numbers} (${theirs.card}). Das entscheidet die Partie. Behalte beim nächsten Mal einen anderen Adligen auf der Hand.`;
				return "Beide Könige fielen im selben Zweikampf. Nur so endet dieses Spiel unentschieden.";
			},
		},
	},
	anatomy: [
		{
			is: ({ id }) => id === "BISHOP",
			parts: {
				noble: { at: ".arch" },
				movement: { at: ".stat0", number: 0 },
				attack: { at: ".stat1", number: 1 },
				defend: { at: ".stat2", number: 2 },
			},
		},
		{ is: ({ id }) => id === "SHIELD", parts: { aid: { at: ".piece" } } },
	],
	parts: {
		en: {
			noble: "The arch: a noble, which can be a champion.",
			movement: "The first of the three numbers that are compared.",
			attack: "The second.",
			defend: "The third. In each, the sum of champion and aid counts.",
			aid: "No arch: aid, whose numbers are added to the champion's.",
		},
		de: {
			noble: "Der Bogen: ein Adliger, der Champion sein kann.",
			movement: "Der erste der drei Werte, die verglichen werden.",
			attack: "Der zweite.",
			defend: "Der dritte. In jedem zählt die Summe von Champion und Hilfen.",
			aid: "Kein Bogen: eine Hilfe, deren Werte zu denen des Champions zählen.",
		},
	},
	terms: {
		en: [
			["nobles", "King, Queen, Bishop, Rook and Knight"],
			["aid", "Pawn, Steed, Armor, Sword, Feint, Shield and Magic"],
			["champion", "the noble that a side sends into this turn's challenge"],
			["challenge", "the comparison of both champions with their aid, once in each turn"],
			["reserve", "a face-up pile of winners and discarded cards, which come back"],
		],
		de: [
			["Adligen", "König, Dame, Läufer, Turm und Springer", "Adlige"],
			["Hilfen", "Bauer, Ross, Rüstung, Schwert, Finte, Schild und Magie"],
			["Champion", "der Adlige, den eine Seite in den Zweikampf dieses Zuges schickt"],
			["Zweikampf", "der Vergleich beider Champions mit ihren Hilfen, einmal in jedem Zug"],
			["Reserve", "ein offener Stapel aus Siegern und abgelegten Karten, die wiederkommen"],
		],
	},
});
