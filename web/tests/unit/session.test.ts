import { create } from "@bufbuild/protobuf";
import { expect, it, vi } from "vitest";
import { ActionSchema, type View, ViewSchema } from "../../src/api/types";

const view = (version: bigint): View => create(ViewSchema, { version });
const response = (version: bigint) => ({ version, view: view(version), events: [] });
let comeLater = () => {};
const later = new Promise<void>((resolve) => {
	comeLater = resolve;
});

vi.mock("../../src/api/calls", () => ({
	HEARTBEAT_MS: 1000,
	getView: async () => ({ view: view(4n) }),
	submitAction: async () => view(5n),
	watchMatch: async function* () {
		yield response(4n);
		await later;
		yield response(5n);
		await new Promise(() => undefined);
	},
}));

vi.mock("../../src/state/alerts", () => ({ observe: () => undefined }));

it("takes no decision between the answer to one and the step that it led to", async () => {
	const quiet = { addEventListener: () => undefined, removeEventListener: () => undefined };
	Object.assign(globalThis, quiet);
	Object.assign(document, quiet);
	const { Session } = await import("../../src/match/session");
	const seat = { match: "m", game: "skystones", seat: 0, token: "t", created: 1 };
	const session = new Session(seat, () => 0);
	session.start();
	await vi.waitUntil(() => session.view.value?.version === 4n);
	expect(session.busy.value).toBe(false);
	await session.submit(create(ActionSchema, {}));
	expect(session.view.value?.version).toBe(4n);
	expect(session.busy.value).toBe(true);
	comeLater();
	await vi.waitUntil(() => session.view.value?.version === 5n);
	expect(session.busy.value).toBe(false);
	session.close();
});
