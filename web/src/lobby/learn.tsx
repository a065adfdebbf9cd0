// The button in the lobby that begins a lesson: a match against a beginner, with a coach.
import { useState } from "preact/hooks";
import { createMatch } from "../api/calls";
import { refusalOf } from "../api/errors";
import { bytesToHex } from "../api/hex";
import { BotStrength } from "../api/types";
import { uuid } from "../api/uuid";
import { rulesetOf } from "../games/module";
import { inWords, t } from "../i18n";
import type { Catalog } from "../state/catalog";
import { lessons } from "../state/lessons";
import { linkTo } from "../state/router";
import { addSeat, idOf } from "../state/seats";
import { displayName } from "../state/settings";

export function Learn({ catalog }: { catalog: Catalog }) {
	const { id, guide } = catalog.module;
	// One id for all attempts: a repeated request creates no second match.
	const [requestId, setRequestId] = useState(uuid);
	const [underway, setUnderway] = useState(false);
	const [failed, setFailed] = useState<string>();
	if (!guide) return null;
	async function begin() {
		setUnderway(true);
		const standard = catalog.game.defaultRuleset;
		try {
			const lesson = await guide?.();
			const created = await createMatch({
				ruleset: (standard && lesson?.ruleset?.(standard)) ?? rulesetOf(id, {}),
				opponent: { kind: "bot", strength: BotStrength.BEGINNER },
				seat: 0,
				displayName: displayName.value.trim(),
				requestId,
			});
			addSeat({
				match: created.name,
				game: id,
				seat: 0,
				token: created.seatTokens.find((each) => each.seat === 0)?.token ?? "",
				spectatorToken: created.spectatorToken,
				secretHash: bytesToHex(created.secretHash),
				bot: "BEGINNER",
				created: Date.now(),
				lesson: [],
			});
			location.hash = linkTo.match(idOf(created.name));
		} catch (error) {
			const refusal = refusalOf(error);
			setFailed(inWords(refusal));
			if (!refusal.temporary) setRequestId(uuid());
			setUnderway(false);
		}
	}
	const done = lessons.value.includes(id);
	return (
		<>
			<button
				type="button"
				class="learn"
				disabled={underway}
				data-testid={`learn-${id}`}
				onClick={() => void begin()}
			>
				{done && <span aria-hidden="true">✓</span>} {t().learn}
				<span class="sr">
					{" "}
					{catalog.game.title}
					{done && `, ${t().learned}`}
				</span>
			</button>
			{failed && (
				<p class="refusal" role="alert">
					{failed}
				</p>
			)}
		</>
	);
}
