// A game that nobody wrote a drawing for: everything follows from what the catalog says of it.

import { create, type Message, toBinary } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { bytesToHex } from "../../api/hex";
import { type Action, type Game, RulesetSchema, type View } from "../../api/types";
import { t } from "../../i18n";
import type { Choice } from "../choices";
import {
	type BoardProps,
	cardKey,
	cardOf,
	type GameModule,
	type LobbyOption,
	rulesetOf,
} from "../module";
import {
	BOOL,
	boundsOf,
	chosen,
	fieldOf,
	inner,
	isInteger,
	isList,
	type Schema,
	scalarOf,
	schemaOf,
} from "../schema";
import { describeAction } from "../sentences";
import { Words } from "../words";
import { AnyBoard } from "./board";
import { AnyCard } from "./card";
import { figureOf, HELD, type Layout, layoutOf, SCORE } from "./layout";
import "./style.css";

const ACT = "act:"; // Before what tells an action from all others.
const NOWHERE: Layout = { hand: [], sides: [[], []], middle: [] };

/** Draws a game by its schema; undefined if it has none that can be read. */
export function anyGame(game: Game): GameModule | undefined {
	const schema = schemaOf(game);
	return schema && draw(game, schema);
}

function draw(game: Game, schema: Schema): GameModule {
	const words = new Words(game);
	const id = game.name.replace("games/", "");
	const layouts = new WeakMap<View, Layout>();
	const layout = (view: View): Layout => {
		const known = layouts.get(view);
		if (known) return known;
		const message = inner(schema, schema.view, view.game);
		const made = message ? layoutOf(words, message, view.seat) : NOWHERE;
		layouts.set(view, made);
		return made;
	};
	const stateOf = (view: View) => inner(schema, schema.view, view.game);
	const decisionOf = (action: Action) => inner(schema, schema.action, action.game);
	const keyOf = (action: Action) =>
		ACT + bytesToHex(toBinary(schema.action, decisionOf(action)!.message as Message));
	return {
		id,
		options: optionsOf(game, schema, words),
		ruleset: (options) => rulesetWith(game, schema, id, options),
		Board: (props: BoardProps) => <AnyBoard {...props} layout={layout(props.view)} />,
		Card: AnyCard,
		choices: (view) => choicesOf(view, words, decisionOf, keyOf),
		hand: (view) => layout(view).hand,
		prompt: (view, clicks) => {
			if (clicks.length > 0) return t().chooseOn;
			const cards = view.legalActions.some((action) => cardsIn(words, decisionOf(action)).length);
			return cards ? t().chooseCard : t().chooseAction;
		},
		button: (key, _clicks, context) => {
			const { view } = context;
			if (key.startsWith(ACT)) {
				const action = view.legalActions.find((each) => keyOf(each) === key);
				return action && { label: describeAction(action, context) };
			}
			return isShown(layout(view), cardOf(key)) ? undefined : { label: words.titleOf(cardOf(key)) };
		},
		confirm: describeAction,
		atOnce: (clicks) => clicks.length === 1 || (clicks.at(-1)?.key.startsWith(ACT) ?? false),
		score: (view, seat) => figureOf(stateOf(view), seat, SCORE, words),
		handSize: (view, seat) => {
			const state = stateOf(view);
			const figure = figureOf(state, seat, HELD, words);
			if (figure) return Number(figure.value);
			const field = state?.fields.find((each) => HELD.test(each.name) && !isList(each));
			return state && field && seat !== view.seat ? Number(state.get(field)) : undefined;
		},
		read: (outer) => {
			if ("event" in outer) return inner(schema, schema.event, outer.event)?.message;
			const desc = "legalActions" in outer ? schema.view : schema.action;
			return inner(schema, desc, outer.game)?.message;
		},
	};
}

/** The cards that a decision names, in stages: the cards of a list in any order. */
function cardsIn(words: Words, decision: ReflectMessage | undefined): string[][] {
	const what = decision && chosen(decision);
	const message = what?.message ?? decision;
	if (!message) return [];
	return message.fields
		.filter((field) => words.holdsCards(field))
		.map((field) => words.cardsOf(message, field))
		.filter((cards) => cards.length > 0);
}

/** The legal actions by their cards; what these leave open is decided by buttons. */
function choicesOf(
	view: View,
	words: Words,
	decisionOf: (action: Action) => ReflectMessage | undefined,
	keyOf: (action: Action) => string,
): Choice[] {
	const choices = view.legalActions.map((action) => {
		const decision = decisionOf(action);
		const kind = decision ? (chosen(decision)?.field.name ?? "") : "";
		return { action, kind, stages: cardsIn(words, decision).map((cards) => cards.map(cardKey)) };
	});
	const withCards = new Set(
		choices.filter((each) => each.stages.length > 0).map((each) => each.kind),
	);
	// To choose no card of several is completed by its button, as to choose some is.
	const takesCards = choices.filter((each) => withCards.has(each.kind));
	const equal = new Map<string, number>();
	for (const { stages } of takesCards) {
		const cards = JSON.stringify(stages);
		equal.set(cards, (equal.get(cards) ?? 0) + 1);
	}
	return choices.map(({ action, kind, stages }) => {
		const plain = withCards.has(kind) && equal.get(JSON.stringify(stages)) === 1;
		return { action, stages: plain ? stages : [...stages, [keyOf(action)]] };
	});
}

function isShown(layout: Layout, card: string): boolean {
	const open = [...layout.sides.flat(), ...layout.middle];
	return (
		layout.hand.some((group) => group.cards.includes(card)) ||
		open.some((item) => item.kind === "cards" && item.cards.some((each) => each.card === card))
	);
}

/** The flags and the whole numbers of the ruleset. */
function optionsOf(game: Game, schema: Schema, words: Words): LobbyOption[] {
	const standard = game.defaultRuleset && inner(schema, schema.ruleset, game.defaultRuleset.game);
	if (!standard) return [];
	return standard.fields.flatMap((field): LobbyOption[] => {
		const { name } = field;
		const label = () => words.label("ruleset", name);
		// A game hides an option, such as one for tests, by an empty phrase.
		if (field.fieldKind !== "scalar" || words.game.phrases[`ruleset.${name}`] === "") return [];
		const value = standard.get(field);
		if (scalarOf(field) === BOOL) return [{ name, label, kind: "boolean", value: Boolean(value) }];
		if (!isInteger(field)) return [];
		return [{ name, label, kind: "number", value: Number(value), ...boundsOf(schema, field) }];
	});
}

/** The ruleset with what differs from the game's own; all else is left to the server. */
function rulesetWith(
	game: Game,
	schema: Schema,
	id: string,
	options: Record<string, number | boolean>,
) {
	const standard = game.defaultRuleset && inner(schema, schema.ruleset, game.defaultRuleset.game);
	const made = reflect(schema.ruleset, create(schema.ruleset), false);
	for (const [name, value] of Object.entries(options)) {
		const field = fieldOf(made, name);
		if (field?.fieldKind !== "scalar") continue;
		const before = standard?.get(field);
		if (typeof value === "boolean" ? value === Boolean(before) : value === Number(before)) continue;
		made.set(field, typeof before === "bigint" ? BigInt(value) : value);
	}
	if (!schema.registry) return rulesetOf(id, made.message as Message);
	const packaged = anyPack(schema.ruleset, made.message as Message);
	return create(RulesetSchema, { game: { case: "packaged", value: packaged } });
}
