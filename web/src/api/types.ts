// The generated names, but for what is particular to a game, which the folder of that game imports: a
// message or enum that is renamed, or that the web app calls otherwise, is one line here.
export { create } from "@bufbuild/protobuf";
export type { Card as CatalogCard } from "../gen/croupier/v1/catalog_pb";
export * from "../gen/croupier/v1/catalog_pb";
export * from "../gen/croupier/v1/clock_pb";
export * from "../gen/croupier/v1/game_pb";
export {
	type MatchAction as Action,
	MatchActionSchema as ActionSchema,
	type MatchEvent as Event,
	MatchEventSchema as EventSchema,
} from "../gen/croupier/v1/game_pb";
export * from "../gen/croupier/v1/hint_pb";
export * from "../gen/croupier/v1/match_pb";
export * from "../gen/croupier/v1/puzzle_pb";
export * from "../gen/croupier/v1/review_pb";
