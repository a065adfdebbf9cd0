// Champion Chess: champions and aid, chosen in secret by both at the same time.

import type { View } from "@app/api/types";
import { cardKey, type GameModule } from "@app/games/module";
import { describeAction } from "@app/games/sentences";
import {
	type ChampionChessAction,
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessView,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { t } from "@app/i18n";
import { ChessBoard, idOf } from "./board";
import { ChessCard, isNoble } from "./card";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as ChampionChessView;

export const game: GameModule = {
	id: "champion_chess",
	options: [
		{
			name: "castling",
			label: () => say().optionCastling,
			note: () => say().optionCastlingNote,
			kind: "boolean",
			value: true,
		},
	],
	Board: ChessBoard,
	Card: ChessCard,
	seatColours: ["white", "black"],
	choices: (view) => {
		const decisions = view.legalActions.map((action) => ({
			action,
			decision: (action.game.value as ChampionChessAction).action,
		}));
		const canCastle = decisions.some(
			({ decision }) => decision.case === "playChampion" && decision.value.castle,
		);
		return decisions.map(({ action, decision }) => {
			if (decision.case === "playChampion") {
				const king = decision.value.noble === ChampionChessCard.KING;
				const way = king && canCastle ? [decision.value.castle ? "do:castle" : "do:stay"] : [];
				return { action, stages: [[cardKey(idOf(decision.value.noble))], way] };
			}
			const cards = decision.value?.cards ?? [];
			return { action, stages: [cards.map((card) => cardKey(idOf(card)))] };
		});
	},
	hand: (view) => [{ title: t().yourHand, cards: gameOf(view).hand.map(idOf) }],
	why: (card, _clicks, { view }) => {
		if (gameOf(view).phase === ChampionChessPhase.CHAMPION) return say().onlyNobles;
		return isNoble(card) ? say().onlyAid : say().onlyOnce;
	},
	prompt: (view) => say().prompts[gameOf(view).phase] ?? "",
	button: (key) => {
		if (key === "do:castle") return { label: say().castle, primary: true };
		if (key === "do:stay") return { label: say().stay };
		return undefined;
	},
	confirm: (action, context) => {
		const decision = (action.game.value as ChampionChessAction).action;
		const none = decision.case !== "playChampion" && decision.value?.cards.length === 0;
		if (decision.case === "playAid") return none ? say().noAid : say().aid;
		if (decision.case === "discardToReserve") return none ? say().keepAll : say().discard;
		return `${t().confirm}: ${describeAction(action, context)}`;
	},
	atOnce: (clicks) => clicks.at(-1)?.key.startsWith("do:") ?? false,
	strong: (event) => (event.event.value as ChampionChessEvent).event.case === "challengeDecided",
	score: (view, seat) => ({
		value: `${gameOf(view).sides[1 - seat]?.defeated.filter((card) => card <= ChampionChessCard.KNIGHT).length ?? 0}`,
		label: say().nobles,
	}),
	handSize: (view, seat) => gameOf(view).sides[seat]?.handSize ?? 0,
	cover: ["KNIGHT", "SWORD", "KING", "SHIELD", "QUEEN"],
	blurb: () => say().blurb,
	deal,
	guide: () => import("./guide").then(({ guide }) => guide),
};
