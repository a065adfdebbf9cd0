import { chromium } from "playwright-core";

const url = process.env.URL ?? "http://127.0.0.1:8077/";
const browser = await chromium.launch({
	executablePath: "/usr/bin/chromium",
	args: [
		"--headless",
		"--no-sandbox",
		"--disable-gpu",
		"--no-first-run",
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-sync",
	],
});
const sizes = { phone: [390, 844], tablet: [820, 1180], desk: [1440, 900] };
const which = (
	process.argv[2] ?? "lobby,champion_chess,skystones,powershot_soccer,castle_rampage"
).split(",");
const where = (process.argv[3] ?? "phone,tablet,desk").split(",");
const theme = process.argv[4] ?? "light";
const steps = Number(process.argv[5] ?? 6);
const lang = process.argv[6] ?? "en";
for (const size of where) {
	const [width, height] = sizes[size];
	const context = await browser.newContext({
		viewport: { width, height },
		colorScheme: theme,
		locale: lang,
		reducedMotion: "reduce",
		deviceScaleFactor: size === "phone" ? 2 : 1,
	});
	const page = await context.newPage();
	page.on("console", (m) => {
		if (m.type() === "error" || m.type() === "warning") console.log("CONSOLE", m.text());
	});
	page.on("pageerror", (e) => console.log("PAGEERROR", e.message, e.stack?.split("\n")[1]));
	for (const game of which) {
		await page.goto(url);
		if (game === "lobby") {
			await page.waitForSelector(".gametile .face");
			await page.waitForTimeout(300);
			await page.screenshot({
				path: `/tmp/shots/lobby-${size}-${theme}.png`,
				fullPage: size !== "desk",
			});
			continue;
		}
		await page.click(`[data-testid=play-${game}]`);
		if (size === "phone")
			await page.screenshot({ path: `/tmp/shots/new-${game}-${size}-${theme}.png` });
		await page.click("[data-testid=deal]");
		await page.waitForSelector("[data-testid=board] *");
		for (let i = 0; i < steps; i++) {
			for (let c = 0; c < 8; c++) {
				if ((await page.$("[data-confirm]:not([disabled])")) && c > 0) break;
				const can = await page.$$(
					".square[data-can], .card[data-can]:not(.chosen), .actions [data-can]:not([disabled])",
				);
				const pick = can.length ? can[Math.floor((can.length - 1) * 0.4)] : null;
				const sq = await page.$(".square[data-can]");
				const act = await page.$(".actions [data-key]:not([disabled])");
				const t = sq ?? (c > 0 && act ? act : pick);
				if (!t) break;
				const v = await page.getAttribute("[data-testid=match]", "data-version");
				await t
					.click({ timeout: 3000 })
					.catch((e) => console.log("click", e.message.split("\n")[0]));
				await page.waitForTimeout(60);
				if (v !== (await page.getAttribute("[data-testid=match]", "data-version"))) break;
			}
			const conf = await page.$("[data-confirm]:not([disabled])");
			if (i === steps - 1) break;
			if (conf) await conf.click();
			await page.waitForTimeout(350);
		}
		await page.waitForTimeout(300);
		await page.screenshot({
			path: `/tmp/shots/${game}-${size}-${theme}.png`,
			fullPage: size !== "desk",
		});
		const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
		if (over > 0) console.log("OVERFLOW", game, size, over);
	}
	await context.close();
}
await browser.close();
