// Random UUIDs, for the ids of requests.
import { bytesToHex } from "./hex";

/** A random UUID (version 4). `crypto.randomUUID` is missing on a page without TLS. */
export function uuid(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	bytes[6] = (bytes[6]! & 0x0f) | 0x40;
	bytes[8] = (bytes[8]! & 0x3f) | 0x80;
	return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
