// The lesson of PowerShot Soccer, and how its cards are read, in English and German.

import { decides, guideOf, happenings } from "@app/games/lesson";
import { type Moment, rulesetOf, titleOf } from "@app/games/module";
import {
	type PowerShotSoccerAction,
	type PowerShotSoccerEvent,
	PowerShotSoccerOutcome,
	PowerShotSoccerPhase,
	PowerShotSoccerRole,
	type PowerShotSoccerRuleset,
	type PowerShotSoccerView,
} from "@app/gen/croupier/v1/powershot_soccer_pb";
import { roleOf } from "./card";

const gameOf = (now: Moment) => now.view.game.value as PowerShotSoccerView;
const attacking = (now: Moment) =>
	gameOf(now).phase === PowerShotSoccerPhase.ATTACK && decides(now);
const defending = (now: Moment) =>
	gameOf(now).phase === PowerShotSoccerPhase.DEFEND && decides(now);
const opening = (now: Moment) => gameOf(now).half === 1 && gameOf(now).plays.length <= 4;

const events = happenings<PowerShotSoccerEvent>();
const exchanges = (now: Moment) => events(now, "exchangeDecided").map(({ what }) => what);
const came = (outcome: PowerShotSoccerOutcome) => (now: Moment) =>
	exchanges(now).some((each) => each.outcome === outcome);

/** Whether a legal action plays a card in a role. */
const may = (now: Moment, role: PowerShotSoccerRole) =>
	now.view.legalActions.some(
		({ game }) => (game.value as PowerShotSoccerAction).action.value?.role === role,
	);
const open = (now: Moment) => gameOf(now).plays.at(-1);
const openTitle = (now: Moment) => titleOf(now.context, `${open(now)?.card}`);
const held = (now: Moment, ...roles: string[]) =>
	gameOf(now).hand.find((card) => roles.includes(roleOf(now.context.catalog, `${card}`)));
const inHand =
	(...roles: string[]) =>
	(now: Moment) =>
		`.hand [data-key='card:${held(now, ...roles)}']`;
const left = (now: Moment) => Math.min(...gameOf(now).sides.map((side) => side.drawPileSize));
const goals = (now: Moment) => {
	const of = (seat: number) => gameOf(now).sides[seat]?.goals ?? 0;
	return [of(now.me), of(1 - now.me)] as const;
};

/** The power of the cards of the lesson, which make half a deck: the halves are shorter. */
const POWERS: Partial<Record<PowerShotSoccerRole, number[]>> = {
	[PowerShotSoccerRole.PASS]: [2, 4, 5, 7],
	[PowerShotSoccerRole.DRIBBLE]: [3, 4, 6, 7],
	[PowerShotSoccerRole.CROSS]: [4],
	[PowerShotSoccerRole.FANCY_FOOTWORK]: [6],
	[PowerShotSoccerRole.SHOOT]: [3, 5, 6, 7],
	[PowerShotSoccerRole.LONG_RANGE_SHOT]: [5],
	[PowerShotSoccerRole.TACKLE]: [2, 4, 6, 8],
	[PowerShotSoccerRole.INTERCEPT]: [2, 4, 5, 8],
	[PowerShotSoccerRole.SAVE]: [3, 5, 6, 8],
	[PowerShotSoccerRole.STAR_PLAYER]: [8],
};

