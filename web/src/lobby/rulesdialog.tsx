// The rules of a game in a dialog, from wherever they are asked for.

import { catalogOf } from "../games/catalog";
import { Rules } from "../games/rules";
import { t } from "../i18n";
import { Dialog } from "../ui/dialog";

export function RulesDialog({ id, onClose }: { id: string; onClose: () => void }) {
	const catalog = catalogOf(id);
	if (!catalog) return null;
	return (
		<Dialog title={t().rulesOf(catalog.game.title)} onClose={onClose} wide>
			<Rules catalog={catalog} />
		</Dialog>
	);
}
