// The check of a deal: the hash of the secret, and the cards derived from it again, as the
// project's docs/fair-deals.md and engine/chance.pyx say.
import { sha256 } from "@noble/hashes/sha2.js";
import { shake256 } from "@noble/hashes/sha3.js";
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { bytesToHex } from "../api/hex";
import type { Game, Event as MatchEvent, MatchRecord, Ruleset } from "../api/types";
import type { Deal, Draws as Drawn } from "../games/module";

export interface Verdict {
	/** Whether the secret has the hash that this browser kept, or else that of the record. */
	hash: "kept" | "record" | "wrong";
	/** The number of cards in the deal that were derived again; 0 if the page cannot derive it. */
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
	deal: Deal | undefined,
): Promise<Verdict> {
	const actual = bytesToHex(await hashOf(record.secret));
	const expected = keptHash ?? bytesToHex(record.secretHash);
	const hash = actual !== expected ? "wrong" : keptHash ? "kept" : "record";
	if (!deal) return { hash, cards: 0, equal: false };
	const draws = new Draws(tape(record, versionOfDeal(record)));
	const derived = deal.derive(draws, specsOf(record, game));
	const told = deal.told(dealt(record));
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
export class Draws implements Drawn {
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

/** The events of the deal, as the game tells them. */
function dealt(record: MatchRecord): unknown[] {
	const kind = record.ruleset?.game.case;
	const version = firstEventVersion(record);
	return record.entries.flatMap(({ entry }) =>
		entry.case === "event" && entry.value.version === version && entry.value.event.case === kind
			? [entry.value.event.value]
			: [],
	);
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

/** The cards of the match: those of its ruleset, or else the game's own. */
function specsOf(record: MatchRecord, game: Game): object[] {
	const cards = (ruleset: Ruleset | undefined) =>
		(ruleset?.game.value as { cards?: object[] } | undefined)?.cards ?? [];
	const own = cards(record.ruleset);
	return own.length > 0 ? own : cards(game.defaultRuleset);
}
