// A real server on free ports with a store of its own, for one test file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Server {
	url: string;
	stop(): Promise<void>;
}

export async function startServer(): Promise<Server> {
	const data = mkdtempSync(join(tmpdir(), "croupier-"));
	const server = spawn(
		process.env.CROUPIER ?? "../.venv/bin/croupier",
		[
			"serve",
			"--listen",
			"127.0.0.1:0",
			"--web",
			"127.0.0.1:0",
			"--metrics-port",
			"0",
			"--data",
			data,
		],
		{ stdio: ["ignore", "pipe", "pipe"] },
	);
	let errors = "";
	server.stderr.on("data", (text) => {
		errors += text;
	});
	const url = await new Promise<string>((resolve, reject) => {
		createInterface({ input: server.stdout }).on("line", (line) => {
			const address = /in a browser: (\S+)/.exec(line)?.[1];
			if (address) resolve(address);
		});
		server.once("exit", () => reject(new Error(`The server has not started: ${errors}`)));
	});
	return {
		url,
		stop: async () => {
			const gone = once(server, "exit");
			server.kill("SIGTERM");
			await gone;
			rmSync(data, { recursive: true, force: true });
		},
	};
}
