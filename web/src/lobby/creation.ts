// How a match comes into being here: one request, however often it is sent, and then its table.
import { useState } from "preact/hooks";
import { createMatch, type NewMatch } from "../api/calls";
import { refusalOf } from "../api/errors";
import { uuid } from "../api/uuid";
import { inWords } from "../i18n";
import { linkTo } from "../state/router";
import { idOf, type Seat, takeSeat } from "../state/seats";
import { displayName } from "../state/settings";

type Wish = Omit<NewMatch, "displayName" | "requestId">;

export function useCreation(game: string) {
	const [underway, setUnderway] = useState(false);
	const [failed, setFailed] = useState<string>();
	// One id for all attempts: a repeated request creates no second match.
	const [requestId, setRequestId] = useState(uuid);
	/** Creates the match, and goes to its table; `more` is what this browser keeps of it besides. */
	async function create(wish: () => Promise<Wish>, more: Partial<Seat>) {
		setUnderway(true);
		setFailed(undefined);
		try {
			const wanted = await wish();
			const name = displayName.value.trim();
			const created = await createMatch({ ...wanted, displayName: name, requestId });
			const { invitation } = created.invitations[0] ?? {};
			const token = created.seatTokens.find(({ seat }) => seat === wanted.seat);
			takeSeat(created, token, { game, seat: wanted.seat, invitation, ...more });
			location.hash = linkTo.match(idOf(created.name));
		} catch (error) {
			const refusal = refusalOf(error);
			setFailed(inWords(refusal));
			// Whatever was refused may be changed now, which makes it another request.
			if (!refusal.temporary) setRequestId(uuid());
			setUnderway(false);
		}
	}
	return { create, underway, failed };
}
