// Tests of single modules of the web app.
import { defineConfig } from "vitest/config";
import { shared } from "./vite.config.ts";

export default defineConfig({
	...shared,
	test: { include: ["tests/unit/**/*.test.ts"], setupFiles: ["tests/unit/setup.ts"] },
});
