// A card that is asked, large: what it is, what its numbers mean, and what it does now. It is asked by the
// mouse on it, by the focus, by a long touch, or, with the button or the key I, by a click or the arrows.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Glyph } from "../cards/glyphs";
import { classOf } from "../games";
import { matching, nextKeys } from "../games/choices";
import { useGuide } from "../games/lesson";
import { type Context, cardKey, cardProps } from "../games/module";
import { explained } from "../games/rules";
import { describeAction } from "../games/sentences";
import { capital } from "../games/words";
import { t } from "../i18n";
import { Button } from "../ui/button";

const HOVER_MS = 350; // So that nothing opens while the mouse only passes.
const TOUCH_MS = 450;
const SLOP = 10; // Pixels by which a finger may move.
const GAP = 12;
const MOST_WAYS = 5;
/** What belongs to one card: a badge on it stands for it as well. */
const HOLDER = ".hand .card, .square, .standing li, .played, .mini, .inplay, li:has(> .face)";

/** The card that an element is or belongs to. */
const cardAt = (target: EventTarget | null): HTMLElement | null => {
	const element = target as HTMLElement | null;
	return (
		element?.closest?.<HTMLElement>("[data-card]") ??
		element?.closest?.(HOLDER)?.querySelector<HTMLElement>("[data-card]") ??
		null
	);
};

/** What a card is asked by: as long as the mouse or the focus is there, or until it is closed. */
type By = "mouse" | "focus" | "hold";

