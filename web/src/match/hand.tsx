// The cards that lie in front of the player, as large as the screen has room for.
import { counted } from "../cards/frame";
import { Glyph } from "../cards/glyphs";
import { type Context, cardKey, cardProps } from "../games/module";
import { Button } from "../ui/button";
import { Share } from "../ui/share";
import type { Chooser } from "./picker";

export function Hands(props: { context: Context; picker: Chooser; near: number }) {
	const { context, picker, near } = props;
	const groups = context.catalog.module.hand(context.view);
	const seen = new Map<string, number>();
	return (
		<div class="hands">
			{groups.map(
				(group, at) =>
					// An empty hand keeps its room as long as cards may come.
					(group.cards.length > 0 || at > 0 || !context.view.result) && (
						<section class={`hand hand${at}`} key={group.title} aria-label={group.title}>
							<h2 class="handtitle">
								{group.title}
								{group.note && <span class="muted"> {group.note}</span>}
							</h2>
							<div class="cards fit" ref={counted(group.cards.length)}>
								{group.cards.map((card) => {
									// Equal cards differ by how many of them came before.
									const instance = seen.get(card) ?? 0;
									seen.set(card, instance + 1);
									return (
										<CardButton
											key={`${card}.${instance}`}
											{...{ context, picker, near, card, instance }}
											shared={instance === 0}
										/>
									);
								})}
							</div>
						</section>
					),
			)}
		</div>
	);
}

function CardButton(props: {
	context: Context;
	picker: Chooser;
	near: number;
	card: string;
	instance: number;
	shared: boolean;
}) {
	const { context, picker, near, card, instance } = props;
	const game = context.catalog.module;
	const key = cardKey(card);
	const chosen = picker.chosen(key, instance);
	const can = picker.can(key) || chosen;
	const cards = picker.clicks.filter((click) => click.key.startsWith("card:"));
	const order = cards.findIndex((c) => c.key === key && c.instance === instance);
	const { me, view } = context;
	const mine = me !== undefined && view.deciders.includes(me);
	const mark = mine ? game.mark?.(card, context) : undefined;
	const said = game.why !== undefined && mine;
	return (
		<Button
			class={`card ${chosen ? "chosen" : ""} ${mark ? "marked" : ""}`}
			data-key={key}
			data-can={can || undefined}
			data-flip={`hand${card}.${instance}`}
			aria-disabled={!can}
			aria-pressed={chosen}
			tabIndex={can || said ? 0 : -1}
			onClick={() => (can ? picker.pick(key, instance) : picker.look(key))}
			onMouseEnter={() => picker.look(key)}
			onMouseLeave={() => picker.look(undefined)}
			onFocus={() => picker.look(key)}
			onBlur={() => picker.look(undefined)}
		>
			<game.Card {...cardProps(context.catalog, card)} side={near} />
			{mark && (
				<span class="mark" title={mark.label}>
					<Glyph name={mark.glyph} label={mark.label} />
				</span>
			)}
			{props.shared && !chosen && <Share of={picker.share(key)} />}
			{chosen && cards.length > 1 && <span class="order">{order + 1}</span>}
		</Button>
	);
}
