// The lobby: the games, a new match, and the matches that are open in this tab.
import { useEffect, useState } from "preact/hooks";
import { createMatch, getView, type NewMatch } from "../api/calls";
import { refusalOf } from "../api/errors";
import { bytesToHex } from "../api/hex";
import { BotStrength, type View } from "../api/types";
import { uuid } from "../api/uuid";
import { classOf } from "../games";
import { rulesetOf } from "../games/module";
import { t } from "../i18n";
import { type Catalog, catalogOf, gameIds } from "../state/catalog";
import { linkTo } from "../state/router";
import { addSeat, forgetSeat, idOf, type Seat, seats } from "../state/seats";
import { Dialog } from "../ui/dialog";
import { Cover } from "./cover";
import { Rules } from "./rules";

const STRENGTHS = ["RANDOM", "BEGINNER", "CASUAL", "SKILLED", "EXPERT"] as const;
const CLOCKS = {
	none: undefined,
	blitz: { perMatch: 300, increment: 5 },
	rapid: { perMatch: 900, increment: 10 },
	daily: { perDecision: 86_400 },
} as const;

export function Lobby() {
	const [dealing, setDealing] = useState<string>();
	const [reading, setReading] = useState<string>();
	return (
		<div class="lobby">
			<header class="hero">
				<h1>{t().table}</h1>
				<p>{t().tagline}</p>
			</header>
			{seats.value.length > 0 && (
				<section class="mymatches" aria-labelledby="mymatches">
					<h2 id="mymatches">{t().yourMatches}</h2>
					<ul>
						{seats.value.map((seat) => (
							<MyMatch key={seat.match} seat={seat} />
						))}
					</ul>
				</section>
			)}
			<section aria-labelledby="choose">
				<h2 id="choose">{t().chooseGame}</h2>
				<ul class="games">
					{gameIds().map((id) => (
						<GameTile
							key={id}
							id={id}
							onPlay={() => setDealing(id)}
							onRules={() => setReading(id)}
						/>
					))}
				</ul>
			</section>
			{dealing && <NewMatchDialog id={dealing} onClose={() => setDealing(undefined)} />}
			{reading && <RulesDialog id={reading} onClose={() => setReading(undefined)} />}
		</div>
	);
}

function GameTile(props: { id: string; onPlay: () => void; onRules: () => void }) {
	const { id } = props;
	const catalog = catalogOf(id);
	return (
		<li class={`gametile ${classOf(id)}`}>
			<div class="cover" aria-hidden="true">
				{catalog && <Cover catalog={catalog} />}
			</div>
			<div class="about">
				<h3>{catalog?.game.title ?? "…"}</h3>
				<p>{catalog && (catalog.module.blurb?.() ?? firstSentence(catalog.game.rules))}</p>
				<div class="buttons">
					<button
						type="button"
						class="primary"
						disabled={!catalog}
						data-testid={`play-${id}`}
						onClick={props.onPlay}
					>
						{t().playNow}
						<span class="sr"> {catalog?.game.title}</span>
					</button>
					<button type="button" disabled={!catalog} onClick={props.onRules}>
						{t().rules}
						<span class="sr"> {catalog?.game.title}</span>
					</button>
				</div>
			</div>
		</li>
	);
}

/** The first sentence of the rules of a game, which says what it is about. */
const firstSentence = (rules: string) =>
	/^.*?[.!?](?=\s|$)/s.exec(rules.trim())?.[0].replace(/\s+/g, " ") ?? "";

function RulesDialog({ id, onClose }: { id: string; onClose: () => void }) {
	const catalog = catalogOf(id);
	if (!catalog) return null;
	return (
		<Dialog title={t().rulesOf(catalog.game.title)} onClose={onClose} wide>
			<Rules catalog={catalog} />
		</Dialog>
	);
}

