// The front end of examples/frontend/ in a real browser: `make examples` has installed it.
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: { include: ["tests/frontend/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000 },
});
