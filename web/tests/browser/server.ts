// A real server on free ports with a store of its own, for one test file.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Server {
	url: string;
	/** Where it serves gRPC. */
	grpc: string;
	/** Ends the process; the matches stay in its store. */
	kill(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
	/** Starts it again, at other ports and with the same store. */
	again(): Promise<void>;
	/** Keeps a copy of the store, which nothing may have open. */
	backUp(): void;
	/** Puts the copy in the place of the store, which nothing may have open. */
	restore(): void;
	stop(): Promise<void>;
}

/** A server with these options besides. */
export async function startServer(...options: string[]): Promise<Server> {
	const data = mkdtempSync(join(tmpdir(), "croupier-"));
	const copy = `${data}-copy`;
	let [running, url, grpc] = await serve(data, options);
	const kill = async (signal: "SIGTERM" | "SIGKILL") => {
		if (running.exitCode !== null || running.signalCode !== null) return;
		const gone = once(running, "exit");
		running.kill(signal);
		await gone;
	};
	return {
		get url() {
			return url;
		},
		get grpc() {
			return grpc;
		},
		kill,
		again: async () => {
			[running, url, grpc] = await serve(data, options);
		},
		backUp: () => cpSync(data, copy, { recursive: true }),
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

async function serve(data: string, options: string[]): Promise<[ChildProcess, string, string]> {
	const server = spawn(
		process.env.CROUPIER ?? "../.venv/bin/croupier",
		[
			...["serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0"],
			...["--metrics-port", "0", "--data", data, ...options],
		],
		{ stdio: ["ignore", "pipe", "pipe"] },
	);
	let errors = "";
	server.stderr.on("data", (text) => {
		errors += text;
	});
	let grpc = "";
	const url = await new Promise<string>((resolve, reject) => {
		createInterface({ input: server.stdout }).on("line", (line) => {
			grpc ||= /serves on (\S+)/.exec(line)?.[1] ?? "";
			const address = /in a browser: (\S+)/.exec(line)?.[1];
			if (address) resolve(address);
		});
		server.once("exit", () => reject(new Error(`The server has not started: ${errors}`)));
	});
	return [server, url, grpc];
}
