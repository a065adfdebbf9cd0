// Tests of single modules of the web app, and of the client in clients/typescript/.
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { shared } from "./vite.config.ts";

const clients = fileURLToPath(new URL("../clients/", import.meta.url));

/** The client finds packages as if it were here: its own need not be installed. */
const client: Plugin = {
	name: "client",
	resolveId(source, importer) {
		if (importer?.startsWith(clients) && /^[@a-z]/.test(source))
			return this.resolve(source, fileURLToPath(import.meta.url));
	},
};

export default defineConfig({
	...shared,
	plugins: [...shared.plugins!, client],
	test: {
		include: ["tests/unit/**/*.test.ts"],
		setupFiles: ["tests/unit/setup.ts"],
		testTimeout: 600_000,
	},
});
