// The replay of a finished match, from its record.
import { t } from "../i18n";
import type { Seat } from "../state/seats";

export function ReplayScreen({ seat }: { seat: Seat }) {
	return <p class="notice">{t().replayTitle(seat.game)}</p>;
}
