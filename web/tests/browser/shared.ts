// One server and one browser for all files of tests, which share them unless a test kills its server.
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { startServer } from "./server";
import { LAUNCH } from "./visitor";

declare module "vitest" {
	interface ProvidedContext {
		url: string;
		browser: string;
	}
}

export default async function share({ provide }: TestProject) {
	const [server, browser] = await Promise.all([
		startServer("--allow-seeds"),
		chromium.launchServer(LAUNCH),
	]);
	provide("url", server.url);
	provide("browser", browser.wsEndpoint());
	return async () => {
		await browser.close();
		await server.stop();
	};
}
