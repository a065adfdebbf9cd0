// The lesson of Castle Rampage, and how its cards are read, in English and German.

import { decides, guideOf, happenings } from "@app/games/lesson";
import { type Moment, titleOf } from "@app/games/module";
import {
	CastleRampageCard,
	CastleRampageDiscardReason,
	type CastleRampageEvent,
	CastleRampagePhase,
	type CastleRampageView,
} from "@app/gen/croupier/v1/castle_rampage_pb";
import { numbersOf } from "./card";

const gameOf = (now: Moment) => now.view.game.value as CastleRampageView;
const settingUp = (now: Moment) => gameOf(now).phase === CastleRampagePhase.SET_UP;
const myTurn = (now: Moment) =>
	gameOf(now).phase === CastleRampagePhase.TURN && gameOf(now).active === now.me && decides(now);

const events = happenings<CastleRampageEvent>();
const happened = (kind: CastleRampageEvent["event"]["case"]) => (now: Moment) =>
	events(now, kind).length > 0;
const title = (now: Moment, card?: CastleRampageCard) =>
	titleOf(now.context, CastleRampageCard[card ?? 0] ?? "");

/** The defenders that an attack met. */
const met = (now: Moment) => events(now, "revealed").map(({ what }) => what);

/** The first card of the hand of which something is true. */
const held = (now: Moment, is: (card: string) => boolean) =>
	gameOf(now)
		.hand.map((card) => CastleRampageCard[card] ?? "")
		.find(is);
const tipFor = (is: (card: string, now: Moment) => boolean) => ({
	when: (now: Moment) => myTurn(now) && held(now, (card) => is(card, now)) !== undefined,
	anchor: (now: Moment) => `.hand [data-key='card:${held(now, (card) => is(card, now))}']`,
});
const among =
	(...cards: string[]) =>
	(card: string) =>
		cards.includes(card);
const PURPLE = among("OGRE", "BOMBER", "SABOTEUR", "SPY");
const SCHEME = among("VOLLEY", "CHARGE", "SKIRMISH", "GRAND_ASSAULT");

const lost = (now: Moment) => events(now, "destroyed").at(-1)?.what;
const score = (now: Moment) => now.view.result?.scores[now.me];

