// The build of the web app.
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type UserConfig } from "vite";

const web = fileURLToPath(new URL(".", import.meta.url));
const folder = fileURLToPath(new URL("../games/", import.meta.url));

/** The drawings of games lie with the games, outside this folder: they find packages as if inside. */
const games: Plugin = {
	name: "games",
	resolveId(source, importer) {
		if (importer?.startsWith(folder) && /^[@a-z]/.test(source))
			return this.resolve(source, `${web}src/main.tsx`);
	},
};

/** What the tests need as well. */
export const shared: UserConfig = {
	plugins: [games],
	// Said here, since no tsconfig.json lies above a folder in games/.
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
	resolve: { alias: { "@app": `${web}src` } },
};

const proxy = process.env.DEV_SERVER ?? "http://127.0.0.1:8080";

// Relative addresses, so that the table also works below a path prefix of a proxy.
export default defineConfig({
	...shared,
	base: "./",
	build: {
		outDir: "../service/gateway/static", // From where the server serves it.
		emptyOutDir: true,
		target: "es2022",
		modulePreload: { polyfill: false },
		assetsInlineLimit: 0, // A data: address would need an exception in the content security policy.
	},
	server: {
		fs: { allow: [web, folder] },
		proxy: { "/croupier.v1.": { target: proxy }, "/games/": { target: proxy } },
	},
});
