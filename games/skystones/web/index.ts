// Skystones: a board, hidden hands, and a limit on what a hand may weigh.
import type { Action, View } from "@app/api/types";
import { type Context, cardKey, cardOf, type GameModule, titleOf } from "@app/games/module";
import {
	type SkystonesAction,
	type SkystonesEvent,
	SkystonesPhase,
	type SkystonesView,
} from "@app/gen/croupier/v1/skystones_pb";
import { t } from "@app/i18n";
import { fieldName, SkyBoard, SkyCard, squareName, totalOf } from "./board";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as SkystonesView;
const sizeOf = (view: View) => Math.round(Math.sqrt(gameOf(view).board.length)) || 3;

const title = (context: Context, card: number) => titleOf(context, `${card}`);

export const game: GameModule = {
	id: "skystones",
	options: [
		{
			name: "specialFields",
			label: () => say().optionSpecialFields,
			note: () => say().optionSpecialFieldsNote,
			kind: "number",
			value: 0,
			min: 0,
			max: 9,
		},
	],
	Board: SkyBoard,
	Card: SkyCard,
	choices: (view) =>
		view.legalActions.map((action) => {
			const { action: decision } = action.game.value as SkystonesAction;
			if (decision.case === "pickCard")
				return { action, stages: [[cardKey(`${decision.value.card}`)]] };
			const place = decision.value as { card: number; square: number };
			return { action, stages: [[cardKey(`${place.card}`)], [`square:${place.square}`]] };
		}),
	hand: (view) => {
		const game = gameOf(view);
		const hand = { title: t().yourHand, cards: game.hand.map(String) };
		// The last board is all that is left to be seen in the end.
		if (view.result) return [];
		if (game.phase !== SkystonesPhase.PICK) return [hand];
		const pile = { title: say().pile, cards: game.pile.map(String) };
		return game.hand.length > 0 ? [hand, pile] : [pile];
	},
	series: (view, context) => {
		const game = gameOf(view);
		if (game.phase !== SkystonesPhase.PICK) return undefined;
		const { hand, limit } = sizes(view);
		const size = hand - game.hand.length;
		return {
			size,
			// As the server has it: the cheapest of the other cards must be able to complete the hand.
			allows: (chosen, key) => {
				const picked = [...chosen, key].map(cardOf);
				const rest = game.pile.map(String);
				for (const card of picked) rest.splice(rest.indexOf(card), 1);
				const missing = rest
					.map((card) => pointsOf(context, [card]))
					.sort((a, b) => a - b)
					.slice(0, Math.max(0, size - picked.length));
				const sum = pointsOf(context, [...game.hand.map(String), ...picked]);
				return missing.reduce((total, each) => total + each, sum) <= limit;
			},
			confirm: say().takeHand,
			sending: say().sending,
			stopped: say().stopped,
		};
	},
	why: (card, clicks, context) => {
		const game = gameOf(context.view);
		if (game.phase !== SkystonesPhase.PICK) return say().noSquare;
		const { hand, limit } = sizes(context.view);
		return game.hand.length + clicks.length >= hand
			? say().handFull
			: say().tooHeavy(pointsOf(context, [card]), hand, limit);
	},
	prompt: (view, clicks, context) => {
		const game = gameOf(view);
		if (game.phase !== SkystonesPhase.PICK)
			return clicks.length > 0 ? say().chooseSquare : say().placeCard;
		const { hand, limit } = sizes(view);
		const picked = [...game.hand.map(String), ...clicks.map(({ key }) => cardOf(key))];
		return say().pickHand(picked.length, hand, pointsOf(context, picked), limit);
	},
	button: () => undefined,
	confirm: describe,
	atOnce: (clicks) => clicks.at(-1)?.key.startsWith("square:") ?? false,
	describeAction: describe,
	describeEvent: (event, context) => {
		const { event: what } = event.event.value as SkystonesEvent;
		const named = (square: number) => squareName(square, sizeOf(context.view));
		switch (what.case) {
			case "dealt": {
				const { seat, count } = what.value;
				return { seat, text: seat === undefined ? say().aside : say().dealt(count) };
			}
			case "fieldLaid": {
				const { square, field } = what.value;
				return { text: say().field(named(square), fieldName(context.catalog, field)) };
			}
			case "roundStarted":
				return { seat: what.value.starter, text: say().roundStarted(what.value.round) };
			case "picked": {
				const { seat, card } = what.value;
				return { seat, text: say().picked(card === undefined ? t().aCard : title(context, card)) };
			}
			case "placed": {
				const { seat, card, square, taken } = what.value;
				const text = say().placed(title(context, card), named(square));
				return { seat, text: taken.length > 0 ? text + say().taking(taken.length) : text };
			}
			case "passed":
				return { seat: what.value.seat, text: say().passed };
			case "roundEnded": {
				const { winner, chips } = what.value;
				if (winner === undefined) return { text: say().roundTied, strong: true };
				const [own = 0, others = 0] = winner === 0 ? chips : [chips[1], chips[0]];
				return { seat: winner, text: say().roundWon(own, others), strong: true };
			}
			default:
				return undefined;
		}
	},
	pace: (event) => {
		const what = (event.event.value as SkystonesEvent).event;
		if (what.case === "placed") return what.value.taken.length > 0 ? 900 : 700;
		return what.case === "roundEnded" ? 1800 : 0;
	},
	score: (view, seat) => ({
		value: `${gameOf(view).sides[seat]?.points ?? 0}`,
		label: say().points,
	}),
	handSize: (view, seat) => gameOf(view).sides[seat]?.handSize ?? 0,
	blurb: () => say().blurb,
	deal,
	guide: () => import("./guide").then(({ guide }) => guide),
};

function describe(action: Action, context: Context): string {
	const { action: decision } = action.game.value as SkystonesAction;
	if (decision.case === undefined) return "";
	const card = title(context, decision.value.card);
	if (decision.case === "pickCard") return say().pick(card);
	return say().place(card, squareName(decision.value.square, sizeOf(context.view)));
}

/** How many cards a hand has, and how many points they may have together. */
function sizes(view: View) {
	const ruleset = view.ruleset?.game.case === "skystones" ? view.ruleset.game.value : undefined;
	return { hand: ruleset?.handSize ?? 5, limit: ruleset?.handLimit ?? 20 };
}

const pointsOf = (context: Context, cards: readonly string[]) =>
	cards.reduce((sum, card) => sum + totalOf(context.catalog.cards.get(card)!), 0);
