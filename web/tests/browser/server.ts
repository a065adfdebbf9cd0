// A real server on free ports with a store of its own, for one test file.

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Server = Awaited<ReturnType<typeof startServer>>;

/** A server with these options besides. */
export async function startServer(...options: string[]) {
	const data = mkdtempSync(join(tmpdir(), "croupier-"));
	const copy = `${data}-copy`;
	let [running, url, grpc] = await serve(data, options);
	const kill = (signal: "SIGTERM" | "SIGKILL") => end(running, signal);
	return {
		get url() {
			return url;
		},
		/** Where it serves gRPC. */
		get grpc() {
			return grpc;
		},
		/** Ends the process; the matches stay in its store. */
		kill,
		/** Starts it again, at other ports and with the same store. */
		again: async () => {
			[running, url, grpc] = await serve(data, options);
		},
		/** Keeps a copy of the store, which nothing may have open. */
		backUp: () => cpSync(data, copy, { recursive: true }),
		/** Puts the copy in the place of the store, which nothing may have open. */
		restore: () => {
			rmSync(data, { recursive: true });
			cpSync(copy, data, { recursive: true });
		},
		stop: async () => {
			await kill("SIGTERM");
			for (const each of [data, copy]) rmSync(each, { recursive: true, force: true });
		},
	};
}

async function serve(data: string, options: string[]) {
	const server = spawn(process.env.CROUPIER ?? "../.venv/bin/croupier", [
		...["serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0"],
		...["--metrics-port", "0", "--data", data, ...options],
	]);
	const [grpc, url] = await said(server, /serves on (\S+).*in a browser: (\S+)\n/s);
	return [server, url!, grpc!] as const;
}

/**
 * A way to the server that keeps its address when the server comes back at another, and that can fall
 * silent without closing a connection, as a network does.
 */
export async function startWay(server: Server) {
	const sockets: Socket[] = [];
	let silent = false;
	const way = createServer((near) => {
		sockets.push(near);
		near.on("error", () => undefined);
		if (silent) return;
		const { hostname, port } = new URL(server.url);
		const far = connect(Number(port), hostname);
		sockets.push(far);
		far.on("error", () => near.destroy());
		near.on("data", (bytes) => silent || far.write(bytes));
		far.on("data", (bytes) => silent || near.write(bytes));
		near.on("close", () => far.destroy());
		far.on("close", () => near.destroy());
	});
	way.listen(0, "127.0.0.1");
	await once(way, "listening");
	return {
		url: `http://127.0.0.1:${(way.address() as AddressInfo).port}/`,
		fallSilent: () => {
			silent = true;
		},
		speak: () => {
			silent = false;
		},
		stop: () => {
			for (const socket of sockets) socket.destroy();
			way.close();
		},
	};
}

/** What the groups of a pattern find in all that a process says, once it has said that. */
export async function said(running: ChildProcessWithoutNullStreams, pattern: RegExp) {
	let output = "";
	return new Promise<string[]>((resolve, reject) => {
		const hear = (text: Buffer) => {
			output = (output + text).slice(-10_000);
			const found = pattern.exec(output);
			if (found) resolve(found.slice(1));
		};
		running.stdout.on("data", hear);
		running.stderr.on("data", hear);
		running.once("exit", () => reject(new Error(`The process has ended: ${output}`)));
	});
}

/** Ends a process, unless it has ended. */
export async function end(running: ChildProcess, signal: NodeJS.Signals) {
	if (running.exitCode !== null || running.signalCode !== null) return;
	const gone = once(running, "exit");
	running.kill(signal);
	await gone;
}
