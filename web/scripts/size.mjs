// Prints the size of each file of the web app as a browser loads it; fails above the limit. Pictures that
// only an installation or a preview loads do not count.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const FOLDER = "../service/gateway/static";
const LIMIT = 200_000; // Bytes, compressed, of everything together.

let total = 0;
for (const entry of readdirSync(FOLDER, { recursive: true, withFileTypes: true })) {
	if (!entry.isFile()) continue;
	const path = join(entry.parentPath, entry.name);
	const bytes = gzipSync(readFileSync(path)).length;
	if (!entry.name.endsWith(".png")) total += bytes;
	console.log(`${String(bytes).padStart(8)}  ${path}`);
}
console.log(`${String(total).padStart(8)}  bytes compressed in all, of at most ${LIMIT}`);
if (total > LIMIT) process.exitCode = 1;
