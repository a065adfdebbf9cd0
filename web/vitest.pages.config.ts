// Pages in a real browser, a folder of tests at a time: the front end of examples/frontend/, which `make
// examples` has installed, the built site of the documentation, and the pictures for it.
import { defineConfig } from "vitest/config";

export default defineConfig({
	test: { fileParallelism: false, testTimeout: 600_000, hookTimeout: 600_000 },
});
