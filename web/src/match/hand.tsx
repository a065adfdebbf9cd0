// The cards that lie in front of the player.
import type { Context, GameModule, Picker } from "../games/module";
import { cardKey } from "../games/module";
import { Share } from "../ui/share";

export function Hands(props: { game: GameModule; context: Context; picker: Picker; near: number }) {
	const { game, context, picker, near } = props;
	const groups = game.hand(context.view);
	const seen = new Map<string, number>();
	return (
		<>
			{groups.map(
				(group, at) =>
					(group.cards.length > 0 || at > 0) && (
						<section class={`hand hand${at}`} key={group.title} aria-label={group.title}>
							<h2 class="handtitle">
								{group.title}
								{group.note && <span class="muted"> {group.note}</span>}
							</h2>
							<div class={`cards many${Math.min(group.cards.length, 30)}`}>
								{group.cards.map((card) => {
									// Equal cards differ by how many of them came before.
									const instance = seen.get(card) ?? 0;
									seen.set(card, instance + 1);
									return (
										<CardButton
											key={`${card}.${instance}`}
											{...{ game, context, picker, near, card, instance }}
											shared={instance === 0}
										/>
									);
								})}
							</div>
						</section>
					),
			)}
		</>
	);
}

function CardButton(props: {
	game: GameModule;
	context: Context;
	picker: Picker;
	near: number;
	card: string;
	instance: number;
	shared: boolean;
}) {
	const { game, context, picker, near, card, instance } = props;
	const key = cardKey(card);
	const chosen = picker.chosen(key, instance);
	const can = picker.can(key) || chosen;
	const order = picker.clicks.findIndex((c) => c.key === key && c.instance === instance);
	return (
		<button
			type="button"
			class={`card ${chosen ? "chosen" : ""}`}
			data-key={key}
			data-can={can || undefined}
			data-flip={`hand${card}.${instance}`}
			aria-disabled={!can}
			aria-pressed={chosen}
			tabIndex={can ? 0 : -1}
			onClick={() => can && picker.pick(key, instance)}
		>
			<game.Card card={context.catalog.cards.get(card)} catalog={context.catalog} side={near} />
			{props.shared && !chosen && <Share of={picker.share(key)} />}
			{chosen && picker.clicks.length > 1 && <span class="order">{order + 1}</span>}
		</button>
	);
}
