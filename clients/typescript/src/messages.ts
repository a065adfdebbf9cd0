// The messages of a game that brings its own schema, which the catalog tells.
import {
	createFileRegistry,
	fromBinary,
	type JsonObject,
	type Registry,
	toJson,
} from "@bufbuild/protobuf";
import { type Any, AnySchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Game } from "./gen/croupier/v1/catalog_pb.js";

/** The schema of a game as GetGame returns it; for `anyUnpack`, `toJson` and transports. */
export function registryOf(game: Game): Registry {
	return createFileRegistry(fromBinary(FileDescriptorSetSchema, game.schema));
}

/** What a field `packaged` holds, as an object with names in lowerCamelCase. */
export function readPackaged(packaged: Any, registry: Registry): JsonObject {
	const { "@type": _, ...fields } = toJson(AnySchema, packaged, { registry }) as JsonObject;
	return fields;
}
