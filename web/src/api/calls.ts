// The calls of the web app, and nothing else of the transport. Tokens travel in a header only.

import { create } from "@bufbuild/protobuf";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import {
	type Action,
	type BotStrength,
	CatalogService,
	ExpiryPolicy,
	HintPolicy,
	HintService,
	MatchService,
	type OfferKind,
	PuzzleService,
	type ReplayMatchResponse,
	ReviewService,
	type Ruleset,
	SeatConfigSchema,
	type View,
	ViewSchema,
} from "./types";

const CALL_TIMEOUT_MS = 20_000;
const COMPARED_BY = 5000; // Iterations.
const NO_TIMEOUT = 0; // A stream goes on for as long as it is wanted.

const transport = createConnectTransport({
	defaultTimeoutMs: CALL_TIMEOUT_MS,
	baseUrl: new URL(".", document.baseURI).href.replace(/\/$/, ""),
	useBinaryFormat: true,
});
const catalog = createClient(CatalogService, transport);
const matches = createClient(MatchService, transport);
const hints = createClient(HintService, transport);
const reviews = createClient(ReviewService, transport);
const puzzles = createClient(PuzzleService, transport);

/** What a call needs to speak for a seat or a spectator of a match. */
export interface Access {
	match: string;
	token: string;
}

/** Who shall sit opposite: a bot, or whoever gets the invitation. */
export type Opponent = { kind: "bot"; strength: BotStrength } | { kind: "friend"; hints: boolean };

/** A clock, in seconds. */
export interface ClockChoice {
	perMatch?: number;
	increment?: number;
	perDecision?: number;
}

export interface NewMatch {
	ruleset: Ruleset;
	opponent: Opponent;
	seat: 0 | 1;
	clock?: ClockChoice;
	/** The name by which the other player sees who created the match; may be empty. */
	displayName: string;
	requestId: string;
	from?: Moment;
}

/** A moment to play on from: of a match that is over, by a token of it, or that of a puzzle. */
export interface Moment {
	source: { case: "matchToken" | "puzzleName"; value: string };
	version: bigint;
}

const as = ({ token }: Access, signal?: AbortSignal, timeoutMs?: number): CallOptions => ({
	headers: { authorization: `Bearer ${token}` },
	signal,
	timeoutMs,
});

const seconds = (value?: number) =>
	value === undefined
		? undefined
		: { seconds: BigInt(Math.floor(value)), nanos: Math.round((value % 1) * 1e9) };

export const listGames = async (language: string) =>
	(await catalog.listGames({ languageCode: language })).games;

export const getGame = async (game: string, language: string) =>
	(await catalog.getGame({ name: `games/${game}`, languageCode: language })).game!;

export async function createMatch(wish: NewMatch) {
	const mine = create(SeatConfigSchema, {
		occupant: { case: "open", value: {} },
		displayName: wish.displayName,
	});
	const theirs = create(SeatConfigSchema, {
		occupant:
			wish.opponent.kind === "bot"
				? { case: "bot", value: { strength: wish.opponent.strength } }
				: { case: "invited", value: {} },
	});
	const { clock, opponent } = wish;
	return matches.createMatch({
		ruleset: wish.ruleset,
		seats: wish.seat === 0 ? [mine, theirs] : [theirs, mine],
		timeControl: clock && {
			perMatch: seconds(clock.perMatch),
			increment: seconds(clock.increment),
			perDecision: seconds(clock.perDecision),
			onExpiry: ExpiryPolicy.FORFEIT,
		},
		requestId: wish.requestId,
		hintPolicy:
			opponent.kind === "friend"
				? opponent.hints
					? HintPolicy.ALLOWED
					: HintPolicy.AFTER_END
				: undefined,
		startFrom: wish.from && { source: wish.from.source, version: wish.from.version },
	});
}

/** What an invitation is for. It changes nothing, and needs no token. */
export const getInvitation = (invitation: string, signal?: AbortSignal) =>
	matches.getInvitation({ invitation }, { signal });

export const joinMatch = (invitation: string, displayName: string, requestId: string) =>
	matches.joinMatch({ invitation, displayName, requestId });

export const getView = (access: Access, signal?: AbortSignal, timeoutMs = CALL_TIMEOUT_MS) =>
	matches.getView({ name: access.match }, as(access, signal, timeoutMs));

/** What a list of matches shows of one: whose turn it is, how far it is, and how it ended. */
export async function getSummary(access: Access & { game: string }, signal?: AbortSignal) {
	const { game } = access;
	// A game of a package tells its scores in no field.
	const own = ViewSchema.fields.some(({ name }) => name === game) ? [game] : [];
	const paths = ["version", "deciders", "result", "players", "seat", ...own].map(
		(field) => `view.${field}`,
	);
	return matches.getView(
		{ name: access.match, readMask: { paths: [...paths, "rematch"] } },
		as(access, signal),
	);
}

export async function submitAction(
	access: Access,
	expectedVersion: bigint,
	action: Action,
	requestId: string,
	etag: string,
	thenActions: Action[] = [],
) {
	const response = await matches.submitAction(
		{ name: access.match, expectedVersion, action, requestId, etag, thenActions },
		as(access),
	);
	return response.view!;
}

