// A real server and a real browser: one after the other, and with time for whole matches.
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["tests/browser/**/*.test.ts"],
		fileParallelism: false,
		testTimeout: 240_000,
		hookTimeout: 60_000,
	},
});
