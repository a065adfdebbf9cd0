// Tests of single modules of the web app.
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["tests/unit/**/*.test.ts"] } });
