// What the server refused, as a reason that the web app has words for.
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

export interface Refusal {
	/** The ErrorReason without its prefix, such as STALE_VERSION; empty if the server gave none. */
	reason: string;
	message: string;
	/** Whether the same call may succeed later without a change. */
	temporary: boolean;
	code: Code;
}

const TEMPORARY = [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted, Code.Unknown];

export function refusalOf(error: unknown): Refusal {
	const refused = ConnectError.from(error);
	const info = refused.details.find((d) => "type" in d && d.type === "google.rpc.ErrorInfo");
	const reason = info && "value" in info ? firstString(info.value as Uint8Array) : "";
	// A call that never reached the server is reported as an unknown or an internal error.
	const offline = error instanceof TypeError || refused.cause instanceof TypeError;
	return {
		reason,
		message: refused.rawMessage,
		temporary: offline || TEMPORARY.includes(refused.code),
		code: refused.code,
	};
}

/** The `reason` of a serialized google.rpc.ErrorInfo, which is its first field. */
function firstString(bytes: Uint8Array): string {
	const reader = new BinaryReader(bytes);
	while (reader.pos < reader.len) {
		const [field, wireType] = reader.tag();
		if (field === 1) return reader.string();
		reader.skip(wireType);
	}
	return "";
}