function NewMatchDialog({ id, onClose }: { id: string; onClose: () => void }) {
	const catalog = catalogOf(id) as Catalog;
	const game = catalog.module;
	const [against, setAgainst] = useState<"bot" | "friend">("bot");
	const [strength, setStrength] = useState<(typeof STRENGTHS)[number]>("CASUAL");
	const [wanted, setWanted] = useState<"any" | "0" | "1">("any");
	const [clock, setClock] = useState<keyof typeof CLOCKS>("none");
	const [options, setOptions] = useState<Record<string, number | boolean>>(() =>
		Object.fromEntries(game.options.map((option) => [option.name, option.value])),
	);
	const [underway, setUnderway] = useState(false);
	const [failed, setFailed] = useState<string>();
	// One id for all attempts: a repeated request creates no second match.
	const [requestId] = useState(uuid);

	async function deal(event: Event) {
		event.preventDefault();
		setUnderway(true);
		setFailed(undefined);
		const seat =
			wanted === "any"
				? ((crypto.getRandomValues(new Uint8Array(1))[0]! & 1) as 0 | 1)
				: (Number(wanted) as 0 | 1);
		const wish: NewMatch = {
			ruleset: game.ruleset?.(options) ?? rulesetOf(id, options),
			opponent:
				against === "bot" ? { kind: "bot", strength: BotStrength[strength] } : { kind: "friend" },
			seat,
			clock: CLOCKS[clock],
			requestId,
		};
		try {
			const created = await createMatch(wish);
			addSeat({
				match: created.name,
				game: id,
				seat,
				token: created.seatTokens.find((each) => each.seat === seat)?.token ?? "",
				spectatorToken: created.spectatorToken,
				invitation: created.invitations[0]?.invitation,
				secretHash: bytesToHex(created.secretHash),
				bot: against === "bot" ? strength : undefined,
				created: Date.now(),
			});
			location.hash = linkTo.match(idOf(created.name));
		} catch (error) {
			const refusal = refusalOf(error);
			setFailed(refusal.temporary ? t().offline : (t().refused[refusal.reason] ?? refusal.message));
			setUnderway(false);
		}
	}

	return (
		<Dialog title={t().newMatch(catalog.game.title)} onClose={onClose}>
			<form onSubmit={(event) => void deal(event)} data-testid="newmatch">
				<Choices
					title={t().opponent}
					name="opponent"
					value={against}
					onChange={(value) => setAgainst(value as "bot" | "friend")}
					choices={[
						["bot", t().againstBot],
						["friend", t().againstFriend],
					]}
				/>
				{against === "bot" && (
					<Choices
						title={t().strength}
						name="strength"
						value={strength}
						note={t().strengthNotes[strength]}
						onChange={(value) => setStrength(value as (typeof STRENGTHS)[number])}
						choices={STRENGTHS.map((each) => [each, t().strengths[each]!])}
					/>
				)}
				<Choices
					title={t().yourSeat}
					name="seat"
					value={wanted}
					onChange={(value) => setWanted(value as "any" | "0" | "1")}
					choices={[
						["0", catalog.game.seatTitles[0] ?? "1"],
						["1", catalog.game.seatTitles[1] ?? "2"],
						["any", t().anySeat],
					]}
				/>
				<Choices
					title={t().clock}
					name="clock"
					value={clock}
					onChange={(value) => setClock(value as keyof typeof CLOCKS)}
					choices={(Object.keys(CLOCKS) as (keyof typeof CLOCKS)[]).map((each) => [
						each,
						t().clocks[each],
					])}
				/>
				{game.options.map((option) => (
					<label class="option" key={option.name}>
						{option.kind === "boolean" ? (
							<input
								type="checkbox"
								checked={options[option.name] as boolean}
								onChange={(event) =>
									setOptions({ ...options, [option.name]: event.currentTarget.checked })
								}
							/>
						) : (
							<input
								type="number"
								min={option.min}
								max={option.max}
								value={options[option.name] as number}
								onInput={(event) =>
									setOptions({ ...options, [option.name]: event.currentTarget.valueAsNumber || 0 })
								}
							/>
						)}
						{option.label()}
					</label>
				))}
				{failed && (
					<p class="refusal" role="alert">
						{failed}
					</p>
				)}
				<div class="buttons">
					<button type="submit" class="primary large" disabled={underway} data-testid="deal">
						{t().deal}
					</button>
				</div>
			</form>
		</Dialog>
	);
}

function Choices(props: {
	title: string;
	name: string;
	value: string;
	choices: (readonly [string, string])[];
	note?: string;
	onChange: (value: string) => void;
}) {
	return (
		<fieldset class="choices">
			<legend>{props.title}</legend>
			<div class="segments">
				{props.choices.map(([value, label]) => (
					<label key={value}>
						<input
							type="radio"
							name={props.name}
							value={value}
							checked={props.value === value}
							onChange={() => props.onChange(value)}
						/>
						<span>{label}</span>
					</label>
				))}
			</div>
			{props.note && <p class="muted note">{props.note}</p>}
		</fieldset>
	);
}

const POLL_MS = 4000;

/** A match of mine, with whose turn it is. It is asked for now and then: a stream each would use up
 * the few connections that a browser opens to one server. */
function MyMatch({ seat }: { seat: Seat }) {
	const [view, setView] = useState<View>();
	const [gone, setGone] = useState(false);
	const catalog = catalogOf(seat.game);
	useEffect(() => {
		const stop = new AbortController();
		let timer: ReturnType<typeof setTimeout>;
		async function look() {
			try {
				const { view } = await getView(seat, stop.signal);
				setView(view);
				if (view?.result) return;
			} catch (error) {
				if (stop.signal.aborted) return;
				if (!refusalOf(error).temporary) {
					setGone(true);
					return;
				}
			}
			if (!stop.signal.aborted) timer = setTimeout(look, POLL_MS);
		}
		void look();
		return () => {
			stop.abort();
			clearTimeout(timer);
		};
	}, [seat]);
	const mine = seat.seat !== undefined && view?.deciders.includes(seat.seat);
	const status = gone
		? t().gone
		: !view
			? "…"
			: view.result
				? t().over
				: view.game.case === undefined
					? t().waitingFriend
					: seat.seat === undefined
						? t().watching
						: mine
							? t().turnYours
							: t().turnTheirs;
	const against = seat.bot
		? `${t().bot} · ${t().strengths[seat.bot] ?? seat.bot}`
		: seat.seat === undefined
			? t().watching
			: t().friend;
	return (
		<li class={`mymatch ${classOf(seat.game)} ${mine ? "mine" : ""}`}>
			<a href={linkTo.match(idOf(seat.match))}>
				<b>{catalog?.game.title ?? seat.game}</b>
				<span class="muted">{against}</span>
				<span class="status">{status}</span>
			</a>
			<button
				type="button"
				class="quiet"
				aria-label={`${t().remove}: ${catalog?.game.title ?? seat.game}`}
				title={t().remove}
				onClick={() => forgetSeat(seat.match)}
			>
				✕
			</button>
		</li>
	);
}
