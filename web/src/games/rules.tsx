// The rules and the cards of a game, from the catalog: the terms defined where they first appear, one card or
// two with all their parts explained, and every card with its copies.

import { useEffect, useRef, useState } from "preact/hooks";
import type { CatalogCard } from "../api/types";
import { t, texts } from "../i18n";
import { classOf, idOfGame } from ".";
import { useGuide } from "./lesson";
import type { Catalog, Guide, Term } from "./module";

export function Rules({ catalog }: { catalog: Catalog }) {
	const { Card } = catalog.module;
	const guide = useGuide(catalog.module);
	const cards = [...catalog.cards.values()];
	const kinds = [...new Set(cards.map((card) => card.kind))];
	const paragraphs = catalog.game.rules
		.trim()
		.split(/\n\n+/)
		.map((paragraph) => paragraph.replace(/\n/g, " "));
	const terms = guide ? texts(guide.terms)() : [];
	const placed = terms.map(([word]) => paragraphs.findIndex((each) => each.includes(word)));
	return (
		<div class="rules">
			<div class="rulespage">
				<div class="rulestext">
					{paragraphs.map((paragraph, index) => (
						<Paragraph
							key={paragraph}
							text={paragraph}
							terms={terms.filter((_, term) => placed[term] === index)}
						/>
					))}
				</div>
				<section aria-label={t().howCardsRead} class="anatomy">
					<h3>{t().howCardsRead}</h3>
					{specimens(catalog, guide).map((specimen) => (
						<Anatomy key={specimen.card.id} catalog={catalog} {...specimen} />
					))}
				</section>
			</div>
			<h3>{t().cardsOf(catalog.game.title)}</h3>
			{kinds.map((kind) => {
				const own = cards.filter((card) => card.kind === kind);
				const copies = own.reduce((sum, card) => sum + card.copies, 0);
				return (
					<section key={kind} class={classOf(idOfGame(catalog.game))} aria-label={kind}>
						{kind && <h4 class="kind">{t().kindCards(kind, copies)}</h4>}
						<ul class="gallery">
							{own.map((card) => (
								<li key={card.id} data-card={card.id}>
									<Card card={card} catalog={catalog} side={0} />
									<span class="caption">
										<span class="muted">{t().copies(card.copies)}</span> {card.text}
									</span>
								</li>
							))}
						</ul>
					</section>
				);
			})}
		</div>
	);
}

/** A paragraph with the definitions of the terms that first appear in it. */
function Paragraph({ text, terms }: { text: string; terms: readonly Term[] }) {
	const marks = terms
		.map(([word]) => ({ word, at: text.indexOf(word) }))
		.sort((a, b) => a.at - b.at);
	let from = 0;
	const parts = marks.map(({ word, at }) => {
		const before = text.slice(from, at);
		from = at + word.length;
		return (
			<>
				{before}
				<dfn>{word}</dfn>
			</>
		);
	});
	return (
		<>
			<p>
				{parts}
				{text.slice(from)}
			</p>
			{terms.length > 0 && (
				<dl class="terms">
					{terms.map(([word, meaning, head = word]) => (
						<div key={word}>
							<dt>{head}</dt>
							<dd>{meaning}</dd>
						</div>
					))}
				</dl>
			)}
		</>
	);
}

interface Mark {
	title?: string;
	text: string;
	find(drawing: SVGElement): Element | null;
}
interface Specimen {
	card: CatalogCard;
	marks: Mark[];
}

/** The cards that are explained: as the game says, or else the one whose numbers tell the most. */
function specimens(catalog: Catalog, guide: Guide | undefined): Specimen[] {
	if (catalog.module.guide && !guide) return []; // It is being loaded.
	const made = explained(catalog, guide);
	if (made.length > 0) return made;
	const distinct = (card: CatalogCard) => new Set(card.numbers.map((each) => each.value)).size;
	const [card] = [...catalog.cards.values()].sort((a, b) => distinct(b) - distinct(a));
	return card && card.numbers.length > 0 ? [{ card, marks: marksOf(card) }] : [];
}

export function explained(catalog: Catalog, guide: Guide | undefined): Specimen[] {
	if (!guide) return [];
	return guide.anatomy.flatMap(({ is, parts }) => {
		const card = [...catalog.cards.values()].find((each) => is(each, catalog));
		if (!card) return [];
		const marks = Object.entries(parts).map(([name, { at, number }]) => ({
			title: number === undefined ? undefined : card.numbers[number]?.title,
			text: texts(guide.parts)()[name] ?? "",
			find: (drawing: SVGElement) => drawing.querySelector(at),
		}));
		return [{ card, marks }];
	});
}

