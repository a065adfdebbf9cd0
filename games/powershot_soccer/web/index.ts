// PowerShot Soccer: one card at a time, attack and answer.

import type { View } from "@app/api/types";
import { type Context, cardKey, type GameModule } from "@app/games/module";
import { describeAction } from "@app/games/sentences";
import {
	type PowerShotSoccerAction,
	type PowerShotSoccerEvent,
	PowerShotSoccerOutcome,
	PowerShotSoccerPhase,
	PowerShotSoccerRole,
	type PowerShotSoccerView,
} from "@app/gen/croupier/v1/powershot_soccer_pb";
import { t } from "@app/i18n";
import { SoccerBoard } from "./board";
import { SoccerCard } from "./card";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as PowerShotSoccerView;
const role = (value: PowerShotSoccerRole) => PowerShotSoccerRole[value] ?? "";
/** What a role is called. */
const titleOfRole = ({ catalog }: Context, name: string) =>
	catalog.words.word(`value.role.${name.toLowerCase()}`);
const CHALLENGES = ["TACKLE", "INTERCEPT", "SAVE"];

/** The cards of the hand in the order in which players sort them: attack, shots, defence. */
const ORDER = [1, 3, 2, 4, 5, 6, 7, 8, 9, 10];

export const game: GameModule = {
	id: "powershot_soccer",
	options: [],
	Board: SoccerBoard,
	Card: SoccerCard,
	choices: (view) => {
		const plays = view.legalActions.map((action) => {
			const decision = (action.game.value as PowerShotSoccerAction).action;
			return { action, play: decision.value! };
		});
		return plays.map(({ action, play }) => {
			// Only where a card leaves a choice does the role have to be clicked.
			const alone = plays.filter((other) => other.play.card === play.card).length === 1;
			const stages = [[cardKey(`${play.card}`)], alone ? [] : [`role:${role(play.role)}`]];
			return { action, stages };
		});
	},
	hand: (view) => {
		const ruleset = view.ruleset?.game;
		const specs = ruleset?.case === "powershotSoccer" ? ruleset.value.cards : [];
		const place = (card: number) => ORDER.indexOf(specs[card]?.role ?? 0) * 100 + card;
		const hand = [...gameOf(view).hand].sort((a, b) => place(a) - place(b));
		return [{ title: t().yourHand, cards: hand.map(String) }];
	},
	mark: (card, context) => {
		const roles = rolesOf(context.view, card);
		const challenge = roles.find((each) => CHALLENGES.includes(each));
		if (challenge)
			return { glyph: challenge, label: say().challenges(titleOfRole(context, challenge)) };
		return roles.length === 1 && roles[0] === "GIVE_UP"
			? { glyph: "GIVE_UP", label: say().givesUp }
			: undefined;
	},
	prompt: (view) => {
		const { hand, phase } = gameOf(view);
		const challenging = hand.some((card) =>
			rolesOf(view, `${card}`).some((each) => CHALLENGES.includes(each)),
		);
		if (phase === PowerShotSoccerPhase.DEFEND)
			return challenging ? say().defend : say().defenceless;
		return say().attackNow;
	},
	button: (key, _clicks, context) =>
		key.startsWith("role:")
			? { label: `${say().playAs}: ${titleOfRole(context, key.slice("role:".length))}` }
			: undefined,
	confirm: (action, context) => `${t().confirm}: ${describeAction(action, context)}`,
	atOnce: (clicks) => clicks.at(-1)?.key.startsWith("role:") ?? false,
	strong: (event) => {
		const what = (event.event.value as PowerShotSoccerEvent).event;
		if (what.case === "exchangeDecided") return what.value.outcome === PowerShotSoccerOutcome.GOAL;
		return what.case === "halfStarted" || what.case === "halfEnded";
	},
	score: (view, seat) => ({
		value: `${gameOf(view).sides[seat]?.goals ?? 0}`,
		label: say().goals,
	}),
	handSize: (view, seat) => gameOf(view).sides[seat]?.handSize ?? 0,
	cover: ["7", "17", "27", "37", "47"],
	theme: (name) => say().themes[name],
	blurb: () => say().blurb,
	deal,
	guide: () => import("./guide").then(({ guide }) => guide),
};

/** As what a card may be played now. */
const rolesOf = (view: View, card: string) =>
	view.legalActions.flatMap((action) => {
		const play = (action.game.value as PowerShotSoccerAction).action.value;
		return `${play?.card}` === card ? [role(play!.role)] : [];
	});