export const guide = guideOf({
	tips: {
		goal: { when: settingUp, anchor: ".fort.other" },
		card: { when: settingUp, anchor: ".hand .card" },
		setUp: { when: (now) => settingUp(now) && decides(now), anchor: ".setup" },
		turn: { when: myTurn, anchor: ".actions" },
		draw: { when: myTurn, anchor: ".boardhead .piles" },
		strengthen: {
			when: (now) => myTurn(now) && !gameOf(now).strengthened,
			anchor: ".fort.own",
		},
		cost: tipFor((card, now) => {
			const numbers = now.context.catalog.cards.get(card)?.numbers ?? [];
			return (numbersOf(card, numbers).cost?.value ?? 0) > 0;
		}),
		attack: { when: (now) => met(now).length > 0, anchor: ".told" },
		held: { when: happened("held"), anchor: ".told" },
		equal: {
			when: (now) => met(now).some(({ defence, strength }) => defence === strength),
			anchor: ".told",
		},
		through: {
			when: (now) => met(now).some(({ defence, strength }) => defence < strength),
			anchor: ".told",
		},
		fallen: {
			when: (now) =>
				gameOf(now).turn > 0 && gameOf(now).sides.some(({ gate }) => gate?.standing.length === 0),
			anchor: ".stack.razed",
		},
		scheme: tipFor(SCHEME),
		units: tipFor(among("GIANT", "MERCENARY")),
		permanent: tipFor(among("CATAPULT", "GRANARY")),
		purple: tipFor(PURPLE),
		digger: tipFor(among("DIGGER")),
		danger: tipFor(among("JESTER", "SUMMONER")),
		random: {
			when: (now) =>
				events(now, "discarded").some(
					({ what }) => what.reason === CastleRampageDiscardReason.RANDOM,
				),
			anchor: ".told",
		},
		shown: { when: happened("handShown"), anchor: ".told" },
		looked: { when: happened("looked"), anchor: ".told" },
		veteran: { when: happened("returned"), anchor: ".told" },
		hand: { when: (now) => gameOf(now).turn >= 3 && myTurn(now), anchor: ".hand" },
		shuffled: {
			when: (now) => {
				const started = now.events.findIndex(
					({ event }) =>
						event.case === "castleRampage" &&
						(event.value as CastleRampageEvent).event.case === "turnStarted",
				);
				return started >= 0 && happened("shuffled")({ ...now, events: now.events.slice(started) });
			},
			anchor: ".boardhead .piles",
		},
		limit: { when: (now) => gameOf(now).turn >= 8, anchor: ".boardhead" },
		end: { when: () => false, anchor: ".told" },
	},
	words: {
		en: {
			goal: "Both sides guard a Gate and a Castle, two stacks of face-down cards. Whoever destroys the last card of the other Castle wins at once.",
			card: "The circle is the strength of its attack. Below: on the left how well the card defends in a Gate, on the right in a Castle. Small cards in the corner are what it costs to play.",
			setUp:
				"Twice you share out five cards: two go under the Gate, two under the Castle, one stays in your hand. The top card is attacked first. Choose by the numbers below: left for a Gate, right for a Castle.",
			turn: "Your turn. Click a card: the bar says what it does, and whether you can play it. Play as many cards as you can pay for, in any order, then end your turn.",
			draw: "A turn begins with drawing 2 cards, but only 1 in the very first turn of the match. Both sides draw from the same pile. A hand has no limit.",
			strengthen:
				"Once a turn you may put a card of your hand under your Gate or your Castle, face down. What it does and what it costs does not matter then.",
			cost: "The small cards in the corner are its cost: to play it, you also discard so many other cards of your hand. You choose which.",
			attack: (now) => {
				const { card, defence, strength } = met(now)[0]!;
				return `An attack turns over the top card of the Gate, or of the Castle if no Gate stands, and compares: strength ${strength} against ${defence} of ${title(now, card)}.`;
			},
			held: "The defence was higher: the attacker is destroyed, and the defender goes back on top, face down. But now both sides know what lies there: the eye marks it.",
			equal:
				"Strength and defence were equal: attacker and defender are both destroyed, and the attack is over.",
			through:
				"The defence was lower: the defender is destroyed, its defence is taken off the strength, and the next card is revealed. So a strong attack breaks through the Gate into the Castle.",
			fallen:
				"A Gate has fallen: attacks now go straight against the Castle behind it. Its owner can put cards under it again to raise it anew.",
			scheme:
				"A scheme is a strong attack. It costs units: you discard what its text says, such as a Knight and an Archer. One more unit of the second kind named adds the bonus.",
			units:
				"Where units are needed, a Giant stands for a Knight or an Axe Man, and a Mercenary for any one. A Mercenary also gets stronger for each of up to two cards that you discard with it.",
			permanent:
				"Catapult and Granary are permanent: they stay in play. Each Catapult makes your attacks stronger by 1; each Granary lets you draw 1 card more. A Saboteur can destroy them.",
			purple:
				"Purple cards strike back: destroyed in a wall, a Bomber takes the attacker along, a Saboteur costs two random cards, a Spy draws two. An Ogre under a wall costs you two cards.",
			digger: "The Digger attacks the Castle at once, even if the Gate still stands.",
			danger:
				"Careful: Jester and Summoner destroy the top card of your own Castle. If it was the last one, you may lose by it. If the Summoner empties both Castles, whoever played it loses.",
			random:
				"Cards of a hand were lost by chance. An Archer does that before it attacks, and a Saboteur when it is destroyed in a wall.",
			shown:
				"A Priest names a unit. The other side shows its whole hand, and discards every card that can stand for this unit. Remember what you saw.",
			looked:
				"A Spy looks at the top cards of both walls of the other side, and then draws a card. It does not attack.",
			veteran:
				"The Veteran was stopped by a higher defence, but it is not destroyed: it returns to the hand.",
			hand: "The other side counts your cards, but does not see them, nor what lies under your walls. Cards that were turned over or discarded are known. Hints use all of that.",
			shuffled:
				"The draw pile was empty, so the discard pile was shuffled and is the new draw pile.",
			limit:
				"A match of 200 turns is a draw, the only one in this game. So keep attacking: walls that only grow win nothing.",
			end: (now) => {
				const last = lost(now);
				if (score(now) === 1)
					return `The last card of the other Castle is destroyed${last ? ` (${title(now, last.card)})` : ""}. That decides the match, whatever else still stands.`;
				if (score(now) === 0)
					return `The last card of your Castle is destroyed${last ? ` (${title(now, last.card)})` : ""}. That decides the match. Next time, put good defenders under the Castle earlier.`;
				return "200 turns are over, and both Castles stand: a draw.";
			},
		},
		de: {
			goal: "Beide Seiten hüten ein Tor und eine Burg, zwei Stapel verdeckter Karten. Wer die letzte Karte der anderen Burg zerstört, gewinnt sofort.",
			card: "Der Kreis ist die Angriffsstärke. Unten steht links, wie gut die Karte im Tor verteidigt, und rechts, wie gut in der Burg. Kleine Karten in der Ecke zeigen, was sie kostet.",
			setUp:
				"Zweimal verteilst du fünf Karten: zwei unter das Tor, zwei unter die Burg, eine auf die Hand. Die oberste wird zuerst angegriffen. Entscheide nach den Zahlen unten: links für ein Tor, rechts für eine Burg.",
			turn: "Dein Zug. Klick eine Karte an: Unten steht, was sie tut und ob du sie spielen kannst. Spiel so viele Karten, wie du bezahlen kannst, und beende dann deinen Zug.",
			draw: "Ein Zug beginnt damit, 2 Karten zu ziehen, nur im allerersten Zug der Partie 1. Beide Seiten ziehen vom selben Stapel. Für die Hand gibt es keine Grenze.",
			strengthen:
				"Einmal im Zug darfst du eine Handkarte verdeckt unter dein Tor oder deine Burg legen. Was sie tut und was sie kostet, spielt dann keine Rolle.",
			cost: "Die kleinen Karten in der Ecke sind ihre Kosten: Um sie zu spielen, wirfst du so viele andere Handkarten ab. Welche, bestimmst du.",
			attack: (now) => {
				const { card, defence, strength } = met(now)[0]!;
				return `Ein Angriff deckt die oberste Karte des Tors auf, oder der Burg, wenn kein Tor steht, und vergleicht: Stärke ${strength} gegen ${defence} (${title(now, card)}).`;
			},
			held: "Die Verteidigung war höher: Der Angreifer wird zerstört, und der Verteidiger kommt verdeckt wieder obenauf. Aber jetzt wissen beide, was dort liegt: Das Auge zeigt es an.",
			equal:
				"Stärke und Verteidigung waren gleich: Angreifer und Verteidiger werden beide zerstört, und der Angriff ist vorbei.",
			through:
				"Die Verteidigung war niedriger: Der Verteidiger wird zerstört, sein Wert von der Stärke abgezogen und die nächste Karte aufgedeckt. So bricht ein starker Angriff durch das Tor bis in die Burg.",
			fallen:
				"Ein Tor ist gefallen: Angriffe treffen jetzt gleich die Burg dahinter. Wem es gehört, kann wieder Karten darunterlegen und es neu errichten.",
			scheme:
				"Ein Angriffsplan ist ein starker Angriff. Er kostet Einheiten: Du wirfst ab, was sein Text verlangt, etwa einen Ritter und einen Bogenschützen. Die Zusatzeinheit im Text gibt den Bonus.",
			units:
				"Wo Einheiten verlangt sind, steht ein Riese für einen Ritter oder Axtkämpfer, ein Söldner für jede. Ein Söldner wird auch stärker für jede von bis zu zwei Karten, die du mit ihm abwirfst.",
			permanent:
				"Katapult und Kornspeicher sind permanent: Sie bleiben im Spiel. Jedes Katapult macht deine Angriffe um 1 stärker, jeder Kornspeicher lässt dich 1 Karte mehr ziehen. Ein Saboteur kann sie zerstören.",
			purple:
				"Violette Karten schlagen zurück: In einer Mauer zerstört, reißt ein Bombenleger den Angreifer mit, ein Saboteur kostet zwei zufällige Karten, ein Spion zieht zwei. Ein Oger unter der Mauer kostet dich zwei Karten.",
			digger: "Der Tunnelgräber greift gleich die Burg an, auch wenn das Tor noch steht.",
			danger:
				"Vorsicht: Hofnarr und Beschwörer zerstören die oberste Karte deiner eigenen Burg. War es die letzte, kannst du dadurch verlieren. Leert der Beschwörer beide Burgen, verliert, wer ihn gespielt hat.",
			random:
				"Durch Zufall gingen Handkarten verloren. Das bewirkt ein Bogenschütze vor seinem Angriff und ein Saboteur, der in einer Mauer zerstört wird.",
			shown:
				"Ein Priester nennt eine Einheit. Die andere Seite zeigt ihre ganze Hand und wirft jede Karte ab, die als diese Einheit zählt. Merk dir, was du gesehen hast.",
			looked:
				"Ein Spion sieht sich die obersten Karten beider gegnerischer Bauwerke an und zieht dann eine Karte. Er greift nicht an.",
			veteran:
				"Der Veteran wurde von einer höheren Verteidigung aufgehalten, aber nicht zerstört: Er kehrt auf die Hand zurück.",
			hand: "Die andere Seite zählt deine Karten, sieht sie aber nicht, und auch nicht, was in deinen Mauern liegt. Aufgedecktes und Abgeworfenes ist bekannt. Die Tipps nutzen all das.",
			shuffled:
				"Der Nachziehstapel war leer, also wurde der Ablagestapel gemischt und ist jetzt der neue Nachziehstapel.",
			limit:
				"Nach 200 Zügen ist die Partie unentschieden, nur so endet dieses Spiel ohne Sieger. Greif also an: Mauern, die nur wachsen, gewinnen nichts.",
			end: (now) => {
				const last = lost(now);
				if (score(now) === 1)
					return `Die letzte Karte der anderen Burg ist zerstört${last ? ` (${title(now, last.card)})` : ""}. Das entscheidet die Partie, was auch immer sonst noch steht.`;
				if (score(now) === 0)
					return `Die letzte Karte deiner Burg ist zerstört${last ? ` (${title(now, last.card)})` : ""}. Das entscheidet die Partie. Leg beim nächsten Mal früher gute Verteidiger unter die Burg.`;
				return "200 Züge sind vorbei, und beide Burgen stehen: unentschieden.";
			},
		},
	},
	anatomy: [
		{
			is: ({ id }) => id === "DRAGON",
			parts: {
				attack: { at: ".attack circle", number: 2 },
				cost: { at: ".cost", number: 3 },
				gate: { at: ".walls rect:nth-of-type(1)", number: 0 },
				castle: { at: ".walls rect:nth-of-type(2)", number: 1 },
			},
		},
		{
			is: ({ id }) => id === "VOLLEY",
			parts: { bonus: { at: ".bonus rect", number: 3 }, family: { at: ".figure" } },
		},
	],
	parts: {
		en: {
			attack: "The strength of its attack.",
			cost: "So many other cards of your hand are discarded to play it.",
			gate: "How well it defends in a Gate.",
			castle: "How well it defends in a Castle.",
			bonus: "What an extra unit adds to the strength, as its text says.",
			family:
				"The colour is the kind, here a scheme. Purple cards strike back when they are destroyed in an attack.",
		},
		de: {
			attack: "Die Stärke ihres Angriffs.",
			cost: "So viele andere Handkarten wirfst du ab, um sie zu spielen.",
			gate: "So gut verteidigt sie in einem Tor.",
			castle: "So gut verteidigt sie in einer Burg.",
			bonus: "So viel stärker wird sie durch eine Zusatzeinheit, siehe ihren Text.",
			family:
				"Die Farbe zeigt die Art, hier ein Angriffsplan. Violette Karten schlagen zurück, wenn sie bei einem Angriff zerstört werden.",
		},
	},
	terms: {
		en: [
			["structure", "a Gate or a Castle"],
			["Schemes", "Volley, Charge, Skirmish and Grand Assault"],
			["units", "Knights, Archers and Axe Men, and what counts as one"],
			["Permanent cards", "Catapult and Granary"],
			["defence", "the number of the Gate or of the Castle on a card, wherever it lies"],
			["strength", "the attack of the card, with what adds to it"],
		],
		de: [
			["Bauwerk", "ein Tor oder eine Burg"],
			["Pläne", "Pfeilhagel, Sturmlauf, Scharmützel und Großangriff"],
			["Einheiten", "Ritter, Bogenschützen und Axtkämpfer, und was als solche zählt"],
			["Permanente Karten", "Katapult und Kornspeicher"],
			["Verteidigung", "die Zahl für Tor oder Burg auf einer Karte, je nachdem, wo sie liegt"],
			["Angriffsstärke", "der Angriff der Karte mit allem, was dazukommt"],
		],
	},
});