/** The numbers of a card by their titles, each where a drawing that nobody described shows its value. */
function marksOf(card: CatalogCard): Mark[] {
	return card.numbers.map(({ title, value }, index) => {
		const before = card.numbers.slice(0, index).filter((each) => each.value === value).length;
		return {
			title,
			text: `${value}`,
			find: (drawing) =>
				[...drawing.querySelectorAll("text")].filter(
					(each) => each.textContent?.trim() === `${value}`,
				)[before] ?? null,
		};
	});
}

const MARGIN = 26; // Beside the card, for the numbers of its parts; the card is 100 wide.
const APART = 19;

interface Leader {
	mark: number;
	left: boolean;
	/** The height of the number beside the card. */
	y: number;
	box: { x: number; y: number; width: number; height: number };
}

function Anatomy({ catalog, card, marks }: Specimen & { catalog: Catalog }) {
	const { Card } = catalog.module;
	const frame = useRef<HTMLDivElement>(null);
	const [drawn, setDrawn] = useState<{ height: number; leaders: Leader[] }>();
	useEffect(() => {
		const drawing = frame.current?.querySelector<SVGElement>("svg.face");
		if (!drawing) return;
		// A dialog has no size before it is open.
		const watcher = new ResizeObserver(() => setDrawn(measure(drawing, marks)));
		watcher.observe(drawing);
		return () => watcher.disconnect();
	}, [catalog, card.id]);
	return (
		<figure class={`specimen ${classOf(idOfGame(catalog.game))}`}>
			<div class="drawing" ref={frame}>
				<Card card={card} catalog={catalog} side={0} />
				{drawn && (
					<svg
						class="leaders"
						viewBox={`${-MARGIN} 0 ${100 + 2 * MARGIN} ${drawn.height}`}
						aria-hidden="true"
					>
						{drawn.leaders.map(({ mark, left, y, box }) => (
							<g key={mark}>
								<rect x={box.x} y={box.y} width={box.width} height={box.height} rx="4" />
								<line
									x1={left ? -7 : 107}
									y1={y}
									x2={left ? box.x : box.x + box.width}
									y2={box.y + box.height / 2}
								/>
								<circle cx={left ? -15 : 115} cy={y} r="8.500" />
								<text x={left ? -15 : 115} y={y + 3.7} text-anchor="middle" font-size="10.500">
									{mark + 1}
								</text>
							</g>
						))}
					</svg>
				)}
			</div>
			<figcaption>
				<b>{card.title}</b>
				{card.kind && <span class="muted"> {card.kind}</span>}
				<ol>
					{marks.map(({ title, text }) => (
						<li key={`${title}${text}`}>
							{title && <b>{title}: </b>}
							{text}
						</li>
					))}
				</ol>
			</figcaption>
		</figure>
	);
}

/** Where the parts of a drawing are, in units of which the card is 100 wide. */
function measure(drawing: SVGElement, marks: readonly Mark[]) {
	const outer = drawing.getBoundingClientRect();
	if (outer.width === 0) return undefined;
	const unit = 100 / outer.width;
	const found = marks.flatMap((each, mark) => {
		const place = each.find(drawing)?.getBoundingClientRect();
		if (!place) return [];
		const box = {
			x: (place.left - outer.left) * unit - 2,
			y: (place.top - outer.top) * unit - 2,
			width: place.width * unit + 4,
			height: place.height * unit + 4,
		};
		return [{ mark, box }];
	});
	const sides = { left: 0, right: 0 };
	const leaders: Leader[] = found.map(({ mark, box }) => {
		const middle = box.x + box.width / 2;
		// What is in the middle goes to the side that has fewer.
		const left = Math.abs(middle - 50) < 3 ? sides.left <= sides.right : middle < 50;
		sides[left ? "left" : "right"]++;
		return { mark, left, y: box.y + box.height / 2, box };
	});
	const height = outer.height * unit;
	for (const left of [true, false]) {
		const column = leaders.filter((each) => each.left === left).sort((a, b) => a.y - b.y);
		column.forEach((each, index) => {
			const above = column[index - 1];
			if (above) each.y = Math.max(each.y, above.y + APART);
		});
		column.reverse().forEach((each, index) => {
			each.y = Math.min(each.y, column[index - 1] ? column[index - 1]!.y - APART : height - 10);
		});
	}
	return { height, leaders };
}
