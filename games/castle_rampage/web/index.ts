// Castle Rampage: hidden walls, and a hand of attackers.
import type { Action, View } from "@app/api/types";
import { type Context, cardKey, type GameModule, titleOf, titlesOf } from "@app/games/module";
import {
	type CastleRampageAction,
	type CastleRampageCard,
	CastleRampageDiscardReason,
	type CastleRampageEvent,
	CastleRampagePhase,
	CastleRampageStructure,
	type CastleRampageView,
} from "@app/gen/croupier/v1/castle_rampage_pb";
import { t } from "@app/i18n";
import { CastleBoard, idOf, structureName } from "./board";
import { CastleCard, numbersOf, SCHEMES } from "./card";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as CastleRampageView;
const title = (context: Context, card: CastleRampageCard) =>
	card ? titleOf(context, idOf(card)) : t().aCard;
const titles = (context: Context, cards: readonly CastleRampageCard[]) =>
	cards.length === 0 ? say().noCards : titlesOf(context, cards.map(idOf));
const keys = (cards: readonly CastleRampageCard[]) => cards.map((card) => cardKey(idOf(card)));

export const game: GameModule = {
	id: "castle_rampage",
	options: [
		{
			name: "setUps",
			label: () => say().optionSetUps,
			note: () => say().optionSetUpsNote,
			kind: "number",
			value: 2,
			min: 1,
			max: 2,
		},
	],
	Board: CastleBoard,
	Card: CastleCard,
	seatColours: ["red", "blue"],
	choices: (view) =>
		view.legalActions.map((action) => {
			const { action: decision } = action.game.value as CastleRampageAction;
			switch (decision.case) {
				case "setUp": {
					const { gate, castle } = decision.value;
					// The fifth card is the one that is left.
					return { action, stages: keys([...gate, ...castle]).map((key) => [key]) };
				}
				case "strengthen": {
					const { card, structure, discards } = decision.value;
					const to = structure === CastleRampageStructure.GATE ? "to:gate" : "to:castle";
					return { action, stages: [keys([card]), [to], keys(discards)] };
				}
				case "play": {
					const { card, discards, choice } = decision.value;
					const last =
						choice.case === "unit"
							? [`unit:${choice.value}`]
							: choice.case === "permanent"
								? [`permanent:${choice.value}`]
								: [];
					return { action, stages: [keys([card]), ["do:play"], keys(discards), last] };
				}
				default:
					return { action, stages: [["do:end"]] };
			}
		}),
	hand: (view) => [{ title: t().yourHand, cards: gameOf(view).hand.map(idOf) }],
	why: (card, clicks, context) => {
		const game = gameOf(context.view);
		if (game.phase === CastleRampagePhase.SET_UP) return undefined;
		if (clicks.length > 0) return say().notForThat;
		const others = game.hand.length - 1;
		const { cost } = numbersOf(card, context.catalog.cards.get(card)?.numbers ?? []);
		const reason =
			(cost?.value ?? 0) > others
				? say().tooDear(cost!.value, others)
				: SCHEMES.includes(card)
					? say().unitsMissing
					: card === "SABOTEUR"
						? say().noTarget
						: say().notNow;
		return game.strengthened ? `${reason} ${say().strengthenedToo}` : reason;
	},
	prompt: (view, clicks) => {
		const game = gameOf(view);
		if (game.phase === CastleRampagePhase.SET_UP)
			return clicks.length === 0
				? (say().prompts[1] ?? "")
				: (say().slotPrompts[clicks.length] ?? "");
		if (clicks.length === 1) return say().whereTo;
		if (clicks.length > 1) return say().payWith;
		return game.strengthened
			? `${say().prompts[2]} (${say().strengthened})`
			: (say().prompts[2] ?? "");
	},
	button: (key, _clicks, context) => {
		if (key === "do:play") return { label: say().play, primary: true };
		if (key === "do:end") return { label: say().endTurn };
		if (key === "to:gate") return { label: say().toGate };
		if (key === "to:castle") return { label: say().toCastle };
		if (key.startsWith("unit:")) return { label: say().units[Number(key.slice(5))] ?? key };
		if (key.startsWith("permanent:"))
			return { label: title(context, Number(key.slice("permanent:".length))) };
		return undefined;
	},
	confirm: (action, context) => {
		const decision = action.game.value as CastleRampageAction;
		// Which card goes where is to be seen in the places.
		if (decision.action.case === "setUp") return say().shareOut;
		return `${t().confirm}: ${describe(action, context)}`;
	},
	atOnce: (clicks) => !(clicks.at(-1)?.key.startsWith("card:") ?? true),
	describeAction: describe,
	describeEvent: (event, context) => {
		const { seat, event: what } = event.event.value as CastleRampageEvent;
		const words = say();
		const name = (card: CastleRampageCard) => title(context, card);
		switch (what.case) {
			case "shuffled":
				return { text: words.shuffled(what.value.count) };
			case "drawn": {
				const { cards, count } = what.value;
				return { seat, text: t().drew(titlesOf(context, cards.map(idOf), count)) };
			}
			case "cardsSetUp":
				return { seat, text: words.didSetUp };
			case "turnStarted":
				return { seat, text: words.turnStarted(what.value.turn) };
			case "strengthened": {
				const { card, structure } = what.value;
				return { seat, text: words.putUnder(name(card), structureName(structure)) };
			}
			case "played": {
				const card = name(what.value.card);
				const { choice } = what.value;
				if (choice.case === "unit")
					return { seat, text: words.named(card, words.units[choice.value] ?? "") };
				if (choice.case === "permanent")
					return { seat, text: words.against(card, name(choice.value)) };
				const extra = choice.case === "extra" && choice.value;
				return { seat, text: extra ? words.playedExtra(card) : t().played(card) };
			}
			case "discarded": {
				const cards = titles(context, what.value.cards);
				const texts: Record<number, string> = {
					[CastleRampageDiscardReason.PAYMENT]: words.paid(cards),
					[CastleRampageDiscardReason.RANDOM]: words.lostRandom(cards),
					[CastleRampageDiscardReason.PRIEST]: words.lostPriest(cards),
				};
				return { seat, text: texts[what.value.reason] ?? t().discarded(cards) };
			}
			case "revealed": {
				const { structure, card, defence, strength } = what.value;
				const text = words.revealed(name(card), structureName(structure), defence, strength);
				return { seat, text };
			}
			case "held": {
				const { card, structure } = what.value;
				return { seat, text: words.held(name(card), structureName(structure)) };
			}
			case "destroyed": {
				const { card, structure } = what.value;
				const text = structure
					? words.destroyedIn(name(card), structureName(structure))
					: words.destroyed(name(card));
				return { seat, text, strong: true };
			}
			case "returned":
				return { seat, text: words.returned(name(what.value.card)) };
			case "looked": {
				const { gate, castle } = what.value;
				if (!castle) return { seat, text: words.looked };
				return { seat, text: words.lookedAt(gate ? name(gate) : t().nothing, name(castle)) };
			}
			case "handShown":
				return { seat, text: words.handShown(titles(context, what.value.cards)) };
			case "starterDrawn":
				return { seat, text: words.starterDrawn };
			case "turnCut":
				return { seat, text: words.turnCut };
			default:
				return undefined;
		}
	},
	pace: (event) => {
		const what = (event.event.value as CastleRampageEvent).event.case;
		return what === "revealed" ? 1100 : what === "played" ? 800 : what === "strengthened" ? 450 : 0;
	},
	score: () => undefined,
	handSize: (view, seat) => gameOf(view).sides[seat]?.handSize ?? 0,
	opened: (view, other) => {
		const sides = gameOf(view).sides.with(other.seat!, gameOf(other).sides[other.seat!]!);
		return { ...view, game: { case: "castleRampage", value: { ...gameOf(view), sides } } };
	},
	cover: ["ARCHER", "OGRE", "DRAGON", "CATAPULT", "GRAND_ASSAULT"],
	place: (name) =>
		name === "opponent_gate" || name === "opponent_castle" ? say()[name] : undefined,
	blurb: () => say().blurb,
	deal,
	guide: () => import("./guide").then(({ guide }) => guide),
};

function describe(action: Action, context: Context): string {
	const { action: decision } = action.game.value as CastleRampageAction;
	const words = say();
	const paying = (cards: readonly CastleRampageCard[]) =>
		cards.length > 0 ? ` (${words.payable(titles(context, cards))})` : "";
	switch (decision.case) {
		case "setUp": {
			const { gate, castle, keep } = decision.value;
			const names = (cards: readonly CastleRampageCard[]) =>
				cards.map((card) => title(context, card)).join(" / ");
			return `${words.gate}: ${names(gate)}; ${words.castle}: ${names(castle)}; ${words.slots[4]}: ${title(context, keep)}`;
		}
		case "strengthen": {
			const { card, structure, discards } = decision.value;
			return `${title(context, card)} → ${structureName(structure)}${paying(discards)}`;
		}
		case "play": {
			const { card, discards, choice } = decision.value;
			const named =
				choice.case === "unit"
					? `: ${words.units[choice.value]}`
					: choice.case === "permanent"
						? `: ${title(context, choice.value)}`
						: "";
			return `${title(context, card)}${named}${paying(discards)}`;
		}
		case "endTurn":
			return words.endTurn;
		default:
			return "";
	}
}