export function useAsked(root: RefObject<HTMLElement | null>, context: Context) {
	const [asked, setAsked] = useState<{ element: HTMLElement; by: By }>();
	const [asking, setAsking] = useState(false);
	const now = useRef({ asked, asking });
	now.current = { asked, asking };
	// No effect here: it would come a frame later, and a key pressed until then would be lost.
	useLayoutEffect(() => {
		let timer: ReturnType<typeof setTimeout> | undefined;
		let from = { x: 0, y: 0 };
		let held = false; // Whether the click that ends a long touch is still to come.
		let touch = false;
		let keyboard = false;
		const stop = () => clearTimeout(timer);
		const hide = (by?: By) => {
			stop();
			if (!by || now.current.asked?.by === by) setAsked(undefined);
		};
		const show = (element: HTMLElement | null, by: By) => {
			stop();
			setAsked(element?.isConnected ? { element, by } : undefined);
		};
		const onOver = (event: PointerEvent) => {
			if (event.pointerType !== "mouse" || now.current.asked?.by === "hold") return;
			const card = cardAt(event.target);
			if (card && card === now.current.asked?.element) return;
			hide("mouse");
			stop();
			if (card) timer = setTimeout(() => show(card, "mouse"), HOVER_MS);
		};
		const onDown = (event: PointerEvent) => {
			touch = event.pointerType !== "mouse";
			keyboard = held = false;
			if ((event.target as HTMLElement).closest(".asked")) return;
			const card = cardAt(event.target);
			if (now.current.asked?.by === "hold" && !now.current.asking) setAsked(undefined);
			if (!touch || !card) return;
			from = { x: event.clientX, y: event.clientY };
			stop();
			timer = setTimeout(() => {
				held = true;
				show(card, "hold");
			}, TOUCH_MS);
		};
		const onMove = (event: PointerEvent) => {
			if (touch && Math.hypot(event.clientX - from.x, event.clientY - from.y) > SLOP) stop();
		};
		const onUp = () => touch && stop();
		const onMenu = (event: Event) => {
			if (touch && cardAt(event.target)) event.preventDefault();
		};
		const onClick = (event: MouseEvent) => {
			const card = cardAt(event.target);
			if (held || (now.current.asking && card)) {
				event.preventDefault();
				event.stopPropagation();
				if (!held) show(card, "hold");
				held = false;
			} else if (now.current.asked?.by === "mouse") hide();
		};
		const onFocus = (event: FocusEvent) => {
			const card = keyboard ? cardAt(event.target) : null;
			if (card) show(card, now.current.asking ? "hold" : "focus");
			else hide("focus");
		};
		const onKey = (event: KeyboardEvent) => {
			keyboard = true;
			const { asked, asking } = now.current;
			const target = event.target as HTMLElement;
			if (event.ctrlKey || event.metaKey || event.altKey) return;
			if (target.closest("input, select, textarea")) return;
			const way = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
			if (event.key === "Escape" && (asked || asking)) {
				setAsking(false);
				if (asking) root.current?.querySelector<HTMLElement>("[data-ask]")?.focus();
				hide();
				// What goes by itself is not in the way of what else is to be closed, but for a dialog.
				if (asked?.by !== "hold" && !asking && !asked?.element.closest("dialog")) return;
			} else if (event.key.toLowerCase() === "i" && !target.closest("dialog")) {
				setAsking(!asking);
				if (!asking) step(0, target);
				else hide();
			} else if (asking && way) step(way, target);
			else return;
			event.preventDefault();
			event.stopPropagation();
		};
		/** Puts the focus on a card that is in sight: the next or the last one, or that of the focus. */
		const step = (way: number, target: HTMLElement) => {
			const all = [...(root.current?.querySelectorAll<HTMLElement>("[data-card]") ?? [])].filter(
				(each) => !each.classList.contains("cardname") && each.getClientRects().length > 0,
			);
			const at = all.indexOf(cardAt(target) ?? now.current.asked?.element ?? all[0]!);
			const card = all[(at + way + all.length) % all.length];
			if (!card) return;
			const own = card.closest<HTMLElement>("button") ?? card;
			if (own === card) own.setAttribute("tabindex", "-1");
			own.focus();
			show(card, "hold");
		};
		const element = root.current!;
		const listened = [
			["pointerover", onOver],
			["pointerleave", () => hide("mouse")],
			["pointerdown", onDown],
			["pointermove", onMove],
			["pointerup", onUp],
			["pointercancel", stop],
			["contextmenu", onMenu],
			["click", onClick],
			["focusin", onFocus],
			["focusout", () => hide("focus")],
		] as [string, EventListener][];
		for (const [name, listener] of listened) element.addEventListener(name, listener, true);
		document.addEventListener("keydown", onKey, true);
		return () => {
			stop();
			for (const [name, listener] of listened) element.removeEventListener(name, listener, true);
			document.removeEventListener("keydown", onKey, true);
		};
	}, [root]);
	// The card may have gone with a step of the match.
	useLayoutEffect(() => {
		if (asked && !asked.element.isConnected) setAsked(undefined);
	}, [context.view]);
	return {
		asked,
		asking,
		ask: (on: boolean) => {
			setAsking(on);
			if (!on) setAsked(undefined);
		},
		close: () => setAsked(undefined),
	};
}

/** The button by which cards are asked with a click or the arrows. */
export function AskButton({ asking, ask }: Pick<ReturnType<typeof useAsked>, "asking" | "ask">) {
	return (
		<Button
			data-ask
			aria-pressed={asking}
			aria-label={t().askCard}
			title={`${t().askCard} (I)`}
			onClick={() => ask(!asking)}
		>
			?
		</Button>
	);
}

