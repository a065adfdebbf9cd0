// Fills the phrases of the catalog: says actions, events and endings in the words of their game.
// `Game.phrases` in the schema says what a phrase is; croupier/phrases.py does the same in Python.
import type { DescEnum, DescField } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import {
	type Action,
	AspectUnit,
	type CatalogCard,
	type Ending,
	type Event,
	EventSchema,
	type Game,
	type Hint,
	type Reason,
} from "../api/types";
import {
	BOOL,
	chosen,
	enumOf,
	fieldOf,
	inner,
	isInteger,
	isList,
	isSaid,
	messageOf,
	type Schema,
	STRING,
	scalarOf,
	schemaOf,
	spaced,
	valuesOf,
} from "./schema";

const CARD = /^(card|.+_card)$/;
const CARDS = /(^|_)(cards|hand|trick|pile|deck|stock|discards|unseen)$/;
const SEAT = /^(seat|.+_seat|winner|leader|dealer|starter|kick_off)$/;
const PARTS = /\[([^[\]]*)\]/g;
const BRACES = /\{([^{}]*)\}/g;
const BEGINS = /^\{(\w+)\} /; // A sentence about a seat begins with it.

/** Who reads: how they call a seat within a sentence, and which is their own. */
export interface Reader {
	me?: number | undefined;
	who(seat: number): string;
}

/** A value of a field in words, and with what a condition compares it. */
interface Value {
	text: string;
	keys: string[];
	says: boolean;
	seat?: number;
}

/** The values of a field, one unless it is a list, and what is said where there are none. */
interface Field {
	values: Value[];
	hidden: string;
}

type Fields = ReadonlyMap<string, Field>;

export class Words {
	private readonly cards: ReadonlyMap<string, CatalogCard>;
	/** By name: the conditions and the phrase of each variant, the most particular first. */
	private readonly variants = new Map<string, { conditions: string[]; phrase: string }[]>();
	private readonly schema: Schema | undefined;
	private readonly titles: Reader = { who: (seat) => this.seatOf(seat) };

	constructor(readonly game: Game) {
		this.cards = new Map(game.cards.map((card) => [card.id, card]));
		this.schema = schemaOf(game);
		const depth = (name: string) => name.split(".").length;
		const names = Object.keys(game.phrases).sort((a, b) => depth(b) - depth(a) || (a < b ? 1 : -1));
		for (const name of names) {
			const [part, kind, ...conditions] = name.split(".");
			const key = `${part}.${kind}`;
			const known = this.variants.get(key) ?? [];
			this.variants.set(key, [...known, { conditions, phrase: game.phrases[name]! }]);
		}
	}

	/** An action or an event of the game in words; undefined if it is none of this game. */
	about(what: Action | Event, reader?: Reader) {
		const { schema } = this;
		const part = "event" in what ? "event" : "action";
		const outer = "event" in what ? what.event : what.game;
		if (!outer.case) return undefined;
		const own = schema && inner(schema, schema[part], outer);
		// Else it is of the match around the game.
		if (!own && !("event" in what)) return undefined;
		return this.tell(part, own ?? reflect(EventSchema, what as Event), reader);
	}

	/** The cards that an action or an event of the game names, in order, each once. */
	cardsIn(what: Action | Event): string[] {
		const { schema } = this;
		const outer = "event" in what ? what.event : what.game;
		if (!outer.case || !schema) return [];
		const own = inner(schema, schema["event" in what ? "event" : "action"], outer);
		const parts = own ? [own, chosen(own)?.message] : [];
		const named = parts.flatMap((part) =>
			part ? part.fields.filter(this.holdsCards, this).flatMap((f) => this.cardsOf(part, f)) : [],
		);
		return [...new Set(named)].filter((card) => this.cards.has(card));
	}

