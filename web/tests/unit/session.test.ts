import { create } from "@bufbuild/protobuf";
import { expect, it, vi } from "vitest";
import { ActionSchema, type View, ViewSchema } from "../../src/api/types";

const view = (version: bigint): View => create(ViewSchema, { version });
const response = (version: bigint) => ({ version, view: view(version), events: [] });
class LostVersion extends Error {}

// However long a busy machine takes: the limit of every test ends it.
const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 3_600_000 });
let watched = 0;
let comeLater = () => {};
const later = new Promise<void>((resolve) => {
	comeLater = resolve;
});
let loseDecision = () => {};
const decisionLost = new Promise<void>((resolve) => {
	loseDecision = resolve;
});

vi.mock("../../src/api/calls", () => ({
	HEARTBEAT_MS: 1000,
	getView: async (seat: { match: string }) => ({
		view: view(seat.match === "restored" && watched ? 2n : 4n),
	}),
	submitAction: async () => view(5n),
	watchMatch: async function* (seat: { match: string }, after?: bigint) {
		if (seat.match === "restored") {
			if (after !== undefined) throw new LostVersion();
			yield response(watched++ ? 2n : 4n);
			if (watched > 1) await new Promise(() => undefined);
			throw new LostVersion();
		}
		if (seat.match === "decided") {
			if (after !== undefined) throw new LostVersion();
			yield response(4n);
			await decisionLost;
			throw new LostVersion();
		}
		yield response(4n);
		if (seat.match === "paced") {
			yield { ...response(5n), ownAction: true };
			yield response(6n);
			yield response(7n);
			await new Promise(() => undefined);
		}
		await later;
		yield response(5n);
		await new Promise(() => undefined);
	},
}));

vi.mock("../../src/api/errors", () => ({
	refusalOf: () => ({ reason: "VERSION_IN_FUTURE", message: "", temporary: false }),
}));
vi.mock("../../src/match/alerts", () => ({ observe: () => undefined }));

const opened = async (match: string, pace = 0) => {
	const quiet = { addEventListener: () => undefined, removeEventListener: () => undefined };
	Object.assign(globalThis, quiet);
	Object.assign(document, quiet);
	const { Session } = await import("../../src/match/session");
	const seat = { match, game: "skystones", seat: 0, token: "t", created: 1 };
	const session = new Session(seat, () => pace);
	session.start();
	return session;
};

it("begins anew when the log has lost what it shows", async () => {
	const session = await opened("restored");
	await until(() => session.view.value?.version === 2n);
	expect(session.refusal.value).toBe(undefined);
	expect(session.connection.value).toBe("live");
	session.close();
});

it("waits for no answer to a decision that the log has lost", async () => {
	const session = await opened("decided");
	await until(() => session.view.value?.version === 4n);
	await session.submit(create(ActionSchema, {}));
	expect(session.busy.value).toBe(true);
	loseDecision();
	await until(() => session.connection.value === "lost");
	expect(session.busy.value).toBe(false);
	session.close();
});

it("takes no decision between the answer to one and the step that it led to", async () => {
	const session = await opened("m");
	await until(() => session.view.value?.version === 4n);
	expect(session.busy.value).toBe(false);
	await session.submit(create(ActionSchema, {}));
	expect(session.view.value?.version).toBe(4n);
	expect(session.busy.value).toBe(true);
	comeLater();
	await until(() => session.view.value?.version === 5n);
	expect(session.busy.value).toBe(false);
	session.close();
});

it("shows one step after the other in its time, unless they are skipped, and keeps those since the own decision", async () => {
	Object.assign(globalThis, { matchMedia: () => ({ matches: false }) });
	const session = await opened("paced", 2 ** 30);
	await until(() => session.waiting.value.length === 2);
	expect(session.view.value?.version).toBe(5n);
	expect(session.busy.value).toBe(true);
	session.skip();
	await until(() => session.view.value?.version === 7n);
	expect(session.waiting.value).toEqual([]);
	expect(session.told.value.map(({ version }) => version)).toEqual([5n, 6n, 7n]);
	session.close();
});
