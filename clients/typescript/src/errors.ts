// What a failed call comes with.
import { Code, ConnectError } from "@connectrpc/connect";
import {
	BadRequestSchema,
	ErrorInfoSchema,
	QuotaFailureSchema,
	RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";

/** A failed call, with all that the server said. */
export interface Refusal {
	code: Code;
	message: string;
	/** The name of an ErrorReason without its prefix; empty if the server itself did not answer. */
	reason: string;
	/** What the reason comes with, such as `current_version`. */
	metadata: Record<string, string>;
	/** The fields of the request that are at fault. */
	fields: { field: string; description: string; reason: string }[];
	/** The quotas that are used up. */
	quotas: { subject: string; description: string }[];
	/** When the same call may succeed, if the server named a time. */
	retryAfterMs?: number;
}

// --8<-- [start:errors]
/** Reads all that an error comes with. Errors that no call has thrown are read as well as may be. */
export function explain(error: unknown): Refusal {
	const failed = ConnectError.from(error);
	const info = failed.findDetails(ErrorInfoSchema).find((each) => each.domain === "croupier.v1");
	const delay = failed.findDetails(RetryInfoSchema)[0]?.retryDelay;
	return {
		code: failed.code,
		message: failed.rawMessage,
		reason: info?.reason ?? "",
		metadata: info?.metadata ?? {},
		fields: failed.findDetails(BadRequestSchema).flatMap((each) => each.fieldViolations),
		quotas: failed.findDetails(QuotaFailureSchema).flatMap((each) => each.violations),
		retryAfterMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
	};
}

/** Says in lines of text what an error comes with. */
export function describe(error: unknown): string {
	const refusal = explain(error);
	const metadata = Object.entries(refusal.metadata).map(([name, value]) => ` ${name}=${value}`);
	return [
		`${Code[refusal.code]}: ${refusal.message}`,
		...(refusal.reason ? [`  reason ${refusal.reason}${metadata.join("")}`] : []),
		...refusal.fields.map((each) => `  field ${each.field}: ${each.description} (${each.reason})`),
		...refusal.quotas.map((each) => `  quota of ${each.subject}: ${each.description}`),
		...(refusal.retryAfterMs ? [`  retry after ${refusal.retryAfterMs} ms`] : []),
	].join("\n");
}
// --8<-- [end:errors]