	/** A phrase with given values; the last part of its name if it is not there. */
	word(name: string, given: Record<string, number | string> = {}): string {
		const fields = new Map(
			Object.entries(given).map(([key, value]) => [
				key,
				{ values: [{ text: `${value}`, keys: [`${value}`], says: value !== 0 }], hidden: "" },
			]),
		);
		const phrase = fields.size > 0 ? this.variant(name, fields) : this.game.phrases[name];
		const last = name.slice(name.indexOf(".") + 1).replace(/_/g, " ");
		return phrase === undefined ? last : this.fill(phrase, fields);
	}

	/** Why the action of a hint is advised, and the most likely answer: sentences. */
	why(hint: Hint, describe: (action: Action) => string): string[] {
		const told = hint.reasons.map((each) => this.reason(each, describe));
		const answer = hint.actions[0]?.line.find(({ seat }) => seat !== hint.seat)?.action;
		return answer ? [...told, this.word("reason.answer", { action: describe(answer) })] : told;
	}

	private reason(reason: Reason, describe: (action: Action) => string): string {
		const aspect = this.game.aspects.find(({ id }) => id === reason.aspect);
		const chance = aspect?.unit === AspectUnit.CHANCE;
		const values = [reason.value, reason.otherValue];
		const [few, others] = values.map((each) => ofCases(each, 10));
		const cases = few === others ? 100 : 10;
		const [value, other_value] = values.map((each) =>
			chance ? ofCases(each, cases) : each.toFixed(1).replace(".", this.word("word.decimal_mark")),
		) as [string, string];
		const other = describe(reason.otherAction!);
		const given = {
			aspect: this.word(`aspect.${reason.aspect}`),
			value,
			cases,
			other,
			other_value,
		};
		return capital(this.word(chance ? "reason.chance" : "reason.amount", given));
	}

	/** "a, b and c": in their order, equal ones that follow each other counted. */
	listed(texts: readonly string[]): string {
		const runs: { text: string; count: number }[] = [];
		for (const text of texts) {
			const last = runs.at(-1);
			if (last?.text === text) last.count++;
			else runs.push({ text, count: 1 });
		}
		const parts = runs.map(({ text, count }) => (count > 1 ? `${count} × ${text}` : text));
		const last = parts.pop() ?? "";
		return parts.length > 0 ? `${parts.join(", ")} ${this.word("word.and")} ${last}` : last;
	}

	/** The words for a name of the schema. */
	label(kind: string, name: string): string {
		return this.game.phrases[`${kind}.${name}`] ?? spaced(name);
	}

	/** Whether a field holds cards of the catalog. */
	holdsCards(field: DescField): boolean {
		const kind = enumOf(field);
		if (kind) return kind.values.some((value) => this.cards.has(wordOf(kind, value.number)));
		if (!isInteger(field) && scalarOf(field) !== STRING) return false;
		return isList(field) ? CARDS.test(field.name) || CARD.test(field.name) : CARD.test(field.name);
	}

	/** Whether a field names a seat by its number. */
	namesSeat = (field: DescField) =>
		isInteger(field) && (isList(field) ? field.name === "seats" : SEAT.test(field.name));

	/** The id of a card; empty for one that is face down. */
	cardOf(field: DescField, value: unknown): string {
		const kind = enumOf(field);
		return kind ? (value ? wordOf(kind, value as number) : "") : `${value}`;
	}

	/** The ids of the cards of a field. */
	cardsOf(message: ReflectMessage, field: DescField): string[] {
		return valuesOf(message, field).map((value) => this.cardOf(field, value));
	}

	titleOf = (card: string) => this.cards.get(card)?.title ?? (card || this.word("word.card"));
	seatOf = (seat: number) => this.game.seatTitles[seat] ?? `${seat}`;

	/** A value in words. */
	valueOf = (field: DescField, value: unknown, reader = this.titles) =>
		this.value(field, value, reader).text;

