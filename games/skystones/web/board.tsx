// The board of Skystones: whose chip lies where, and what a placement would take.
import type { Event } from "@app/api/types";
import { counted } from "@app/cards/frame";
import { Glyph } from "@app/cards/glyphs";
import type { BoardProps } from "@app/games/module";
import { nameOfSeat } from "@app/games/sentences";
import {
	type SkystonesEvent,
	SkystonesPhase,
	type SkystonesView,
} from "@app/gen/croupier/v1/skystones_pb";
import { t } from "@app/i18n";
import { Share } from "@app/ui/share";
import { useState } from "preact/hooks";
import { Button } from "../../../web/src/ui/button";
import { edgesOf, SkyCard } from "./card";
import { say } from "./texts";

const FIELDS = ["", "FIRE", "EARTH", "ELECTRO", "WATER", "AIR", "BLOCKED"];
const letterOf = (column: number) => "abc"[column] ?? `${column + 1}`;

export const squareName = (square: number, size: number) =>
	`${letterOf(square % size)}${Math.floor(square / size) + 1}`;

type Square = Pick<SkystonesView["board"][number], "field" | "card" | "owner">;

/** The cards that were placed last, on an empty board those of the round before, and where owners changed. */
function lastRound(game: SkystonesView, events: readonly Event[]) {
	const bare = (): Square[] => game.board.map(({ field }) => ({ field }));
	let board = bare();
	let begun = false;
	let newest: number | undefined;
	let changed: number[] = [];
	for (const { event } of events) {
		if (event.case !== "skystones") continue;
		const what = (event.value as SkystonesEvent).event;
		if (what.case === "roundStarted") begun = true;
		if (what.case !== "placed") continue;
		if (begun) [board, changed] = [bare(), []];
		begun = false;
		const { seat, card, square, taken } = what.value;
		board[square] = { ...board[square]!, card, owner: seat };
		for (const each of taken) board[each]!.owner = seat;
		newest = square;
		changed.push(square, ...taken);
	}
	return { board, newest, changed };
}

export function SkyBoard({ view, events, fresh, context, picker, near }: BoardProps) {
	const game = view.game.value as SkystonesView;
	const size = Math.round(Math.sqrt(game.board.length)) || 3;
	const [hover, setHover] = useState<number | undefined>();
	const held = picker.clicks[0]?.key.slice("card:".length);
	// Where the card would go: by the mouse, or by a move that is only shown.
	const shown = game.board.findIndex((_, index) => picker.chosen(`square:${index}`));
	const aimed = hover !== undefined && picker.can(`square:${hover}`) ? hover : shown;
	const preview =
		aimed >= 0 && held !== undefined ? taken(game, context, held, aimed, size, near) : [];
	const empty = game.board.every((square) => square.card === undefined);
	const last = lastRound(game, events);
	const over = view.result !== undefined || game.phase !== SkystonesPhase.PLACE;
	const past = empty && last.newest !== undefined && over;
	const board: Square[] = past ? last.board : game.board;
	const newest = past || !empty ? last.newest : undefined;
	const changed = lastRound(game, fresh).changed;
	const chips = [0, 1].map((seat) => board.filter((square) => square.owner === seat).length);
	return (
		<div class={`skyboard ${game.phase === SkystonesPhase.PICK && !view.result ? "picking" : ""}`}>
			<div class="boardhead">
				<span>{past ? say().lastBoard : say().round(game.round)}</span>
				<span class="chips" title={say().chips}>
					<span class={`chip ${near === 0 ? "mine" : "theirs"}`}>{chips[0]}</span>
					<span class="muted"> : </span>
					<span class={`chip ${near === 1 ? "mine" : "theirs"}`}>{chips[1]}</span>
				</span>
			</div>
			<div
				class="squares"
				ref={counted(size)}
				role="group"
				aria-label={past ? say().lastBoard : say().board}
			>
				{board.flatMap((square, index) => {
					const key = `square:${index}`;
					const card =
						square.card === undefined ? undefined : context.catalog.cards.get(`${square.card}`);
					const field = FIELDS[square.field] ?? "";
					const fieldText =
						field && context.catalog.words.word(`value.field.${field.toLowerCase()}`);
					const owner = square.owner === undefined ? "" : square.owner === near ? "mine" : "theirs";
					const label = [
						squareName(index, size),
						fieldText,
						card
							? `${card.title}, ${nameOfSeat(context, square.owner ?? 0)}, ${say().edges(...(edgesOf(card) as [number, number, number, number]))}`
							: t().empty,
						index === newest ? say().newest : "",
					];
					const drawn = (
						<Button
							key={index}
							class={`square ${field.toLowerCase()} ${owner} ${changed.includes(index) && !(empty && !past) ? "fresh" : ""} ${index === shown ? "shown" : preview.includes(index) ? "preview" : ""}`}
							data-key={key}
							data-can={picker.can(key) || undefined}
							aria-disabled={!picker.can(key)}
							title={card?.title}
							onClick={() => picker.pick(key)}
							onMouseEnter={() => setHover(index)}
							onMouseLeave={() => setHover(undefined)}
							onFocus={() => setHover(index)}
							onBlur={() => setHover(undefined)}
						>
							<span class="sr">{label.filter(Boolean).join(", ")}</span>
							{field && <Glyph name={field} class="field" />}
							{card && (
								<span
									class="tile"
									data-flip={`tile${square.card}`}
									data-owner={owner}
									key={`${square.card}${owner}`}
								>
									<SkyCard card={card} catalog={context.catalog} small />
									<span class={`chip ${owner}`} aria-hidden="true" />
									{index === newest && <span class="newest" title={say().newest} />}
								</span>
							)}
							<Share of={picker.share(key)} />
						</Button>
					);
					if (index % size > 0) return [drawn];
					return [
						<span key={`row${index}`} class="coordinate" aria-hidden="true">
							{index / size + 1}
						</span>,
						drawn,
					];
				})}
				<span aria-hidden="true" />
				{Array.from({ length: size }, (_, column) => (
					<span key={column} class="coordinate" aria-hidden="true">
						{letterOf(column)}
					</span>
				))}
			</div>
		</div>
	);
}

/** The squares whose cards a placement would take: shown while the mouse or the focus is there. */
function taken(
	game: SkystonesView,
	context: BoardProps["context"],
	card: string,
	square: number,
	size: number,
	me: number,
): number[] {
	const mine = context.catalog.cards.get(card);
	if (!mine) return [];
	const points = edgesOf(mine);
	const row = Math.floor(square / size);
	const column = square % size;
	const beside = [
		[row - 1, column],
		[row, column + 1],
		[row + 1, column],
		[row, column - 1],
	] as const;
	return beside.flatMap(([r, c], edge) => {
		if (r < 0 || c < 0 || r >= size || c >= size) return [];
		const at = r * size + c;
		const other = game.board[at];
		if (other?.card === undefined || other.owner === me) return [];
		const theirs = context.catalog.cards.get(`${other.card}`);
		return theirs && edgesOf(theirs)[(edge + 2) % 4]! < points[edge]! ? [at] : [];
	});
}
