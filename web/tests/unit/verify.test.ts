import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MatchRecordSchema } from "../../src/api/types";
import { Draws, tape } from "../../src/replay/verify";

describe("the check of a deal", () => {
	it("draws from the tape what another implementation drew", () => {
		const record = create(MatchRecordSchema, {
			name: "matches/abc123",
			secret: Uint8Array.from({ length: 32 }, (_, index) => index),
		});
		const draws = new Draws(tape(record, 3n));
		// From Python's hashlib.shake_256 and integers of any size.
		expect(draws.shuffle([..."ABCDEFGHIJ"]).join("")).toBe("IBAHFJCEGD");
		expect([1, 2, 3, 4].map(() => draws.below(1000))).toEqual([906, 339, 99, 319]);
	});
});