	private value(field: DescField, value: unknown, reader: Reader): Value {
		const kind = enumOf(field);
		const key = kind ? wordOf(kind, value as number).toLowerCase() : `${value}`;
		const named = this.game.phrases[`value.${field.name}.${key}`];
		if (scalarOf(field) === BOOL) {
			const text = named ?? this.word(value ? "word.yes" : "word.no");
			return { text, keys: [key], says: Boolean(value) };
		}
		if (this.namesSeat(field)) {
			const seat = Number(value);
			return { text: named ?? reader.who(seat), keys: [key], says: true, seat };
		}
		const card = this.holdsCards(field) && this.cards.get(this.cardOf(field, value));
		if (card) {
			const keys = [card.id.toLowerCase(), card.kind.toLowerCase()];
			return { text: named ?? card.title, keys, says: true };
		}
		if (kind) {
			const text = named ?? (value ? this.wordFor(wordOf(kind, value as number)) : "–");
			return { text, keys: [key], says: Boolean(value) };
		}
		const says = Boolean(Number(value) || named || this.holdsCards(field));
		return { text: named ?? key, keys: [key], says: says || scalarOf(field) === STRING };
	}

	/** The words for an enum value; one such as CLUBS, with which the ids of the cards of one kind
	 * begin, is called as the kind is, which the catalog has in the visitor's language. */
	private wordFor(word: string): string {
		const named = this.game.cards.filter((card) => card.id.startsWith(`${word}_`));
		const [kind, ...others] = new Set(named.map((card) => card.kind));
		if (!kind || others.length > 0) return spaced(word);
		return kind.charAt(0).toUpperCase() + kind.slice(1);
	}

	/** All values of a field in words; undefined if it says nothing. */
	fieldIn(message: ReflectMessage, field: DescField, reader = this.titles): string | undefined {
		if (messageOf(field)) {
			const parts = valuesOf(message, field).map((each) => this.allOf(each as ReflectMessage));
			return parts.length > 0 ? this.listed(parts.map((each) => each.join(" "))) : undefined;
		}
		const { values, hidden } = this.field(message, field, reader);
		return this.listed(values.map(({ text }) => text)) || hidden || undefined;
	}

	private field(message: ReflectMessage, field: DescField, reader: Reader): Field {
		const values = valuesOf(message, field).map((each) => this.value(field, each, reader));
		if (!this.holdsCards(field)) return { values, hidden: "" };
		// Cards that are hidden are counted.
		const counted = fieldOf(message, "count");
		const count = counted ? Number(message.get(counted)) : 0;
		if (!isList(field)) return { values, hidden: this.word("word.card") };
		return { values, hidden: count ? this.count(count) : this.word("word.no_cards") };
	}

	private fields(message: ReflectMessage, reader: Reader): Fields {
		const within = chosen(message)?.message;
		const parts = within ? [message, within] : [message];
		return new Map(
			parts.flatMap((part) =>
				part.fields
					.filter((field) => !messageOf(field))
					.map((field) => [field.name, this.field(part, field, reader)] as const),
			),
		);
	}

	/** "1 card" or "2 cards". */
	count = (count: number) => this.word("word.cards", { count });

	/** The values of all fields that say something, and what the game calls them, if it does. */
	allOf(
		message: ReflectMessage,
		but = (_: DescField) => false,
		called = (_: DescField): string | undefined => undefined,
	): string[] {
		const listed = message.fields.some((field) => isList(field) && isSaid(message, field));
		return message.fields
			.filter((field) => !but(field) && isSaid(message, field))
			.flatMap((field) => {
				const text = this.fieldIn(message, field) ?? "";
				if (field.name === "count" && isInteger(field))
					return listed ? [] : [this.count(Number(text))];
				const plain = this.holdsCards(field) || this.namesSeat(field) || enumOf(field);
				const own = called(field) ?? spaced(field.name).toLowerCase();
				return plain ? [text] : [`${own} ${text}`];
			});
	}

	/** An action or an event in words: the seat that it is about, if there is one, and the rest. */
	tell(
		part: "action" | "event",
		message: ReflectMessage,
		reader = this.titles,
	): { seat?: number; text: string } {
		const what = chosen(message);
		const name = what?.field.name ?? "";
		const fields = this.fields(message, reader);
		const phrase = this.variant(`${part}.${name}`, fields);
		if (phrase === undefined) {
			const values = what?.message ? this.allOf(what.message, ({ name }) => name === "seat") : [];
			const text = [spaced(name), values.join(", ")].filter(Boolean).join(": ");
			return { seat: seatIn(fields, "seat"), text };
		}
		const subject = BEGINS.exec(phrase);
		const seat = subject ? seatIn(fields, subject[1]!) : undefined;
		if (!subject || seat === undefined)
			return { text: capital(this.fill(phrase, fields, undefined, reader)) };
		return { seat, text: this.fill(phrase.slice(subject[0].length), fields, seat, reader) };
	}

