// Prints the size of each file of the web app as a browser loads it; fails above a limit.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const FOLDER = "../service/gateway/static";
// Bytes, compressed. Only an installation loads the icons that are PNG, and only who shares a link a preview.
const LIMITS = { page: 200_000, pictures: 100_000 };

const totals = { page: 0, pictures: 0 };
for (const entry of readdirSync(FOLDER, { recursive: true, withFileTypes: true })) {
	if (!entry.isFile()) continue;
	const path = join(entry.parentPath, entry.name);
	const bytes = gzipSync(readFileSync(path)).length;
	totals[entry.name.endsWith(".png") ? "pictures" : "page"] += bytes;
	console.log(`${String(bytes).padStart(8)}  ${path}`);
}
for (const [kind, total] of Object.entries(totals)) {
	const limit = LIMITS[kind];
	console.log(`${String(total).padStart(8)}  bytes compressed of the ${kind}, of at most ${limit}`);
	if (total > limit) process.exitCode = 1;
}
