// Pictures for the documentation, of a real server in a real browser.
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["tests/pictures/**/*.test.ts"],
		fileParallelism: false,
		testTimeout: 600_000,
		hookTimeout: 600_000,
	},
});
