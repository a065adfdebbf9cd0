// A client for browsers and Node: the stubs, and what every client needs besides them.
export { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
export { describe, explain, type Refusal } from "./errors.js";
export * from "./gen/croupier/v1/castle_rampage_pb.js";
export * from "./gen/croupier/v1/catalog_pb.js";
export * from "./gen/croupier/v1/champion_chess_pb.js";
export * from "./gen/croupier/v1/clock_pb.js";
export * from "./gen/croupier/v1/error_pb.js";
export * from "./gen/croupier/v1/game_pb.js";
export * from "./gen/croupier/v1/hint_pb.js";
export * from "./gen/croupier/v1/match_pb.js";
export * from "./gen/croupier/v1/powershot_soccer_pb.js";
export * from "./gen/croupier/v1/puzzle_pb.js";
export * from "./gen/croupier/v1/review_pb.js";
export * from "./gen/croupier/v1/skystones_pb.js";
export { readPackaged, registryOf } from "./messages.js";
export { mayPass, Patience, persistent, type RetryOptions } from "./retry.js";
export { type Access, authorize, type WatchOptions, watchMatch } from "./watch.js";
