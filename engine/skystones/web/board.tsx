// The board of Skystones: the squares, whose chip lies where, and what a placement would take.

import { Glyph } from "@app/cards/glyphs";
import type { BoardProps } from "@app/games/module";
import { SkystonesPhase, type SkystonesView } from "@app/gen/croupier/v1/skystones_pb";
import { t } from "@app/i18n";
import { Share } from "@app/ui/share";
import { useState } from "preact/hooks";
import { edgesOf, SkyCard } from "./card";
import { say } from "./texts";

export const FIELDS = ["", "FIRE", "EARTH", "ELECTRO", "WATER", "AIR", "BLOCKED"];

export const squareName = (square: number, size: number) =>
	say().squareShort(Math.floor(square / size) + 1, (square % size) + 1);

export function SkyBoard({ view, context, picker, near }: BoardProps) {
	const game = view.game.value as SkystonesView;
	const size = Math.round(Math.sqrt(game.board.length)) || 3;
	const [hover, setHover] = useState<number | undefined>();
	const held = picker.clicks[0]?.key.slice("card:".length);
	const preview =
		hover !== undefined && held !== undefined && picker.can(`square:${hover}`)
			? taken(game, context, held, hover, size, near)
			: [];
	const chips = [0, 1].map((seat) => game.board.filter((square) => square.owner === seat).length);
	return (
		<div class={`skyboard ${game.phase === SkystonesPhase.PICK ? "picking" : ""}`}>
			<div class="boardhead">
				<span>{say().round(game.round)}</span>
				<span class="chips" title={say().chips}>
					<span class={`chip ${near === 0 ? "mine" : "theirs"}`}>{chips[0]}</span>
					<span class="muted"> : </span>
					<span class={`chip ${near === 1 ? "mine" : "theirs"}`}>{chips[1]}</span>
				</span>
			</div>
			<div class={`squares size${size}`} role="group" aria-label={say().chips}>
				{game.board.map((square, index) => {
					const key = `square:${index}`;
					const card =
						square.card === undefined ? undefined : context.catalog.cards.get(`${square.card}`);
					const field = FIELDS[square.field] ?? "";
					const fieldText =
						square.field === 6
							? say().blocked
							: square.field
								? say().only(say().fields[square.field]!)
								: "";
					const where = say().square(Math.floor(index / size) + 1, (index % size) + 1);
					const owner = square.owner === undefined ? "" : square.owner === near ? "mine" : "theirs";
					const label = [
						where,
						fieldText,
						card
							? `${card.title}, ${ownerName(context, square.owner)}, ${say().edges(...(edgesOf(card) as [number, number, number, number]))}`
							: t().empty,
					]
						.filter(Boolean)
						.join(", ");
					return (
						<button
							key={index}
							type="button"
							class={`square ${field.toLowerCase()} ${owner} ${preview.includes(index) ? "preview" : ""}`}
							data-key={key}
							data-can={picker.can(key) || undefined}
							aria-disabled={!picker.can(key)}
							aria-label={label}
							onClick={() => picker.pick(key)}
							onMouseEnter={() => setHover(index)}
							onMouseLeave={() => setHover(undefined)}
							onFocus={() => setHover(index)}
							onBlur={() => setHover(undefined)}
						>
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
								</span>
							)}
							<Share of={picker.share(key)} />
						</button>
					);
				})}
			</div>
		</div>
	);
}

function ownerName(context: BoardProps["context"], owner: number | undefined) {
	return owner === context.me ? t().you : (context.catalog.game.seatTitles[owner ?? 0] ?? "");
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