/** Takes back what the server keeps until it is due. */
export const cancelDecisionsAhead = async (access: Access) =>
	(await matches.cancelDecisionsAhead({ name: access.match }, as(access))).view!;

/** How often a stream proves that it lives, in milliseconds. */
export const HEARTBEAT_MS = 10_000;

/** Follows a match, also after its end until it is known what becomes of a rematch. */
export function watchMatch(
	access: Access,
	afterVersion: bigint | undefined,
	etag: string,
	hidePresence: boolean,
	signal: AbortSignal,
) {
	return matches.watchMatch(
		{
			hidePresence,
			name: access.match,
			afterVersion,
			etag,
			heartbeatInterval: seconds(HEARTBEAT_MS / 1000),
			followRematch: true,
		},
		as(access, signal, NO_TIMEOUT),
	);
}

export const resignMatch = (access: Access) =>
	matches.resignMatch({ name: access.match }, as(access));

export const makeOffer = (access: Access, kind: OfferKind) =>
	matches.makeOffer({ name: access.match, kind }, as(access));

export const answerOffer = (access: Access, offerVersion: bigint, agree: boolean, etag: string) =>
	matches.answerOffer({ name: access.match, offerVersion, agree, etag }, as(access));

export const resumeMatch = (access: Access) =>
	matches.resumeMatch({ name: access.match }, as(access));

export const rematch = (access: Access) => matches.rematch({ name: access.match }, as(access));

/** Declines the rematch that the other seat has offered, or takes back an own offer. */
export const declineRematch = (access: Access) =>
	matches.declineRematch({ name: access.match }, as(access));

export const getRecord = async (access: Access) =>
	(await matches.getRecord({ name: access.match }, as(access))).record!;

/** Searches from what the seat knows now; reports every 150 ms for `time` seconds. */
export function analyze(access: Access, time: number, signal: AbortSignal) {
	return hints.analyzePosition(
		{
			search: {
				position: { case: "matchName", value: access.match },
				effort: { case: "limits", value: { time: seconds(time) } },
			},
			reportInterval: seconds(0.15),
		},
		as(access, signal, NO_TIMEOUT),
	);
}

/** Estimates the hidden cards from so many worlds, with next to no search. */
export async function estimate(access: Access, worlds: number, signal: AbortSignal) {
	const response = await hints.suggestAction(
		{
			search: {
				position: { case: "matchName", value: access.match },
				effort: { case: "limits", value: { iterations: 1 } },
				beliefWorlds: worlds,
			},
		},
		as(access, signal),
	);
	return response.hint!;
}

/** Judges a match that is over, decision by decision; or only says what that would take. */
export function reviewMatch(access: Access, planOnly: boolean, signal: AbortSignal) {
	return reviews.reviewMatch(
		{ source: { case: "matchName", value: access.match }, validateOnly: planOnly },
		as(access, signal, planOnly ? undefined : NO_TIMEOUT),
	);
}

/** The views of both seats at each version of a match that is over. */
export async function replayMatch(access: Access) {
	const source = { case: "matchName", value: access.match } as const;
	const versions: ReplayMatchResponse[] = [];
	for await (const each of reviews.replayMatch({ source }, as(access, undefined, NO_TIMEOUT)))
		versions.push(each);
	return versions;
}

/** What a seat knew in a version of a match that is over, with its legal actions. */
export async function viewAt(access: Access, version: bigint, seat: number, signal: AbortSignal) {
	const source = { case: "matchName", value: access.match } as const;
	const afterVersion = version > 0n ? version - 1n : undefined;
	const asked = { source, afterVersion, seats: [seat], legalActions: true };
	for await (const { views } of reviews.replayMatch(asked, as(access, signal, NO_TIMEOUT)))
		return views[0]!; // The stream would go on to the end of the match.
	throw new Error("The match has no such version.");
}

/** What decisions of both seats would have led to after a version of a match, as one seat sees it. */
export async function tryActions(
	access: Access,
	afterVersion: bigint,
	triedActions: { seat: number; action: Action }[],
	seat: number,
	signal: AbortSignal,
) {
	const source = { case: "matchName", value: access.match } as const;
	const steps: ReplayMatchResponse[] = [];
	const asked = { source, afterVersion, triedActions, seats: [seat] };
	for await (const each of reviews.replayMatch(asked, as(access, signal))) steps.push(each);
	return steps;
}

/** Compares some actions from what a view tells. */
export async function compareActions(view: View, includeActions: Action[], signal: AbortSignal) {
	const effort = { case: "limits", value: { iterations: COMPARED_BY } } as const;
	const position = { case: "view", value: view } as const;
	const { hint } = await hints.suggestAction(
		{ search: { position, effort, includeActions } },
		{ signal },
	);
	return hint!;
}

/** All puzzles of a game, without what is to be seen in them. */
export const listPuzzles = async (game: string) =>
	(await puzzles.listPuzzles({ parent: `games/${game}`, pageSize: 1000 })).puzzles;

/** What the seat of a puzzle sees. */
export const getPuzzle = async (name: string, signal: AbortSignal) =>
	(await puzzles.getPuzzle({ name }, { signal })).puzzle!.view!;

/** Whether an action is the answer, and what is. */
export const solvePuzzle = (name: string, action: Action) => puzzles.solvePuzzle({ name, action });
