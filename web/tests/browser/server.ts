// A real server on free ports, for one test file.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Server {
	url: string;
	stop(): Promise<void>;
}

export async function startServer(): Promise<Server> {
	const process_: ChildProcess = spawn(
		"../.venv/bin/croupier",
		["serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--metrics-port", "0"],
		{ stdio: ["ignore", "pipe", "pipe"] },
	);
	let errors = "";
	process_.stderr?.on("data", (text) => {
		errors += text;
	});
	for await (const line of createInterface({ input: process_.stdout! })) {
		const url = /http:\/\/\S+/.exec(line)?.[0];
		if (!url) continue;
		return {
			url,
			stop: async () => {
				process_.kill("SIGTERM");
				if (process_.exitCode === null) await once(process_, "exit");
			},
		};
	}
	throw new Error(`The server has not started: ${errors}`);
}