export function Asked(props: { context: Context; element: HTMLElement; by: By; close(): void }) {
	const { context, element, by, close } = props;
	const { catalog } = context;
	const { module: game } = catalog;
	const box = useRef<HTMLDivElement>(null);
	const guide = useGuide(game);
	const id = element.dataset.card ?? "";
	const card = catalog.cards.get(id);
	// Above a dialog, too; beside the card, or above or below it, wherever it covers the fewest others;
	// where there is no room, at the other end of the window.
	useLayoutEffect(() => {
		const shown = box.current!;
		shown.showPopover?.();
		const place = element.getBoundingClientRect();
		const { offsetWidth: width, offsetHeight: height } = shown;
		const [centre, middle] = [(place.left + place.right) / 2, (place.top + place.bottom) / 2];
		const within = (at: number, size: number, room: number) =>
			Math.max(GAP, Math.min(at, room - size - GAP));
		const x = within(centre - width / 2, width, innerWidth);
		const y = within(middle - height / 2, height, innerHeight);
		const spots = [
			[place.right + GAP, y],
			[place.left - GAP - width, y],
			[x, place.top - GAP - height],
			[x, place.bottom + GAP],
		].filter(
			([left, top]) =>
				left! >= 0 && top! >= 0 && left! + width <= innerWidth && top! + height <= innerHeight,
		);
		const others = [...document.querySelectorAll("[data-card]:not(.asked *, .cardname)")].map(
			(each) => each.getBoundingClientRect(),
		);
		const covered = ([left, top]: number[]) =>
			others.filter(
				(each) =>
					each.left < left! + width &&
					each.right > left! &&
					each.top < top! + height &&
					each.bottom > top!,
			).length;
		const [left, top] = spots.sort((one, other) => covered(one) - covered(other))[0] ?? [
			x,
			middle > innerHeight / 2 ? GAP : within(innerHeight, height, innerHeight),
		];
		shown.style.setProperty("left", `${left}px`);
		shown.style.setProperty("top", `${top}px`);
	});
	// A screen reader says it with what has the focus.
	useLayoutEffect(() => {
		const own = element.closest("button") ?? element;
		own.setAttribute("aria-describedby", "asked");
		return () => own.removeAttribute("aria-describedby");
	}, [element]);
	if (!card) return null;
	const meant = new Map(
		explained(catalog, guide).flatMap(({ marks }) => marks.map((each) => [each.title, each.text])),
	);
	const now = doingNow(element, id, context);
	return (
		<div
			id="asked"
			class={`asked ${by} ${classOf(game.id)}`}
			ref={box}
			popover="manual"
			role="tooltip"
			data-testid="asked"
		>
			<game.Card {...cardProps(catalog, id)} side={context.me ?? 0} />
			<div class="askedtext">
				<h2>
					{card.title} {card.kind && <span class="muted">{card.kind}</span>}
				</h2>
				{card.text && <p>{card.text}</p>}
				<dl>
					{card.numbers.map(({ title, value }) => (
						<div key={title}>
							<dt>
								{title} <b>{value}</b>
							</dt>
							<dd>{meant.get(title)}</dd>
						</div>
					))}
				</dl>
				{now.length > 0 && (
					<>
						<h3>{t().askedNow}</h3>
						<ul>
							{now.map((each) => (
								<li key={each}>{each}</li>
							))}
						</ul>
					</>
				)}
			</div>
			{by === "hold" && (
				<Button class="quiet" aria-label={t().close} tabIndex={-1} onClick={close}>
					<Glyph name="BLOCKED" />
				</Button>
			)}
		</div>
	);
}

/** What a card does where it lies: its place, its badges in words, and what can be done with it. */
function doingNow(element: HTMLElement, id: string, context: Context): string[] {
	const { module: game } = context.catalog;
	const { view, me } = context;
	const place = element.closest("section[aria-label]:not(.panel), [role=group][aria-label]");
	const holder = element.closest<HTMLElement>(HOLDER);
	const badges = [
		element.closest<HTMLElement>("[title]"),
		...(holder?.querySelectorAll<HTMLElement>("[title]") ?? []),
	];
	const said = [
		place?.getAttribute("aria-label") ?? "",
		...badges.map((each) => each?.title ?? ""),
		...(element.closest(".hand") && me !== undefined && view.deciders.includes(me) ? ways() : []),
	];
	const title = context.catalog.cards.get(id)?.title;
	return [...new Set(said)].filter((each) => each && each !== title);

	function ways(): string[] {
		const choices = game.choices(view);
		const clicks = [{ key: cardKey(id), instance: 0 }];
		const { open, complete } = matching(choices, clicks);
		if (open.length === 0) return [capital(game.why?.(id, [], context) ?? t().notNow)];
		const done = complete.map(({ action }) => describeAction(action, context));
		const next = [...nextKeys(choices, clicks)].map(
			([key]) => game.button(key, clicks, context)?.label ?? "",
		);
		const can = [...done, ...next].filter(Boolean);
		return can.length > 0 ? [t().canNow(can.slice(0, MOST_WAYS).join(" · "))] : [];
	}
}
