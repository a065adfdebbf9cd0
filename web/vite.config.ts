// The build of the web app.
import { defineConfig } from "vite";

// Relative addresses, so that the table also works below a path prefix of a proxy.
export default defineConfig({
	base: "./",
	build: {
		outDir: "../service/gateway/static", // From where the server serves it.
		emptyOutDir: true,
		target: "es2022",
		modulePreload: { polyfill: false },
		assetsInlineLimit: 0, // A data: address would need an exception in the content security policy.
	},
	server: {
		proxy: { "/croupier.v1.": { target: process.env.DEV_SERVER ?? "http://127.0.0.1:8080" } },
	},
});
