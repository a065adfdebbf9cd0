// A real server and a real browser: one after the other, and with time for whole matches.
import { defineConfig } from "vitest/config";
import { shared } from "./vite.config.ts";

export default defineConfig({
	...shared,
	test: {
		setupFiles: ["tests/unit/setup.ts"],
		include: ["tests/browser/**/*.test.ts"],
		fileParallelism: false,
		testTimeout: 240_000,
		hookTimeout: 60_000,
	},
});
