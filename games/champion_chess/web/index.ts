// Champion Chess: champions and aid, chosen in secret by both at the same time.
import type { Action, View } from "@app/api/types";
import { type Context, cardKey, type GameModule, titleOf, titlesOf } from "@app/games/module";
import {
	type ChampionChessAction,
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessView,
} from "@app/gen/croupier/v1/champion_chess_pb";
import { t } from "@app/i18n";
import { ChessBoard, ChessCard, idOf, isNoble } from "./board";
import { deal } from "./deal";
import { say } from "./texts";
import "./style.css";

const gameOf = (view: View) => view.game.value as ChampionChessView;
const titles = (context: Context, cards: readonly ChampionChessCard[], count = 0) =>
	titlesOf(context, cards.map(idOf), count);

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
		return `${t().confirm}: ${describe(action, context)}`;
	},
	atOnce: (clicks) => clicks.at(-1)?.key.startsWith("do:") ?? false,
	describeAction: describe,
	describeEvent: (event, context) => {
		const { seat, event: what } = event.event.value as ChampionChessEvent;
		const words = say();
		switch (what.case) {
			case "drawn":
				return { seat, text: t().drew(titles(context, what.value.cards, what.value.count)) };
			case "shuffled":
				return { seat, text: what.value.fromReserve ? words.shuffledReserve : words.shuffled };
			case "mulligan":
				return { seat, text: words.mulligan(titles(context, what.value.cards)) };
			case "championRevealed": {
				const card = titleOf(context, idOf(what.value.champion));
				return { seat, text: what.value.castled ? words.castled(card) : words.sends(card) };
			}
			case "aidRevealed": {
				const { cards } = what.value;
				const text = cards.length > 0 ? words.aided(titles(context, cards)) : words.aidedNone;
				return { seat, text };
			}
			case "challengeDecided": {
				const { champion, won, movement, attack, defend } = what.value;
				const text = (won ? words.wins : words.falls)(titleOf(context, idOf(champion)));
				return { seat, text: `${text} (${movement} / ${attack} / ${defend})`, strong: true };
			}
			case "discarded": {
				const { cards } = what.value;
				const text = cards.length > 0 ? t().discarded(titles(context, cards)) : words.discardedNone;
				return { seat, text };
			}
			default:
				return undefined;
		}
	},
	pace: (event) => {
		const what = (event.event.value as ChampionChessEvent).event.case;
		return what === "challengeDecided" ? 900 : what === "championRevealed" ? 500 : 0;
	},
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

function describe(action: Action, context: Context): string {
	const decision = (action.game.value as ChampionChessAction).action;
	if (decision.case === undefined) return "";
	if (decision.case === "playChampion") {
		const card = titleOf(context, idOf(decision.value.noble));
		return decision.value.castle ? `${card}: ${say().castle}` : card;
	}
	const cards = decision.value.cards.length > 0 && titles(context, decision.value.cards);
	if (decision.case === "playAid") return cards || say().noAid;
	return cards ? `${say().discard}: ${cards}` : say().keepAll;
}
