// The built site of the documentation in a real browser.
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: { include: ["tests/site/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 },
});
