// Writes src/gen/ from the plain schemas, a descriptor set: without the field rules, which are the
// server's, and would double the size of the code.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { clearField, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
	CodeGeneratorRequestSchema,
	CodeGeneratorResponseSchema,
	FileDescriptorProtoSchema,
	FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

const OUT = "src/gen";

const [image = "../build/stubs/croupier/v1/schemas/plain.binpb"] = process.argv.slice(2);
const files = fromBinary(FileDescriptorSetSchema, readFileSync(image)).file;

const ours = files.filter((file) => file.name.startsWith("croupier/"));
for (const file of ours) clearField(file, FileDescriptorProtoSchema.field.options);

const request = create(CodeGeneratorRequestSchema, {
	fileToGenerate: ours.map((file) => file.name),
	parameter: "target=ts,import_extension=none",
	protoFile: files,
});
const plugin = join("node_modules", ".bin", "protoc-gen-es");
const response = fromBinary(
	CodeGeneratorResponseSchema,
	execFileSync(plugin, { input: toBinary(CodeGeneratorRequestSchema, request) }),
);
if (response.error) throw new Error(response.error);
rmSync(OUT, { recursive: true, force: true });
for (const file of response.file) {
	const path = join(OUT, file.name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, file.content);
}
console.log(`Generated ${response.file.length} modules in ${OUT}.`);
