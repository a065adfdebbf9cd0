// Every generated name that the web app uses, so that a renamed message or enum is one line here.

export {
	type CastleRampageAction,
	CastleRampageCard,
	CastleRampageDiscardReason,
	type CastleRampageEvent,
	CastleRampageKnown,
	CastleRampagePhase,
	type CastleRampageSide,
	type CastleRampageStack,
	CastleRampageStructure,
	CastleRampageUnit,
	type CastleRampageView,
} from "../gen/croupier/v1/castle_rampage_pb";
export { type Card as CatalogCard, CatalogService, type Game } from "../gen/croupier/v1/catalog_pb";
export {
	type ChampionChessAction,
	ChampionChessCard,
	type ChampionChessEvent,
	ChampionChessPhase,
	type ChampionChessSide,
	type ChampionChessView,
} from "../gen/croupier/v1/champion_chess_pb";
export { type Clocks, ExpiryPolicy, type TimeControl } from "../gen/croupier/v1/clock_pb";
export {
	EndReason,
	type MatchAction as Action,
	type MatchEvent as Event,
	type MatchResult as Result,
	type Player,
	type Ruleset,
	RulesetSchema,
	type View,
	ViewSchema,
} from "../gen/croupier/v1/game_pb";
export {
	type ActionEvaluation,
	type CardBelief,
	HiddenPlace,
	type Hint,
	HintService,
	StopReason,
} from "../gen/croupier/v1/hint_pb";
export {
	BotStrength,
	type CreateMatchResponse,
	type MatchRecord,
	MatchRecordSchema,
	MatchService,
	type RecordEntry,
	SeatConfigSchema,
	type WatchMatchResponse,
} from "../gen/croupier/v1/match_pb";
export {
	type PowerShotSoccerAction,
	type PowerShotSoccerEvent,
	PowerShotSoccerOutcome,
	PowerShotSoccerPhase,
	PowerShotSoccerRole,
	type PowerShotSoccerView,
} from "../gen/croupier/v1/powershot_soccer_pb";
export {
	type SkystonesAction,
	SkystonesElement,
	type SkystonesEvent,
	SkystonesField,
	SkystonesPhase,
	type SkystonesView,
} from "../gen/croupier/v1/skystones_pb";
