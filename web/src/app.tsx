// The page: its head, and the place where the visitor is.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Glyph } from "./cards/glyphs";
import { catalogOf } from "./games/catalog";
import { t } from "./i18n";
import { Enter, Join } from "./lobby/join";
import { Lobby } from "./lobby/lobby";
import { SettingsDialog } from "./lobby/settings";
import { MatchScreen } from "./match/screen";
import { linkTo, place } from "./state/router";
import { type Seat, seatOf } from "./state/seats";
import { type Language, language } from "./state/settings";
import { Button } from "./ui/button";
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
				{here.at === "lobby" && <Lobby />}
				{here.at === "puzzles" && <Puzzles {...here} key={here.game} />}
				{here.at === "join" && <Join invitation={here.invitation} />}
				{(here.at === "watch" || here.at === "seat") && (
					<Enter id={here.id} token={here.token} key={here.token} />
				)}
				{here.at === "match" && (seat ? <MatchScreen seat={seat} key={seat.match} /> : <NoSeat />)}
				{here.at === "replay" && (seat ? <Replay seat={seat} key={seat.match} /> : <NoSeat />)}
			</main>
			{setting && <SettingsDialog onClose={() => setSetting(false)} />}
		</>
	);
}

/** The replay and its review. */
const Replay = later<{ seat: Seat }>(() => import("./replay/screen").then((it) => it.ReplayScreen));
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
		return <Loading says={loaded && t().notSent} />;
	};
}

/** Whether the server knows the match cannot be told without a token. */
const NoSeat = () => <Notice says={t().noSeat} id="noseat" />;

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
