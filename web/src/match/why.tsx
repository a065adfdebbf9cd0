// Why a hint advises its move: the reasons, and the most likely answer.
import type { Hint } from "../api/types";
import type { Context } from "../games/module";
import { describeAction } from "../games/sentences";

export function Why({ hint, context }: { hint: Hint; context: Context }) {
	const told = context.catalog.words.why(hint, (action) => describeAction(action, context));
	if (told.length === 0) return null;
	return (
		<ul class="reasons" data-testid="why">
			{told.map((each) => (
				<li key={each}>{each}</li>
			))}
		</ul>
	);
}
