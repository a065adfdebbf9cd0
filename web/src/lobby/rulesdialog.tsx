// The rules of a game in a dialog, from wherever they are asked for.
import { t } from "../i18n";
import { catalogOf } from "../state/catalog";
import { Dialog } from "../ui/dialog";
import { Rules } from "./rules";

export function RulesDialog({ id, onClose }: { id: string; onClose: () => void }) {
	const catalog = catalogOf(id);
	if (!catalog) return null;
	return (
		<Dialog title={t().rulesOf(catalog.game.title)} onClose={onClose} wide>
			<Rules catalog={catalog} />
		</Dialog>
	);
}
