// The page: its head, and the place where the visitor is.
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Glyph } from "./cards/glyphs";
import { catalogOf, isMissing } from "./games/catalog";
import { t } from "./i18n";
import { Enter, Join } from "./lobby/join";
import { Lobby } from "./lobby/lobby";
import { SettingsDialog } from "./lobby/settings";
import { MatchScreen } from "./match/screen";
import { addressOf, linkTo, type Place, place } from "./state/router";
import { idOf, type Seat, seatOf, unkept } from "./state/seats";
import { type Language, language } from "./state/settings";
import { Button } from "./ui/button";
import { CopyLink } from "./ui/copylink";
import { Loading, Notice } from "./ui/notice";

export function App() {
	const here = place.value;
	const [setting, setSetting] = useState(false);
	const seat = here.at === "match" || here.at === "replay" ? seatOf(here.id) : undefined;
	const playing = here.at === "puzzles" ? here.game : seat?.game;
	const title = playing && catalogOf(playing)?.game.title;
	return (
		<>
			<a
				class="skip"
				href="#main"
				onClick={(event) => {
					event.preventDefault();
					document.getElementById("main")?.focus();
				}}
			>
				{t().skip}
			</a>
			<header class="top">
				<a class="brand" href={linkTo.lobby} aria-label={`${t().table}: ${t().lobby}`}>
					<Glyph name="MAGIC" />
					<span>{t().table}</span>
				</a>
				{title && <h1 class="where">{title}</h1>}
				<Settings onOpen={() => setSetting(true)} />
			</header>
			<main id="main" tabIndex={-1}>
				{seat && unkept.value && <Unkept seat={seat} />}
				<Screen here={here}>
					{playing !== undefined && isMissing(playing) ? (
						<Notice says={t().noGame} />
					) : (
						screen(here, seat)
					)}
				</Screen>
			</main>
			{setting && <SettingsDialog onClose={() => setSetting(false)} />}
		</>
	);
}

function screen(here: Place, seat: Seat | undefined) {
	switch (here.at) {
		case "lobby":
			return <Lobby />;
		case "puzzles":
			return <Puzzles {...here} key={here.game} />;
		case "join":
			return <Join invitation={here.invitation} />;
		case "watch":
		case "seat":
			return <Enter id={here.id} token={here.token} key={here.token} />;
		case "nowhere":
			return <Notice says={t().badLink} />;
	}
	// Whether the server knows the match cannot be told without a token.
	if (!seat) return <Notice says={t().noSeat} id="noseat" />;
	return here.at === "match" ? (
		<MatchScreen seat={seat} key={seat.match} />
	) : (
		<Replay seat={seat} version={here.version} key={seat.match} />
	);
}

/** What a place shows, or that it cannot be shown: whatever fails leads on. */
class Screen extends Component<{ here: Place; children: ComponentChildren }, { failed?: Place }> {
	override componentDidCatch(error: unknown) {
		reportError(error);
		this.setState({ failed: this.props.here });
	}
	override render() {
		const { here, children } = this.props;
		return this.state.failed === here ? <Again says={t().failed} /> : children;
	}
}

/** A seat that is gone with this page, unless somebody keeps its link. */
function Unkept({ seat }: { seat: Seat }) {
	const to = seat.seat === undefined ? linkTo.watch : linkTo.seat;
	return (
		<div class="unkept" role="alert">
			<p>{t().unkept}</p>
			<CopyLink address={addressOf(to(idOf(seat.match), seat.token))} />
		</div>
	);
}

/** The replay and its review. */
const Replay = later<{ seat: Seat; version?: string }>(() =>
	import("./replay/screen").then((it) => it.ReplayScreen),
);
const Puzzles = later<{ game: string; puzzle?: string; theme?: string }>(() =>
	import("./puzzle/screen").then((it) => it.PuzzleScreen),
);

/** A screen that is loaded when it is asked for. */
function later<Props extends object>(load: () => Promise<ComponentType<Props>>) {
	return (props: Props) => {
		const [loaded, setLoaded] = useState<{ Screen?: ComponentType<Props> }>();
		useEffect(() => {
			load().then(
				(Screen) => setLoaded({ Screen }),
				() => setLoaded({}),
			);
		}, []);
		if (loaded?.Screen) return <loaded.Screen {...props} />;
		return loaded ? <Again says={t().notSent} /> : <Loading />;
	};
}

const Again = ({ says }: { says: string }) => (
	<Notice says={says}>
		<Button onClick={() => location.reload()}>{t().again}</Button>
	</Notice>
);

function Settings({ onOpen }: { onOpen: () => void }) {
	return (
		<div class="settings">
			<select
				aria-label={t().languageLabel}
				value={language.value}
				onChange={(event) => {
					language.value = event.currentTarget.value as Language;
				}}
			>
				<option value="en">English</option>
				<option value="de">Deutsch</option>
			</select>
			<Button onClick={onOpen} data-testid="settings">
				{t().settings}
			</Button>
		</div>
	);
}