export const guide = guideOf({
	ruleset: (standard) => {
		const { cards } = standard.game.value as PowerShotSoccerRuleset;
		const kept = cards.filter(({ role, power }) => POWERS[role]?.includes(power));
		return rulesetOf("powershot_soccer", {
			cards: kept.map(({ role, power }) => ({ role, power, copies: 1 })),
		});
	},
	tips: {
		goal: { when: opening, anchor: ".pitch" },
		card: { when: opening, anchor: ".hand .card" },
		kickOff: { when: opening, anchor: ".attackpanel" },
		shot: {
			when: (now) => attacking(now) && may(now, PowerShotSoccerRole.SHOOT),
			anchor: inHand("SHOOT", "LONG_RANGE_SHOT", "STAR_PLAYER"),
		},
		save: {
			when: (now) => defending(now) && open(now)?.role === PowerShotSoccerRole.SHOOT,
			anchor: ".attackpanel",
		},
		attack: { when: (now) => attacking(now) && gameOf(now).standing === 0, anchor: ".hand" },
		defend: {
			when: (now) => defending(now) && open(now)?.role !== PowerShotSoccerRole.SHOOT,
			anchor: ".attackpanel",
		},
		decline: { when: defending, anchor: ".hand" },
		stands: { when: (now) => gameOf(now).standing > 0, anchor: ".attackpanel" },
		bonus: { when: (now) => attacking(now) && gameOf(now).standing >= 2, anchor: ".attackpanel" },
		special: {
			when: (now) => held(now, "CROSS", "FANCY_FOOTWORK") !== undefined,
			anchor: inHand("CROSS", "FANCY_FOOTWORK"),
		},
		star: { when: (now) => held(now, "STAR_PLAYER") !== undefined, anchor: inHand("STAR_PLAYER") },
		lost: { when: came(PowerShotSoccerOutcome.LOST), anchor: ".attackpanel" },
		repelled: { when: came(PowerShotSoccerOutcome.REPELLED), anchor: ".attackpanel" },
		goalScored: { when: came(PowerShotSoccerOutcome.GOAL), anchor: ".player.near .score" },
		powerShot: { when: (now) => exchanges(now).some(({ power }) => power > 8), anchor: ".pitch" },
		giveUp: {
			when: (now) => attacking(now) && may(now, PowerShotSoccerRole.GIVE_UP),
			anchor: ".hand",
		},
		half: { when: (now) => left(now) <= 6, anchor: ".boardhead .piles" },
		second: { when: (now) => gameOf(now).half === 2, anchor: ".boardhead" },
		end: { when: () => false, anchor: ".player.near .score" },
	},
	words: {
		en: {
			goal: "More goals in two halves win. You always hold 11 cards: you play one, draw one at once, and so does the other side. In this lesson the decks are half as large, so the halves are shorter.",
			card: "The large number is the card's power. Green cards keep the ball, orange ones shoot, blue ones defend, and the golden Star Player does almost anything.",
			kickOff: (now) =>
				`For the kick-off each side showed a random card, and the higher power begins: ${gameOf(now).firstKickOff === now.me ? "you have" : "the other side has"} the ball. The second half belongs to the other one.`,
			shot: "Enough cards stand: you may shoot. A Shoot needs two standing cards, a Long Range Shot one. Choose a shot, and the table shows its total.",
			save: (now) =>
				`A shot: ${openTitle(now)}. Only a Save helps. One above the total of the shot wins the ball. An equal one stops the shot, but the attacker keeps the ball for a new attack.`,
			attack:
				"You have the ball. Play a green card: a Pass or Cross, a Dribble or Fancy Footwork. The other side answers. If it is not beaten, the card stands, and you can go on.",
			defend: (now) =>
				`They played ${openTitle(now)}. An Intercept challenges a Pass or Cross, a Tackle a Dribble or Fancy Footwork. With more power than their card you win the ball.`,
			decline:
				"You must answer with some card. One that cannot challenge lets the ball pass: a chance to get rid of what you do not need, for you draw a new card at once.",
			stands:
				"The card was not beaten: it stands. The ball moves towards the goal with each standing card. They are what a shot needs.",
			bonus:
				"A shot gets +2 for each standing card beyond those that it needs, and +2 if a Cross or Fancy Footwork came just before it. A total above 8 is a PowerShot, which no Save can stop.",
			special:
				"The sign +2: a Cross is a Pass, and Fancy Footwork a Dribble, but a shot right after it gets +2. Play it last before you shoot.",
			star: "The Star Player has power 8, and you say what it is: Pass, Dribble, Shoot, Tackle, Intercept or Save. Played as a Pass or Dribble, it gives no extra +2.",
			lost: "A challenge with more power wins the ball. Then all cards on the table are discarded, and the other side begins an attack of its own.",
			repelled:
				"Equal power: the attacker keeps the ball, but must begin a new attack. All cards that stood are discarded.",
			goalScored:
				"Goal! Whatever is not saved goes in. All cards on the table are discarded, and the side that got the goal against it has the ball.",
			powerShot:
				"A total above 8 is a PowerShot: no Save can stop it. The defender still plays a card and draws. Extra standing cards and a Cross get you there.",
			giveUp:
				"If you play a card that can neither keep the ball nor shoot now, you give up the ball. That costs the attack, but gets rid of cards that you do not need.",
			half: "The draw piles run low. The half ends at once when a side has drawn its last card. Only a shot is still answered. So hurry, or play for time.",
			second:
				"The second half: both sides shuffle all their cards and draw new hands. The side kicks off that did not kick off the first half.",
			end: (now) => {
				const [mine, theirs] = goals(now);
				const result =
					mine > theirs
						? "You win"
						: mine < theirs
							? "The other side wins"
							: "Equal goals are a draw";
				return `The second half is over, because a draw pile is empty. Goals: you ${mine}, the other side ${theirs}. ${result}.`;
			},
		},
		de: {
			goal: "Mehr Tore in zwei Halbzeiten gewinnen. Du hast immer 11 Karten: Du spielst eine und ziehst sofort eine nach, die andere Seite ebenso. In dieser Lektion sind die Decks nur halb so groß, also die Halbzeiten kürzer.",
			card: "Die große Zahl ist die Stärke der Karte. Grüne Karten halten den Ball, orange schießen, blaue wehren ab, und der goldene Starspieler kann fast alles.",
			kickOff: (now) =>
				`Für den Anstoß hat jede Seite eine zufällige Karte gezeigt, und die höhere Stärke beginnt: ${gameOf(now).firstKickOff === now.me ? "Du hast" : "Die andere Seite hat"} den Ball. Die zweite Halbzeit beginnt die andere.`,
			shot: "Es stehen genug Karten: Du darfst schießen. Ein Schuss braucht zwei stehende Karten, ein Fernschuss eine. Wähle einen Schuss, und der Tisch zeigt seine Summe.",
			save: (now) =>
				`Ein Schuss: ${openTitle(now)}. Nur eine Parade hilft. Ist sie höher als die Summe des Schusses, gewinnst du den Ball. Ist sie gleich, hält sie ihn, aber der Angreifer behält den Ball für einen neuen Angriff.`,
			attack:
				"Du hast den Ball. Spiel eine grüne Karte: Pass oder Flanke, Dribbling oder Trick. Die andere Seite antwortet. Wird die Karte nicht geschlagen, bleibt sie stehen, und du machst weiter.",
			defend: (now) =>
				`Gespielt wurde: ${openTitle(now)}. Abfangen hilft gegen Pass und Flanke, eine Grätsche gegen Dribbling und Trick. Mit mehr Stärke als die Karte gewinnst du den Ball.`,
			decline:
				"Du musst mit irgendeiner Karte antworten. Eine, die nicht passt, lässt den Ball durch. So wirst du los, was du nicht brauchst, denn du ziehst sofort eine neue Karte.",
			stands:
				"Die Karte wurde nicht geschlagen: Sie bleibt stehen. Mit jeder stehenden Karte rückt der Ball vor. Ein Schuss braucht stehende Karten.",
			bonus:
				"Ein Schuss erhält +2 für jede stehende Karte, die er nicht braucht, und +2 gleich nach einer Flanke oder einem Trick. Eine Summe über 8 ist ein PowerShot, den keine Parade hält.",
			special:
				"Das Zeichen +2: Eine Flanke ist ein Pass und ein Trick ein Dribbling, aber ein Schuss unmittelbar danach erhält +2. Spiel sie als Letztes vor dem Schuss.",
			star: "Der Starspieler hat Stärke 8, und du sagst, was er ist: Pass, Dribbling, Schuss, Grätsche, Abfangen oder Parade. Als Pass oder Dribbling gibt er kein zusätzliches +2.",
			lost: "Wer mit mehr Stärke abwehrt, gewinnt den Ball. Alle Karten auf dem Tisch werden abgelegt, und die andere Seite beginnt ihren eigenen Angriff.",
			repelled:
				"Gleiche Stärke: Der Angreifer behält den Ball, muss aber einen neuen Angriff beginnen. Alle Karten, die standen, werden abgelegt.",
			goalScored:
				"Tor! Was nicht gehalten wird, ist drin. Alle Karten auf dem Tisch werden abgelegt, und wer das Tor bekommen hat, hat den Ball.",
			powerShot:
				"Eine Summe über 8 ist ein PowerShot: Keine Parade hält ihn. Wer verteidigt, spielt trotzdem eine Karte und zieht nach. Mehr stehende Karten und eine Flanke bringen dich dorthin.",
			giveUp:
				"Spielst du eine Karte, die weder den Ball hält noch jetzt schießen darf, gibst du den Ball ab. Das kostet den Angriff, aber du wirst los, was du nicht brauchst.",
			half: "Die Nachziehstapel gehen zur Neige. Die Halbzeit endet sofort, wenn eine Seite ihre letzte Karte zieht. Nur ein Schuss wird noch beantwortet. Beeil dich, oder spiel auf Zeit.",
			second:
				"Die zweite Halbzeit: Beide mischen alle ihre Karten und ziehen neue Hände. Anstoß hat die Seite, die ihn in der ersten nicht hatte.",
			end: (now) => {
				const [mine, theirs] = goals(now);
				const result =
					mine > theirs
						? "Du gewinnst"
						: mine < theirs
							? "Die andere Seite gewinnt"
							: "Gleich viele Tore sind ein Unentschieden";
				return `Die zweite Halbzeit ist vorbei, weil ein Nachziehstapel leer ist. Tore: du ${mine}, die andere Seite ${theirs}. ${result}.`;
			},
		},
	},
	anatomy: [
		{
			is: ({ id }, catalog) => roleOf(catalog, id) === "CROSS",
			parts: {
				power: { at: ".power", number: 0 },
				bonus: { at: ".bonus" },
				role: { at: ".role" },
				colour: { at: ".band" },
			},
		},
	],
	parts: {
		en: {
			power: "What challenges are compared by.",
			bonus: "A shot right after it gets +2.",
			role: "The sign of its role, here a Cross, which is a kind of Pass.",
			colour: "Green: keeps the ball. Orange: shoots. Blue: defends. Gold: any of these.",
		},
		de: {
			power: "Sie wird verglichen, wenn abgewehrt wird.",
			bonus: "Ein Schuss unmittelbar danach erhält +2.",
			role: "Das Zeichen der Rolle, hier eine Flanke, die ein Pass ist.",
			colour: "Grün: hält den Ball. Orange: schießt. Blau: wehrt ab. Gold: alles davon.",
		},
	},
	terms: {
		en: [
			["in possession", "having the ball, and so attacking", "possession"],
			["stands", "not to be beaten, and to count for this attack", "to stand"],
			["possession cards", "the green ones: Pass, Dribble, Cross and Fancy Footwork"],
			["power", "the large number on a card"],
			["PowerShot", "a shot whose total, with all +2, is above 8"],
			["draw pile", "the face-down rest of a side's deck"],
		],
		de: [
			["Ballbesitz", "wer den Ball hat und deshalb angreift"],
			["Stärke", "die große Zahl auf einer Karte"],
			[
				"bleibt die Karte stehen",
				"nicht geschlagen werden und für diesen Angriff zählen",
				"stehen bleiben",
			],
			["Ballbesitzkarten", "die grünen: Pass, Dribbling, Flanke und Trick"],
			["PowerShot", "ein Schuss, dessen Summe mit allen +2 über 8 liegt"],
			["Nachziehstapels", "der verdeckte Rest des Decks einer Seite", "Nachziehstapel"],
		],
	},
});
