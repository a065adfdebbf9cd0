// What only Node can do: gRPC itself, over HTTP/2.
import { readFileSync } from "node:fs";
import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";

export interface Connection {
	/** Whether to use TLS; implied by `ca`. */
	tls?: boolean;
	/** A PEM file with the authorities to trust; by default those that Node knows. */
	ca?: string;
}

/** Returns a transport to the server at "HOST:PORT". It connects with the first call. */
export function connect(server: string, { tls, ca }: Connection = {}): Transport {
	return createGrpcTransport({
		baseUrl: `${tls || ca ? "https" : "http"}://${server}`,
		nodeOptions: ca ? { ca: readFileSync(ca) } : {},
		// Notice a server that has vanished in silence, also while a stream waits.
		pingIntervalMs: 20_000,
		pingTimeoutMs: 8_000,
	});
}
