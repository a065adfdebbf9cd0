// The front end of examples/frontend/ as a process, which can be killed and started again.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class Frontend {
	private process: ChildProcess | undefined;
	url = "";

	constructor(
		private readonly folder: string,
		private readonly settings: Record<string, string>,
	) {}

	/** Starts it; after the first time, at the same port and with the same database. */
	async start() {
		const port = this.url ? new URL(this.url).port : "0";
		const started = spawn(process.env.FRONTEND_PYTHON ?? "python3", ["app.py"], {
			cwd: "../examples/frontend",
			env: {
				...process.env,
				...this.settings,
				PORT: port,
				FRONTEND_DATA: join(this.folder, "frontend.db"),
			},
			stdio: ["ignore", "ignore", "pipe"],
		});
		this.process = started;
		let said = "";
		const address = await new Promise<string>((resolve, reject) => {
			createInterface({ input: started.stderr }).on("line", (line) => {
				said += `${line}\n`;
				const found = /running on http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
				if (found) resolve(found);
			});
			started.once("exit", () => reject(new Error(`The front end has not started: ${said}`)));
		});
		// Cookies know no ports: a name of its own keeps them from the other server on this machine.
		this.url = `http://localhost:${address}`;
	}

	async kill(signal: NodeJS.Signals = "SIGKILL") {
		if (!this.process || this.process.exitCode !== null || this.process.signalCode !== null) return;
		const gone = once(this.process, "exit");
		this.process.kill(signal);
		await gone;
	}
}
