// The button in the lobby that begins a lesson: a match against a beginner, with a coach.
import { BotStrength } from "../api/types";
import { type Catalog, rulesetOf } from "../games/module";
import { t } from "../i18n";
import { lessons } from "../state/lessons";
import { seats } from "../state/seats";
import { Button } from "../ui/button";
import { Refused } from "../ui/refused";
import { useCreation } from "./creation";

/** Whether the game can be learned here, and was neither learned nor played in this browser. */
export const isNew = ({ module: { id, guide } }: Catalog) =>
	guide !== undefined &&
	!lessons.value.includes(id) &&
	!seats.value.some(({ game }) => game === id);

/** `back` is where whoever has learned the game wants to go. */
export function Learn({ catalog, back }: { catalog: Catalog; back?: string }) {
	const { id, guide } = catalog.module;
	const { create, underway, failed } = useCreation(id);
	if (!guide) return null;
	const begin = () =>
		create(
			async () => {
				const standard = catalog.game.defaultRuleset;
				const lesson = await guide();
				return {
					ruleset: (standard && lesson.ruleset?.(standard)) ?? rulesetOf(id, {}),
					opponent: { kind: "bot", strength: BotStrength.BEGINNER },
					seat: 0,
				};
			},
			{ bot: "BEGINNER", lesson: [], back },
		);
	const done = lessons.value.includes(id);
	return (
		<>
			<Button
				class={isNew(catalog) ? "learn primary" : "learn"}
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
			</Button>
			<Refused says={failed} />
		</>
	);
}
