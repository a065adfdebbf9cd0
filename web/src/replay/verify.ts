// The check of a deal: the hash of the secret, and the cards derived from it again, as the
// project's docs/fair-deals.md and engine/chance.pyx say.
import { sha256 } from "@noble/hashes/sha2.js";
import { shake256 } from "@noble/hashes/sha3.js";
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { bytesToHex } from "../api/hex";
import type { Game, Event as MatchEvent, MatchRecord } from "../api/types";

export interface Verdict {
	/** Whether the secret has the hash that this browser kept, or else that of the record. */
	hash: "kept" | "record" | "wrong";
	/** The number of cards in the deal that were derived again. */
	cards: number;
	/** Whether all of them lie where the record says. */
	equal: boolean;
}

const ZERO = new Uint8Array([0]);
const TAPE_BYTES = 16_384;

/** Checks a record against the hash that was published before the first card. */
export async function verify(
	record: MatchRecord,
	keptHash: string | undefined,
	game: Game,
): Promise<Verdict> {
	const actual = bytesToHex(await hashOf(record.secret));
	const expected = keptHash ?? bytesToHex(record.secretHash);
	const hash = actual !== expected ? "wrong" : keptHash ? "kept" : "record";
	const derived = derive(record, game);
	const told = toldBy(record);
	const equal = derived.length > 0 && derived.every((card, index) => card === told[index]);
	return { hash, cards: derived.length, equal };
}

