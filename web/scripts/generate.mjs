// Writes src/gen/ from the schemas: a descriptor set in (build/schemas.binpb), TypeScript out.
// The field rules are left out. They are the server's, and would double the size of the code.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { clearField, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
	CodeGeneratorRequestSchema,
	CodeGeneratorResponseSchema,
	FieldDescriptorProtoSchema,
	FileDescriptorProtoSchema,
	FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

const OUT = "src/gen";
const RULES = /^(buf\/validate|google\/api)\//;

const [image = "../build/stubs/croupier/v1/schemas.binpb"] = process.argv.slice(2);
const files = fromBinary(FileDescriptorSetSchema, readFileSync(image)).file;

function strip(message) {
	message.options = undefined;
	for (const field of message.field) clearField(field, FieldDescriptorProtoSchema.field.options);
	for (const oneof of message.oneofDecl) oneof.options = undefined;
	for (const nested of message.nestedType) {
		if (!nested.options?.mapEntry) strip(nested);
	}
}

const ours = files.filter((file) => file.name.startsWith("croupier/"));
for (const file of ours) {
	clearField(file, FileDescriptorProtoSchema.field.options);
	file.dependency = file.dependency.filter((name) => !RULES.test(name));
	file.publicDependency = [];
	for (const message of file.messageType) strip(message);
	for (const service of file.service) {
		for (const method of service.method) method.options = undefined;
	}
}

const request = create(CodeGeneratorRequestSchema, {
	fileToGenerate: ours.map((file) => file.name),
	parameter: "target=ts,import_extension=none",
	protoFile: files.filter((file) => !RULES.test(file.name)),
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
