// A real server and a real browser, which all files share. The limit is for what never comes.
import { defineConfig } from "vitest/config";
import { shared } from "./vite.config.ts";

export default defineConfig({
	...shared,
	test: {
		setupFiles: ["tests/unit/setup.ts"],
		globalSetup: ["tests/browser/shared.ts"],
		include: ["tests/browser/**/*.test.ts"],
		maxWorkers: 2,
		isolate: false,
		testTimeout: 600_000,
		hookTimeout: 600_000,
	},
});