/** By WebCrypto, which a page without TLS has on loopback only; elsewhere by the library. */
async function hashOf(secret: Uint8Array): Promise<Uint8Array> {
	const bytes = new Uint8Array(secret);
	if (!globalThis.crypto?.subtle) return sha256(bytes);
	return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** The bytes from which the chance of a version is drawn. */
export function tape(record: MatchRecord, version: bigint): Uint8Array {
	const id = record.seeded ? "" : record.name.replace("matches/", "");
	const number = new Uint8Array(8);
	new DataView(number.buffer).setBigUint64(0, version);
	const parts = [utf8ToBytes("croupier/chance/v1"), ZERO, utf8ToBytes(id), ZERO, number];
	return shake256(concatBytes(...parts, secretOf(record)), { dkLen: TAPE_BYTES });
}

/** The secret, mixed with what the seats contributed, if they did. */
function secretOf(record: MatchRecord): Uint8Array {
	const shares = record.entries
		.flatMap(({ entry }) => (entry.case === "entropy" ? [entry.value] : []))
		.sort((a, b) => a.seat - b.seat);
	if (!record.entropyFromSeats || shares.length === 0) return record.secret;
	const parts = shares.flatMap(({ seat, entropy }) => [
		new Uint8Array([seat, entropy.length]),
		entropy,
	]);
	const label = utf8ToBytes("croupier/entropy/v1");
	return shake256(concatBytes(label, ZERO, record.secret, ...parts), { dkLen: 32 });
}

/** Draws numbers from a tape, each equally likely. */
export class Draws {
	private at = 0;
	private readonly bytes: DataView;

	constructor(tape: Uint8Array) {
		this.bytes = new DataView(tape.buffer, tape.byteOffset, tape.byteLength);
	}

	/** A number from 0 to n - 1, by Lemire's method. */
	below(n: number): number {
		const threshold = (2 ** 32 - n) % n;
		for (;;) {
			// The upper half of 8 bytes, the least significant first.
			const product = this.bytes.getUint32(this.at + 4, true) * n;
			this.at += 8;
			if (product % 2 ** 32 >= threshold) return Math.floor(product / 2 ** 32);
		}
	}

	/** Shuffles in place (Fisher-Yates). */
	shuffle(cards: string[]): string[] {
		for (let i = cards.length - 1; i > 0; i--) {
			const j = this.below(i + 1);
			[cards[i], cards[j]] = [cards[j]!, cards[i]!];
		}
		return cards;
	}
}

/** The cards of the deal, each as "place card", derived from the secret. */
function derive(record: MatchRecord, game: Game): string[] {
	const draws = new Draws(tape(record, versionOfDeal(record)));
	const deck = deckOf(record, game);
	const pile = (name: string) =>
		draws
			.shuffle([...deck])
			.reverse()
			.map((card) => `${name} ${card}`);
	switch (record.ruleset?.game.case) {
		case "championChess":
			return [...pile("0"), ...pile("1")];
		case "powershotSoccer":
			return [...pile("0"), ...pile("1")];
		case "castleRampage": {
			const starter = draws.below(2);
			return [`starter ${starter}`, ...pile("-")];
		}
		case "skystones": {
			const cards = draws.shuffle([...deck]);
			const half = Math.floor(cards.length / 2);
			return [
				...cards.slice(0, half).map((card) => `0 ${card}`),
				...cards.slice(half, 2 * half).map((card) => `1 ${card}`),
				...cards.slice(2 * half).map((card) => `- ${card}`),
			];
		}
		default:
			return [];
	}
}

/** The cards of the deal in the same order, as the events of the record tell them. */
function toldBy(record: MatchRecord): string[] {
	const told: string[] = [];
	const version = firstEventVersion(record);
	const seats = new Set<string>();
	for (const { entry } of record.entries) {
		if (entry.case !== "event" || (entry.value as MatchEvent).version !== version) continue;
		const what = (entry.value as MatchEvent).event;
		if (what.case === "championChess" && what.value.event.case === "shuffled") {
			const seat = `${what.value.seat}`;
			if (seats.has(seat)) continue;
			seats.add(seat);
			told.push(...what.value.event.value.cards.map((card) => `${seat} ${card}`));
		} else if (what.case === "powershotSoccer" && what.value.event.case === "shuffled") {
			const seat = `${what.value.event.value.seat}`;
			if (seats.has(seat)) continue;
			seats.add(seat);
			told.push(...what.value.event.value.cards.map((card) => `${seat} ${card}`));
		} else if (what.case === "skystones" && what.value.event.case === "dealt") {
			const { seat, cards } = what.value.event.value;
			told.push(...cards.map((card) => `${seat ?? "-"} ${card}`));
		} else if (what.case === "castleRampage" && what.value.event.case === "starterDrawn") {
			told.push(`starter ${what.value.seat}`);
		} else if (what.case === "castleRampage" && what.value.event.case === "shuffled") {
			if (seats.has("-")) continue;
			seats.add("-");
			told.push(...what.value.event.value.cards.map((card) => `- ${card}`));
		}
	}
	return told;
}

const firstEventVersion = (record: MatchRecord) =>
	record.entries.flatMap(({ entry }) =>
		entry.case === "event" ? [(entry.value as MatchEvent).version] : [],
	)[0] ?? 0n;

/** Versions in which a token was replaced do not count. */
function versionOfDeal(record: MatchRecord): bigint {
	const version = firstEventVersion(record);
	const replaced = record.entries.filter(
		(each) => each.entry.case === "seatTokenReplaced" && each.version <= version,
	);
	return version - BigInt(replaced.length);
}

/** The deck before it is shuffled: the cards in the order of their list, as the events number them. */
function deckOf(record: MatchRecord, game: Game): string[] {
	const own = record.ruleset?.game;
	const ruleset = own?.value?.cards.length ? own : game.defaultRuleset?.game;
	switch (ruleset?.case) {
		case "championChess":
		case "castleRampage": {
			const specs = [...(ruleset.value.cards as { card: number; copies?: number }[])];
			return specs
				.sort((a, b) => a.card - b.card)
				.flatMap(({ card, copies }) => Array<string>(copies ?? 0).fill(`${card}`));
		}
		case "skystones":
		case "powershotSoccer":
			return (ruleset.value.cards as { copies?: number }[]).flatMap(({ copies }, index) =>
				Array<string>(copies ?? 1).fill(`${index}`),
			);
		default:
			return [];
	}
}
