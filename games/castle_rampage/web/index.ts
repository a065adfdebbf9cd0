// Castle Rampage: hidden walls, and a hand of attackers.

import type { View } from "@app/api/types";
import { cardKey, type GameModule, titleOf } from "@app/games/module";
import { describeAction } from "@app/games/sentences";
import {
	type CastleRampageAction,
	type CastleRampageCard,
	type CastleRampageEvent,
	CastleRampagePhase,
	CastleRampageStructure,
	CastleRampageUnit,
	type CastleRampageView,
} from "@app/gen/croupier/v1/castle_rampage_pb";
import { t } from "@app/i18n";
import { CastleBoard, idOf } from "./board";
import { CastleCard, numbersOf, SCHEMES } from "./card";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as CastleRampageView;
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
		// The card that is asked about may have left the hand meanwhile.
		const others = Math.max(0, game.hand.length - 1);
		const { cost } = numbersOf(card, context.catalog.cards.get(card)?.numbers ?? []);
		const reason =
			cost && cost.value > others
				? say().tooDear(cost.value, others)
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
		if (key === "do:end") return { label: context.catalog.words.word("action.end_turn") };
		if (key === "to:gate") return { label: say().toGate };
		if (key === "to:castle") return { label: say().toCastle };
		if (key.startsWith("unit:")) {
			const unit = CastleRampageUnit[Number(key.slice(5))] ?? "";
			return { label: context.catalog.words.word(`value.unit.${unit.toLowerCase()}`) };
		}
		if (key.startsWith("permanent:"))
			return { label: titleOf(context, idOf(Number(key.slice("permanent:".length)))) };
		return undefined;
	},
	confirm: (action, context) => {
		const decision = action.game.value as CastleRampageAction;
		// Which card goes where is to be seen in the places.
		if (decision.action.case === "setUp") return say().shareOut;
		return `${t().confirm}: ${describeAction(action, context)}`;
	},
	atOnce: (clicks) => !(clicks.at(-1)?.key.startsWith("card:") ?? true),
	strong: (event) => (event.event.value as CastleRampageEvent).event.case === "destroyed",
	score: () => undefined,
	handSize: (view, seat) => gameOf(view).sides[seat]?.handSize ?? 0,
	opened: (view, other) => {
		const sides = gameOf(view).sides.with(other.seat!, gameOf(other).sides[other.seat!]!);
		return { ...view, game: { case: "castleRampage", value: { ...gameOf(view), sides } } };
	},
	cover: ["ARCHER", "OGRE", "DRAGON", "CATAPULT", "GRAND_ASSAULT"],
	blurb: () => say().blurb,
	deal,
	guide: () => import("./guide").then(({ guide }) => guide),
};
