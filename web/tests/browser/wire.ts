// Messages as Connect sends them in a stream.

/** A message behind its head; the last one of an answer has the flag 2. */
export function frame(message: Uint8Array, flags = 0): Buffer {
	const head = Buffer.alloc(5);
	head.writeUInt8(flags, 0);
	head.writeUInt32BE(message.length, 1);
	return Buffer.concat([head, message]);
}

/** The only message of a request. */
export const unframed = (body: Buffer): Uint8Array => new Uint8Array(body.subarray(5));
