// The messages of any game: found by its schema, unpacked, and read field by field.
import {
	createFileRegistry,
	type DescField,
	type DescMessage,
	fromBinary,
	getOption,
	type Message,
	type Registry,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect, type ScalarValue } from "@bufbuild/protobuf/reflect";
import { type Any, anyUnpack, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ActionSchema, EventSchema, type Game, RulesetSchema, ViewSchema } from "../api/types";

/** The four messages of a game. */
export interface Schema {
	ruleset: DescMessage;
	action: DescMessage;
	event: DescMessage;
	view: DescMessage;
	/** Of a game that brings its own schema. */
	registry?: Registry & { getExtension(name: string): Parameters<typeof getOption>[1] | undefined };
}

/** The schema of a game: its own, or what ours has in the fields named after it. */
export function schemaOf(game: Game): Schema | undefined {
	const own = game.defaultRuleset?.game;
	if (own?.case !== "packaged") {
		const id = game.name.replace("games/", "");
		const of = (outer: DescMessage) => outer.fields.find((field) => field.name === id)?.message;
		const outer = [RulesetSchema, ActionSchema, EventSchema, ViewSchema];
		const [ruleset, action, event, view] = outer.map(of);
		return ruleset && action && event && view && { ruleset, action, event, view };
	}
	const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, game.schema));
	const name = own.value.typeUrl.replace(/^.*\//, "").replace(/Ruleset$/, "");
	const [ruleset, action, event, view] = ["Ruleset", "Action", "Event", "View"].map((kind) =>
		registry.getMessage(name + kind),
	);
	return ruleset && action && event && view && { ruleset, action, event, view, registry };
}

const read = new WeakMap<object, ReflectMessage>();

/** A game's own message out of a `oneof` over all games; undefined if there is none. */
export function inner(
	schema: Schema,
	desc: DescMessage,
	outer: { case?: string; value?: unknown },
): ReflectMessage | undefined {
	if (!outer.value) return undefined;
	const known = read.get(outer.value as object);
	if (known) return known;
	const message =
		outer.case === "packaged" && schema.registry
			? anyUnpack(outer.value as Any, schema.registry)
			: (outer.value as Message);
	if (message?.$typeName !== desc.typeName) return undefined;
	const reflected = reflect(desc, message, false);
	read.set(outer.value as object, reflected);
	return reflected;
}

/** The field of a `oneof` that is set, such as the kind of an action, with what is in it. */
export function chosen(
	message: ReflectMessage,
): { field: DescField; message?: ReflectMessage } | undefined {
	const field = message.fields.find((each) => each.oneof && message.isSet(each));
	if (!field) return undefined;
	return field.fieldKind === "message"
		? { field, message: message.get(field) as ReflectMessage }
		: { field };
}

export const fieldOf = (message: ReflectMessage | undefined, name: string) =>
	message?.fields.find((field) => field.name === name);

/** The values of a field: those of a list, or the one that is set. */
export function valuesOf(message: ReflectMessage, field: DescField): unknown[] {
	if (field.fieldKind === "map") return [];
	if (field.fieldKind === "list") return [...(message.get(field) as Iterable<unknown>)];
	return isSaid(message, field) ? [message.get(field)] : [];
}

/** Whether a field says something: a number that is 0 does, unless it can be absent; a flag that is
 * off, an empty list and the first value of an enum do not. */
export function isSaid(message: ReflectMessage, field: DescField): boolean {
	if (field.fieldKind === "list") return [...(message.get(field) as Iterable<unknown>)].length > 0;
	if (message.isSet(field)) return true;
	// A field without presence is not set where it has its default, which says something of a number.
	return isNumber(field) && !hasPresence(field);
}

const hasPresence = (field: DescField) => field.presence !== IMPLICIT || field.oneof !== undefined;
const IMPLICIT = 2; // FeatureSet_FieldPresence.IMPLICIT.

const INTEGERS = [3, 4, 5, 6, 7, 13, 15, 16, 17, 18]; // Of ScalarType.
const FLOATS = [1, 2];
export const BOOL = 8;
export const STRING = 9;
export const BYTES = 12;

export const isInteger = (field: DescField) => INTEGERS.includes(scalarOf(field));
export const isNumber = (field: DescField) =>
	field.fieldKind === "scalar" && (isInteger(field) || FLOATS.includes(field.scalar));
export const isList = (field: DescField) => field.fieldKind === "list";
export const scalarOf = (field: DescField) =>
	field.fieldKind === "scalar" || field.fieldKind === "list" ? (field.scalar ?? 0) : 0;
export const enumOf = (field: DescField) =>
	field.fieldKind === "enum" || field.fieldKind === "list" ? field.enum : undefined;
export const messageOf = (field: DescField) =>
	field.fieldKind === "message" || field.fieldKind === "list" ? field.message : undefined;

/** The least and the greatest value that the rules of a field allow, as far as it has such rules. */
export function boundsOf(schema: Schema, field: DescField): { min?: number; max?: number } {
	const extension = schema.registry?.getExtension("buf.validate.field");
	if (!extension) return {};
	const rules = getOption(field, extension) as { type?: { value?: Record<string, Bound> } };
	const { lessThan, greaterThan } = rules.type?.value ?? {};
	const least = (bound: Bound, step: number) =>
		bound?.value === undefined
			? undefined
			: Number(bound.value) + (bound.case?.length === 2 ? step : 0);
	return { min: least(greaterThan, 1), max: least(lessThan, -1) };
}
/** `gte` and `lte` include the bound, `gt` and `lt` do not. */
type Bound = { case?: string; value?: ScalarValue } | undefined;

/** A name of a schema as words: "opponent_hand" becomes "Opponent hand". */
export const spaced = (name: string) =>
	name.charAt(0).toUpperCase() + name.slice(1).toLowerCase().replace(/_/g, " ");
