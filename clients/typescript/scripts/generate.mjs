// Writes src/gen/ from the schemas that `croupier schema --plain --output DIR` has written. DIR is the
// argument, by default examples/schemas. protoc must be in the PATH.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const schemas = process.argv[2] ?? join(root, "../../examples/schemas");
const out = join(root, "src/gen");

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
execFileSync(
	"protoc",
	[
		`--proto_path=${schemas}`,
		`--plugin=${join(root, "node_modules/.bin/protoc-gen-es")}`,
		`--es_out=${out}`,
		"--es_opt=target=ts,import_extension=js",
		"google/rpc/error_details.proto",
		...readdirSync(join(schemas, "croupier/v1")).map((name) => `croupier/v1/${name}`),
	],
	{ stdio: "inherit" },
);
