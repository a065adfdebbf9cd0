// Who comes by an invitation, or by a link for spectators.
import { useEffect, useState } from "preact/hooks";
import { getView, joinMatch } from "../api/calls";
import { refusalOf } from "../api/errors";
import { bytesToHex } from "../api/hex";
import { uuid } from "../api/uuid";
import { t } from "../i18n";
import { gameOf } from "../state/catalog";
import { linkTo, replacePlace } from "../state/router";
import { addSeat, idOf, seatOf } from "../state/seats";

/** The id of the request, the same after a reload, so that a lost response is not a lost seat. */
function requestIdFor(invitation: string): string {
	const key = `croupier.join.${invitation}`;
	const known = sessionStorage.getItem(key);
	if (known) return known;
	const fresh = uuid();
	sessionStorage.setItem(key, fresh);
	return fresh;
}

export function Join({ invitation }: { invitation: string }) {
	const [underway, setUnderway] = useState(false);
	const [failed, setFailed] = useState<string>();
	async function join() {
		setUnderway(true);
		try {
			const joined = await joinMatch(invitation, requestIdFor(invitation));
			const token = joined.seatToken?.token ?? "";
			const { view } = await getView({ match: joined.name, token });
			addSeat({
				match: joined.name,
				game: await gameOf(view),
				seat: joined.seatToken?.seat,
				token,
				spectatorToken: joined.spectatorToken,
				secretHash: bytesToHex(joined.secretHash),
				created: Date.now(),
			});
			replacePlace(linkTo.match(idOf(joined.name)));
		} catch (error) {
			const refusal = refusalOf(error);
			setFailed(refusal.temporary ? t().offline : (t().refused[refusal.reason] ?? refusal.message));
			setUnderway(false);
		}
	}
	return (
		<div class="notice">
			<h1>{t().joinTitle}</h1>
			<p>{t().joinText}</p>
			{failed && (
				<p class="refusal" role="alert">
					{failed}
				</p>
			)}
			<div class="buttons">
				<button
					type="button"
					class="primary large"
					disabled={underway}
					data-testid="join"
					onClick={() => void join()}
				>
					{underway ? t().joining : t().join}
				</button>
				<a class="button quiet" href={linkTo.lobby}>
					{t().back}
				</a>
			</div>
		</div>
	);
}

export function Watch({ id, token }: { id: string; token: string }) {
	const [failed, setFailed] = useState<string>();
	useEffect(() => {
		const stop = new AbortController();
		async function enter() {
			try {
				const { view } = await getView({ match: `matches/${id}`, token }, stop.signal);
				// The token leaves the address bar. A seat of ours is not given up for it.
				if (!seatOf(id)) {
					const game = await gameOf(view);
					addSeat({ match: `matches/${id}`, game, token, created: Date.now() });
				}
				replacePlace(linkTo.match(id));
			} catch (error) {
				if (stop.signal.aborted) return;
				const refusal = refusalOf(error);
				if (refusal.temporary) setTimeout(enter, 2000);
				setFailed(
					refusal.temporary ? t().offline : (t().refused[refusal.reason] ?? refusal.message),
				);
			}
		}
		void enter();
		return () => stop.abort();
	}, [id, token]);
	return (
		<p class="notice" role="status">
			{failed ?? t().loading}
		</p>
	);
}
