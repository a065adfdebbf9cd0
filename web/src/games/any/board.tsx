// The board of any game: what the fields of its view say, the far seat above and the near one below.
import { CardBack } from "../../cards/frame";
import { t } from "../../i18n";
import { Button } from "../../ui/button";
import { Share } from "../../ui/share";
import { type BoardProps, cardKey, cardProps } from "../module";
import { Pile } from "../pile";
import { AnyCard } from "./card";
import type { Item, Layout } from "./layout";

export function AnyBoard(props: BoardProps & { layout: Layout }) {
	const { layout, near } = props;
	const [far, own] = [layout.sides[(1 - near) as 0 | 1], layout.sides[near as 0 | 1]];
	return (
		<div class="anyboard">
			<Row {...props} items={far} class="far" />
			<Row {...props} items={layout.middle} class="middle" />
			<Row {...props} items={own} class="near" />
		</div>
	);
}

type RowProps = BoardProps & { layout: Layout; items: readonly Item[]; class: string };

/** Cards first, since they are what one looks at; figures in a line below them. */
function Row(props: RowProps) {
	const { items } = props;
	if (items.length === 0) return null;
	const big = items.filter(isBig);
	const small = items.filter((item) => !isBig(item));
	return (
		<div class={`anyrow ${props.class}`}>
			{big.length > 0 && (
				<div class="things">
					{big.map((item, index) => (
						<Thing key={index} {...props} item={item} />
					))}
				</div>
			)}
			{small.length > 0 && (
				<div class="small">
					{small.map((item, index) => (
						<Thing key={index} {...props} item={item} />
					))}
				</div>
			)}
		</div>
	);
}

const MOST_CARDS = 8; // That lie open; of more, the last ones do, and all are shown on request.
const LAST = 6;
const BIG = ["cards", "pile", "table", "group"];
const isBig = (item: Item) => BIG.includes(item.kind);

const isHeld = (layout: Layout, card: string) =>
	layout.hand.some((group) => group.cards.includes(card));

function Thing(props: RowProps & { item: Item }) {
	const { item, near } = props;
	switch (item.kind) {
		case "cards":
			return <Cards {...props} item={item} />;
		case "pile":
			return (
				<section class="heap">
					<h2>{item.label}</h2>
					<span class="mini back">
						{item.count > 0 ? <CardBack /> : <span class="vacant" />}
						<b>
							<span class="sr">{t().cards(item.count)}</span>
							<span aria-hidden="true">{item.count}</span>
						</b>
					</span>
				</section>
			);
		case "figure":
			return (
				<span class="figure">
					<span class="what">{item.label}</span>{" "}
					<b class={item.seat === undefined ? "" : item.seat === near ? "who mine" : "who theirs"}>
						{item.value}
					</b>
				</span>
			);
		case "sentence":
			return <span class="figure">{item.text}</span>;
		case "flag":
			return <span class="flag">{item.label}</span>;
		case "table":
			return (
				<table class="rows">
					<caption>{item.label}</caption>
					<thead>
						<tr>
							{item.columns.map((column) => (
								<th key={column} scope="col">
									{column}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{item.rows.map((row, at) => (
							<tr key={at}>
								{row.map((cell, index) => (
									<td key={index}>{cell}</td>
								))}
							</tr>
						))}
					</tbody>
				</table>
			);
		case "group":
			return (
				<section class="part" aria-label={item.label}>
					<h2>{item.label}</h2>
					<Row {...props} items={item.items} class="" />
				</section>
			);
	}
}

/** Cards that lie open; one that a decision names and that is not in the hand can be clicked here. */
function Cards(props: RowProps & { item: Item & { kind: "cards" } }) {
	const { item, context, picker, layout, near, fresh } = props;
	const { words } = context.catalog;
	const named = new Set(fresh.flatMap((event) => words.cardsIn(event)));
	// What can be chosen here has to be in sight.
	const offered = item.cards.some(({ card }) => !isHeld(layout, card) && picker.can(cardKey(card)));
	const long = item.cards.length > MOST_CARDS && !offered;
	const shown = long ? item.cards.slice(-LAST) : item.cards;
	return (
		<section class={`heap ${shown.length > LAST ? "long" : ""}`}>
			{long ? (
				<Pile
					title={item.label}
					cards={item.cards.map(({ card }) => card)}
					context={context}
					ordered
				/>
			) : (
				<h2>{item.label}</h2>
			)}
			<ul>
				{shown.map(({ card, note }, index) => {
					const key = cardKey(card);
					const chosen = picker.chosen(key);
					const can = !isHeld(layout, card) && (picker.can(key) || chosen);
					const face = context.catalog.cards.has(card) ? (
						<AnyCard {...cardProps(context.catalog, card)} side={near} />
					) : (
						<CardBack label={t().faceDown} />
					);
					return (
						<li key={`${card}.${index}`} class={`mini ${named.has(card) ? "fresh" : ""}`}>
							{can ? (
								<Button
									class={`card ${chosen ? "chosen" : ""}`}
									data-key={key}
									data-can
									aria-pressed={chosen}
									onClick={() => picker.pick(key)}
								>
									{face}
									<Share of={picker.share(key)} />
								</Button>
							) : (
								<span class="laid" data-flip={`hand${card}.0`}>
									{face}
								</span>
							)}
							{note && <span class="caption">{note}</span>}
						</li>
					);
				})}
			</ul>
		</section>
	);
}
