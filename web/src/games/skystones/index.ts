// Skystones: a board, hidden hands, and a limit on what a hand may weigh.
import {
	type SkystonesAction,
	type SkystonesEvent,
	SkystonesPhase,
	type SkystonesView,
	type View,
} from "../../api/types";
import { t } from "../../i18n";
import { type Context, cardKey, type GameModule, titleOf } from "../module";
import { SkyBoard, squareName } from "./board";
import { SkyCard, totalOf } from "./card";

const gameOf = (view: View) => view.game.value as SkystonesView;
const sizeOf = (view: View) => Math.round(Math.sqrt(gameOf(view).board.length)) || 3;

function title(context: Context, card: number | undefined) {
	return card === undefined ? t().faceDown : titleOf(context, `${card}`);
}

export const skystones: GameModule = {
	id: "skystones",
	options: [
		{
			name: "specialFields",
			label: () => t().optionSpecialFields,
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
		const hand = { title: t().yourHand, cards: game.hand.map(String), note: undefined };
		if (game.phase !== SkystonesPhase.PICK) return [hand];
		return [hand, { title: t().sky.pile, cards: game.pile.map(String) }];
	},
	prompt: (view, clicks, context) => {
		const game = gameOf(view);
		if (game.phase === SkystonesPhase.PICK) {
			const sum = game.hand.reduce(
				(total, card) => total + totalOf(context.catalog.cards.get(`${card}`)!),
				0,
			);
			return `${t().sky.prompts[1]} ${t().sky.handTotal(sum, handLimit(view))}`;
		}
		return clicks.length > 0 ? t().sky.chooseSquare : (t().sky.prompts[2] ?? "");
	},
	button: () => undefined,
	confirm: (action, context) => describe(action.game.value as SkystonesAction, context),
	atOnce: (clicks) => clicks.at(-1)?.key.startsWith("square:") ?? false,
	describeAction: (action, context) => describe(action.game.value as SkystonesAction, context),
	describeEvent: (event, context) => {
		const { event: what } = event.event.value as SkystonesEvent;
		const size = sizeOf(context.view);
		switch (what.case) {
			case "dealt":
				return what.value.seat === undefined
					? { text: t().sky.aside }
					: { seat: what.value.seat, text: t().sky.dealt(what.value.count) };
			case "fieldLaid":
				return {
					text: t().sky.field(
						squareName(what.value.square, size),
						t().sky.fields[what.value.field] ?? "",
					),
				};
			case "roundStarted":
				return {
					seat: what.value.starter,
					text: t().sky.roundStarted(what.value.round),
				};
			case "picked":
				return {
					seat: what.value.seat,
					text:
						what.value.card === undefined
							? t().sky.pickedHidden
							: t().sky.picked(title(context, what.value.card)),
				};
			case "placed": {
				const text = t().sky.placed(
					title(context, what.value.card),
					squareName(what.value.square, size),
				);
				const taken = what.value.taken.length;
				return { seat: what.value.seat, text: taken > 0 ? text + t().sky.taking(taken) : text };
			}
			case "passed":
				return { seat: what.value.seat, text: t().sky.passed };
			case "roundEnded": {
				const { winner, chips } = what.value;
				if (winner === undefined) return { text: t().sky.roundTied, strong: true };
				return {
					seat: winner,
					text: t().sky.roundWon(chips[winner] ?? 0, chips[1 - winner] ?? 0),
					strong: true,
				};
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
		label: t().sky.points,
	}),
	handSize: (view, seat) => gameOf(view).sides[seat]?.handSize ?? 0,
	hidden: (view) => gameOf(view).unseen.map(String),
};

function describe({ action }: SkystonesAction, context: Context): string {
	if (action.case === "pickCard") return t().sky.pick(title(context, action.value.card));
	if (action.case === "placeCard")
		return t().sky.place(
			title(context, action.value.card),
			squareName(action.value.square, sizeOf(context.view)),
		);
	return "";
}

const handLimit = (view: View) => {
	const ruleset = view.ruleset?.game;
	return (ruleset?.case === "skystones" ? ruleset.value.handLimit : undefined) ?? 20;
};
