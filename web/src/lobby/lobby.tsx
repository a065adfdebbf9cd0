// The lobby: the games, a new match, and the matches of this browser.
import { useState } from "preact/hooks";
import { classOf } from "../games";
import { catalogOf, gameIds } from "../games/catalog";
import { t } from "../i18n";
import { lessons } from "../state/lessons";
import { countSolved, puzzlesOf } from "../state/puzzles";
import { linkTo } from "../state/router";
import { seats } from "../state/seats";
import { Button } from "../ui/button";
import { Cover } from "./cover";
import { isNew, Learn } from "./learn";
import { MyMatches } from "./mymatches";
import { NewMatchDialog } from "./newmatch";
import { RulesDialog } from "./rulesdialog";

export function Lobby() {
	const [dealing, setDealing] = useState<string>();
	const [reading, setReading] = useState<string>();
	return (
		<div class="lobby">
			<header class="hero">
				<h1>{t().table}</h1>
				<p>{t().tagline}</p>
				{seats.value.length === 0 && lessons.value.length === 0 && <p>{t().firstVisit}</p>}
			</header>
			<MyMatches />
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
	const fresh = catalog && isNew(catalog);
	return (
		<li class={`gametile ${classOf(id)}`}>
			<div class="cover" aria-hidden="true">
				{catalog && <Cover catalog={catalog} />}
			</div>
			<div class="about">
				<h3>{catalog?.game.title ?? "…"}</h3>
				<p>{catalog && (catalog.module.blurb?.() ?? firstSentence(catalog.game.rules))}</p>
				<div class="buttons">
					{fresh && <Learn catalog={catalog} />}
					<Button
						class={fresh ? "" : "primary"}
						disabled={!catalog}
						data-testid={`play-${id}`}
						onClick={props.onPlay}
					>
						{t().playNow}
						<span class="sr"> {catalog?.game.title}</span>
					</Button>
					<Button disabled={!catalog} data-testid={`rules-${id}`} onClick={props.onRules}>
						{t().rules}
						<span class="sr"> {catalog?.game.title}</span>
					</Button>
					{catalog && !fresh && <Learn catalog={catalog} />}
					{catalog && <Puzzles id={id} title={catalog.game.title} />}
				</div>
			</div>
		</li>
	);
}

/** The link to the puzzles of a game, if it has any. */
function Puzzles({ id, title }: { id: string; title: string }) {
	const all = puzzlesOf(id) ?? [];
	if (all.length === 0) return null;
	const done = countSolved(all);
	return (
		<a class="button puzzles" href={linkTo.puzzles(id)} data-testid={`puzzles-${id}`}>
			{t().puzzles}
			{done > 0 && (
				<span class="muted num" aria-hidden="true">
					{" "}
					{done}/{all.length}
				</span>
			)}
			<span class="sr">
				{" "}
				{title}
				{done > 0 && `, ${t().puzzlesSolved(done, all.length)}`}
			</span>
		</a>
	);
}

/** The first sentence of the rules of a game, which says what it is about. */
const firstSentence = (rules: string) =>
	/^.*?[.!?](?=\s|$)/s.exec(rules.trim())?.[0].replace(/\s+/g, " ") ?? "";
