// The stream of the client in clients/typescript/, which breaks again and again.
import { expect, it, vi } from "vitest";

vi.mock("../../../clients/typescript/src/errors", () => ({
	explain: () => ({ code: 14, reason: "" }), // Unavailable: the connection was lost.
}));

// Not in the words of an import, so that its types, for which its own stubs are missing, stay out.
const client = new URL("../../../clients/typescript/src/watch.ts", import.meta.url).pathname;

it("has its whole patience again when the server has answered", async () => {
	vi.useFakeTimers();
	const { watchMatch } = await import(/* @vite-ignore */ client);
	let streams = 0;
	const matches = {
		watchMatch: async function* (request: { afterVersion?: bigint }) {
			expect(request.afterVersion).toBe(streams ? BigInt(streams) : undefined);
			yield { version: BigInt(++streams) };
			if (streams < 40) throw new Error("lost");
		},
	};
	const versions: bigint[] = [];
	const whole = (async () => {
		const access = { name: "matches/m", token: "t" };
		// Each pause is at least 80 ms, so that all of them take longer than this.
		for await (const { version } of watchMatch(matches, access, { patienceMs: 2000 }))
			versions.push(version);
		return versions.length;
	})();
	whole.catch(() => undefined);
	for (let step = 0; step < 100; step++) await vi.advanceTimersByTimeAsync(120);
	expect(await whole).toBe(40);
	vi.useRealTimers();
});

it("refuses a token that no header can carry at once", async () => {
	const { authorize, watchMatch } = await import(/* @vite-ignore */ client);
	const why = "the token has characters other than printable ASCII";
	for (const token of ["a\nb", "gr\u00fcn", "t\n"]) {
		expect(() => authorize({ name: "matches/m", token })).toThrow(why);
		const stream = watchMatch({}, { name: "matches/m", token });
		await expect(stream.next()).rejects.toThrow(why);
	}
	expect(authorize({ name: "matches/m", token: "t" }).authorization).toBe("Bearer t");
});
