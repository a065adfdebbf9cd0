// Skystones: a board, hidden hands, and a limit on what a hand may weigh.

import type { View } from "@app/api/types";
import { type Context, cardKey, cardOf, type GameModule } from "@app/games/module";
import { describeAction } from "@app/games/sentences";
import {
	type SkystonesAction,
	type SkystonesEvent,
	SkystonesPhase,
	type SkystonesView,
} from "@app/gen/croupier/v1/skystones_pb";
import { t } from "@app/i18n";
import { SkyBoard, squareName } from "./board";
import { SkyCard, totalOf } from "./card";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as SkystonesView;

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
			keyOf: (action) => {
				const decision = (action.game.value as SkystonesAction).action;
				return cardKey(`${decision.value?.card}`);
			},
			waiting: say().waiting,
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
	confirm: describeAction,
	atOnce: (clicks) => clicks.at(-1)?.key.startsWith("square:") ?? false,
	strong: (event) => (event.event.value as SkystonesEvent).event.case === "roundEnded",
	// The phrases name the squares of the usual board.
	phrases: ({ game }) => {
		const size = game.case === "skystones" ? (game.value.boardSize ?? 3) : 3;
		const squares = Array.from({ length: size < 3 ? size ** 2 : 0 }, (_, n) => n);
		return Object.fromEntries(
			["square", "taken"].flatMap((field) =>
				squares.map((n) => [`value.${field}.${n}`, squareName(n, size)]),
			),
		);
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

/** How many cards a hand has, and how many points they may have together. */
function sizes(view: View) {
	const ruleset = view.ruleset?.game.case === "skystones" ? view.ruleset.game.value : undefined;
	return { hand: ruleset?.handSize ?? 5, limit: ruleset?.handLimit ?? 20 };
}

const pointsOf = (context: Context, cards: readonly string[]) =>
	cards.reduce((sum, card) => sum + totalOf(context.catalog.cards.get(card)!), 0);
