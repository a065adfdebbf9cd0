// Every generated name that the web app uses, so that a renamed message or enum is one line here.
// What is particular to a game is imported by the folder of that game.
export { create } from "@bufbuild/protobuf";

export { type Card as CatalogCard, CatalogService, type Game } from "../gen/croupier/v1/catalog_pb";
export { ExpiryPolicy, type TimeControl } from "../gen/croupier/v1/clock_pb";
export {
	type Ending,
	EndReason,
	HintPolicy,
	type MatchAction as Action,
	MatchActionSchema as ActionSchema,
	type MatchEvent as Event,
	MatchEventSchema as EventSchema,
	type MatchResult as Result,
	type Player,
	PlayerSchema,
	type Ruleset,
	RulesetSchema,
	type View,
	ViewSchema,
} from "../gen/croupier/v1/game_pb";
export {
	type ActionEvaluation,
	type CardBelief,
	type Hint,
	HintService,
	StopReason,
} from "../gen/croupier/v1/hint_pb";
export {
	BotStrength,
	type GetInvitationResponse,
	InvitationState,
	type MatchRecord,
	MatchRecordSchema,
	MatchService,
	type RematchOffer,
	RematchState,
	SeatConfigSchema,
	type SeatToken,
	type WatchMatchResponse,
} from "../gen/croupier/v1/match_pb";
export { type Puzzle, PuzzleService, type SolvePuzzleResponse } from "../gen/croupier/v1/puzzle_pb";
export {
	type ChanceOutcome,
	type DecisionReview,
	DecisionReviewSchema,
	type MatchReview,
	MatchReviewSchema,
	type RevealedCard,
	type ReviewProgress,
	ReviewService,
	Verdict,
} from "../gen/croupier/v1/review_pb";
