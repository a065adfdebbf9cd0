// The page: its head, and the place where the visitor is.
import { Glyph } from "./cards/glyphs";
import { t } from "./i18n";
import { Join, Watch } from "./lobby/join";
import { Lobby } from "./lobby/lobby";
import { MatchScreen } from "./match/screen";
import { ReplayScreen } from "./replay/screen";
import { catalogOf } from "./state/catalog";
import { linkTo, place } from "./state/router";
import { seatOf } from "./state/seats";
import { type Language, language, type Theme, theme } from "./state/settings";

export function App() {
	const here = place.value;
	const seat = here.at === "match" || here.at === "replay" ? seatOf(here.id) : undefined;
	const title = seat && catalogOf(seat.game)?.game.title;
	document.title = title ? `${title} – ${t().table}` : t().table;
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
				<Settings />
			</header>
			<main id="main" tabIndex={-1}>
				{here.at === "lobby" && <Lobby />}
				{here.at === "join" && <Join invitation={here.invitation} />}
				{here.at === "watch" && <Watch id={here.id} token={here.token} />}
				{here.at === "match" && (seat ? <MatchScreen seat={seat} key={seat.match} /> : <Gone />)}
				{here.at === "replay" && (seat ? <ReplayScreen seat={seat} key={seat.match} /> : <Gone />)}
			</main>
		</>
	);
}

function Gone() {
	return (
		<div class="notice">
			<p>{t().refused.TOKEN_INVALID}</p>
			<a class="button" href={linkTo.lobby}>
				{t().back}
			</a>
		</div>
	);
}

function Settings() {
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
			<select
				aria-label={t().theme}
				value={theme.value}
				onChange={(event) => {
					theme.value = event.currentTarget.value as Theme;
				}}
			>
				{(["system", "light", "dark"] as const).map((each) => (
					<option value={each} key={each}>
						{t().themes[each]}
					</option>
				))}
			</select>
		</div>
	);
}
