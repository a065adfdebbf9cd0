// What any game says: its phrases, with the values of fields put in, or else the names of its schema.
import type { DescEnum, DescField } from "@bufbuild/protobuf";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import type { CatalogCard, Game } from "../../api/types";
import { list, t } from "../../i18n";
import { spaced } from "../module";
import {
	BOOL,
	chosen,
	enumOf,
	fieldOf,
	isInteger,
	isList,
	isSaid,
	messageOf,
	STRING,
	scalarOf,
	valuesOf,
} from "./schema";

const CARD = /^(card|.+_card)$/;
const CARDS = /(^|_)(cards|hand|trick|pile|deck|stock|discards|unseen)$/;
const SEAT = /^(seat|.+_seat|winner|leader|dealer|starter)$/;

export class Words {
	private readonly cards: ReadonlyMap<string, CatalogCard>;

	constructor(readonly game: Game) {
		this.cards = new Map(game.cards.map((card) => [card.id, card]));
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
	namesSeat = (field: DescField) => isInteger(field) && !isList(field) && SEAT.test(field.name);

	/** The id of a card; empty for one that is face down. */
	cardOf(field: DescField, value: unknown): string {
		const kind = enumOf(field);
		return kind ? (value ? wordOf(kind, value as number) : "") : `${value}`;
	}

	/** The ids of the cards of a field. */
	cardsOf(message: ReflectMessage, field: DescField): string[] {
		return valuesOf(message, field).map((value) => this.cardOf(field, value));
	}

	titleOf = (card: string) => this.cards.get(card)?.title ?? (card || t().aCard);
	seatOf = (seat: number) => this.game.seatTitles[seat] ?? `${seat}`;

	/** A value in words. */
	valueOf(field: DescField, value: unknown): string {
		const kind = enumOf(field);
		if (this.holdsCards(field)) return this.titleOf(this.cardOf(field, value));
		if (kind) return value ? this.wordFor(wordOf(kind, value as number)) : "–";
		if (scalarOf(field) === BOOL) return value ? t().yes : t().no;
		if (this.namesSeat(field)) return this.seatOf(Number(value));
		return `${value}`;
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
	fieldIn(message: ReflectMessage, field: DescField): string | undefined {
		const values = valuesOf(message, field);
		if (values.length === 0) {
			// Cards that are hidden are counted.
			const count = fieldOf(message, "count");
			if (!this.holdsCards(field)) return undefined;
			return isList(field) && count ? t().cards(Number(message.get(count))) : t().aCard;
		}
		if (messageOf(field))
			return list(values.map((value) => this.allOf(value as ReflectMessage).join(" ")));
		return list(values.map((value) => this.valueOf(field, value)));
	}

	/** The values of all fields that say something. */
	allOf(message: ReflectMessage, but?: string): string[] {
		const listed = message.fields.some((field) => isList(field) && isSaid(message, field));
		return message.fields
			.filter((field) => field.name !== but && isSaid(message, field))
			.flatMap((field) => {
				const text = this.fieldIn(message, field) ?? "";
				if (field.name === "count" && isInteger(field))
					return listed ? [] : [t().cards(Number(text))];
				const plain = this.holdsCards(field) || this.namesSeat(field) || enumOf(field);
				return plain ? [text] : [`${spaced(field.name).toLowerCase()} ${text}`];
			});
	}

	/** An action or an event in words, with the seat whose it is. */
	tell(kind: "action" | "event", message: ReflectMessage, whose?: number) {
		const what = chosen(message);
		const parts = [what?.message, message].filter((each) => each !== undefined);
		const seatIn = parts.map((each) => ({ each, field: fieldOf(each, "seat") }));
		const said = seatIn.find(({ each, field }) => field && isSaid(each, field));
		const seat = said ? Number(said.each.get(said.field!)) : whose;
		const name = what?.field.name ?? "";
		const phrase = this.game.phrases[`${kind}.${name}`];
		if (phrase === undefined) {
			const values = what?.message ? this.allOf(what.message, "seat") : [];
			return {
				seat,
				subject: seat !== undefined,
				text: [spaced(name), values.join(", ")].filter(Boolean).join(": "),
			};
		}
		// The log sets the seat apart, so it is no part of the sentence.
		const rest = phrase.replace(/^\{seat\}:?\s+/, "");
		const subject = rest !== phrase;
		return { seat, subject, text: this.fill(rest, parts, seat) };
	}

	/** A template with the fields that it names in braces. */
	fill(template: string, parts: readonly ReflectMessage[], seat?: number): string {
		return template.replace(/(:\s)?\{(\w+)\}/g, (braced, colon = "", name: string) => {
			if (name === "seat" && seat !== undefined) return colon + this.seatOf(seat);
			for (const part of parts) {
				const field = fieldOf(part, name);
				if (!field) continue;
				// "draws a card: {card}" says enough without the card, where it is hidden.
				if (colon && !isSaid(part, field)) return "";
				return colon + (this.fieldIn(part, field) ?? "–");
			}
			return braced;
		});
	}
}

/** The name of an enum value without the prefix that it shares with the others. */
function wordOf(kind: DescEnum, number: number): string {
	const prefix = `${kind.name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toUpperCase()}_`;
	const name = kind.value[number]?.name ?? "";
	return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
