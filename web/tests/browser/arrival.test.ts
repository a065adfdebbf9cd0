// How people come: to the lobby for the first time, by an invitation, with many matches, without a server.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, startServer } from "./server";
import { audit, deal, openSite, visit } from "./visitor";

describe("whoever arrives", () => {
	const site = openSite();
	let server: Server;
	beforeAll(async () => {
		server = await startServer();
	});
	afterAll(() => server?.stop());

	it("is offered the guided match before all, until they have played", async () => {
		const { page } = await visit(site.browser, site.url);
		await page.waitForSelector(".gametile .face");
		const firsts = () =>
			page.$$eval(".gametile", (tiles) =>
				tiles.map((tile) => {
					const main = tile.querySelector(".primary");
					return main === tile.querySelector("button, a") && main?.getAttribute("data-testid");
				}),
			);
		for (const first of await firsts()) expect(first).toMatch(/^learn-/);
		await deal(page, "skystones");
		await page.click(".brand");
		await page.waitForSelector("[data-testid=play-skystones].primary");
		expect((await firsts()).filter((first) => String(first).startsWith("learn-")).length).toBe(3);
	});

	it("by an invitation learns first, and comes back to it", async () => {
		const host = await visit(site.browser, site.url);
		await deal(host.page, "skystones", { opponent: "friend" });
		expect(await host.page.textContent("[data-testid=alone]")).toContain("127.0.0.1");
		const link = await host.page.inputValue(".invite [data-testid=link]");
		expect(new URL(link).pathname).toBe("/i/skystones");
		const { page, addresses } = await visit(site.browser, link);
		await page.waitForSelector("[data-testid=join]");
		// The secret is sent to nobody on the way.
		const secret = decodeURIComponent(new URL(link).hash.slice("#/join/".length));
		expect(addresses.filter((each) => each.includes(secret))).toEqual([]);
		expect(new URL(page.url()).pathname).toBe("/");
		const buttons = await page.$$eval(".join button", (all) =>
			all.map((each) => each.getAttribute("data-testid")),
		);
		expect(buttons[0]).toBe("learn-skystones");
		expect(await audit(page)).toEqual([]);
		await page.click("[data-testid=learn-skystones]");
		await page.waitForSelector(".coach");
		await page.click(".more a:has-text('To the invitation')");
		await page.click("[data-testid=join]");
		await page.waitForSelector("[data-testid=match]");
	});

	it("with twenty matches sees the games, and what tells the matches apart", async () => {
		const { page } = await visit(site.browser, site.url);
		for (let match = 0; match < 20; match++) {
			await deal(page, "skystones", { seat: "0" });
			await page.click(".brand");
		}
		await page.waitForFunction(() => document.querySelectorAll(".mymatch .status").length === 20);
		const top = (await page.locator(".gametile").first().boundingBox())!.y;
		expect(top).toBeLessThan(900 - 200);
		await page.click(".mymatches summary");
		expect(await page.locator(".mymatch:visible").count()).toBe(20);
		await page.waitForFunction(() =>
			[...document.querySelectorAll(".mymatch a")].every((row) => /\d : \d/.test(row.textContent!)),
		);
		expect(await audit(page)).toEqual([]);
	});

	it("without a server is told so, and installs the app with pictures", async () => {
		const { page } = await visit(site.browser, server.url);
		await page.evaluate(() => navigator.serviceWorker.ready);
		const icons = await page.evaluate(async () => {
			const { icons } = await (await fetch("./manifest.webmanifest")).json();
			return Promise.all(
				(icons as { src: string; sizes: string; type: string }[]).map(async (icon) => {
					const blob = await (await fetch(icon.src)).blob();
					const { width, height } = await createImageBitmap(blob).catch(() => ({
						...{ width: 0, height: 0 },
					}));
					return [icon.type, blob.type, icon.sizes, `${width}x${height}`];
				}),
			);
		});
		const pictures = icons.filter(([type]) => type === "image/png");
		expect(pictures.length).toBeGreaterThan(2);
		for (const [type, sent, sizes, real] of pictures) expect([sent, real]).toEqual([type, sizes]);
		await server.kill("SIGKILL");
		await page.reload();
		expect(await page.textContent("body")).toContain("The server cannot be reached");
		expect(await audit(page)).toEqual([]);
		await server.again();
	});
});