	/** A sentence with the fields of a message. */
	sentence = (template: string, message: ReflectMessage) =>
		this.fill(template, this.fields(message, this.titles));

	/** What decided a match, in the language of the catalog; in English if that has no such phrase. */
	ending(ending: Ending, reader = this.titles): string {
		const fields = new Map(
			ending.values.map(({ field, value }) => {
				const { case: kind, value: given } = value;
				const seat = kind === "seat" ? { seat: given } : {};
				const text =
					kind === "seat"
						? reader.who(given)
						: kind === "card"
							? this.titleOf(given)
							: `${given ?? ""}`;
				return [field, { values: [{ text, keys: [text], says: true, ...seat }], hidden: "" }];
			}),
		);
		const phrase = this.game.phrases[`ending.${ending.id}`];
		// The catalog may be that of a server of another version.
		const known = (name: string) => name.includes("|") || fields.has(name);
		const whole = phrase && [...phrase.matchAll(BRACES)].every(([, name]) => known(name!));
		return whole ? capital(this.fill(phrase, fields, undefined, reader)) : ending.text;
	}

	/** The phrase of a name whose conditions hold, those with most of them first. */
	private variant = (name: string, fields: Fields) =>
		this.variants
			.get(name)
			?.find(({ conditions }) => conditions.every((each) => holds(each, fields)))?.phrase;

	private fill(phrase: string, fields: Fields, about?: number, reader = this.titles): string {
		const named = [...phrase.matchAll(BRACES)].map(([, name]) => seatIn(fields, name!));
		const seat = about ?? named.find((each) => each !== undefined) ?? seatIn(fields, "seat");
		const own = seat !== undefined && seat === reader.me;
		const said = (part: string) =>
			[...part.matchAll(BRACES)]
				.map(([, name]) => name!)
				.every((name) => name.includes("|") || says(fields.get(name.split(".")[0]!)));
		return phrase
			.replace(PARTS, (_, part: string) => (said(part) ? part : ""))
			.replace(BRACES, (braced, inside: string) => {
				const [other, mine] = inside.split("|");
				if (mine !== undefined) return own ? mine : other!;
				const [name, at] = inside.split(".");
				const field = fields.get(name!);
				if (!field) return braced;
				const texts = field.values.map(({ text }) => text);
				return (at ? texts[Number(at)] : this.listed(texts)) || field.hidden || "–";
			});
	}
}

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** In none and in all is only what is certain. */
const ofCases = (chance: number, cases: number) =>
	chance === 0 || chance === 1
		? cases * chance
		: Math.min(Math.max(Math.round(cases * chance), 1), cases - 1);

const says = (field: Field | undefined) => field?.values.some((value) => value.says) ?? false;

const seatIn = (fields: Fields, name: string) => fields.get(name)?.values[0]?.seat;

function holds(condition: string, fields: Fields): boolean {
	const [name, wanted] = condition.split("=");
	const field = fields.get(name!);
	if (wanted === undefined) return says(field);
	const keys = field?.values.flatMap((value) => value.keys) ?? [];
	const least = /^(\d+)\+$/.exec(wanted);
	if (least) return keys.some((key) => Number(key) >= Number(least[1]));
	const other = fields.get(wanted)?.values.flatMap((value) => value.keys) ?? [];
	return keys.some((key) => key === wanted || other.includes(key));
}

/** The name of an enum value without the prefix that it shares with the others. */
function wordOf(kind: DescEnum, number: number): string {
	const prefix = `${kind.name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase()}_`;
	const name = kind.value[number]?.name ?? "";
	return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
