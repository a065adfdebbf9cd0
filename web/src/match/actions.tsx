// The bar below the board: whose turn it is, what to do, and the buttons that are no card or square.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Click, Key } from "../games/choices";
import { type Context, cardOf } from "../games/module";
import { nameOfSeat } from "../games/sentences";
import { t } from "../i18n";
import { Button } from "../ui/button";
import { Share } from "../ui/share";
import type { Chooser } from "./picker";
import { keptAhead } from "./session";

export function ActionBar(props: {
	context: Context;
	chooser: Chooser;
	/** What the move uses that is shown on the table. */
	shown?: readonly Click[];
	state: "submitting" | "busy" | "ready";
	message: string | undefined;
	/** Takes back what the server keeps until it is due. */
	cancelAhead?: () => void;
	/** What waits for an answer, or keeps the match from going on. */
	offer?: ComponentChildren;
}) {
	const { context, chooser, shown, state } = props;
	const { view, me } = context;
	const game = context.catalog.module;
	const mine = me !== undefined && view.deciders.includes(me) && view.legalActions.length > 0;
	const buttons = chooser.keys
		.map((key) => ({ key, words: game.button(key, chooser.clicks, context) }))
		.filter((each) => each.words)
		.sort((one, other) => Number(other.words?.primary ?? 0) - Number(one.words?.primary ?? 0));
	// What was looked at may have been played meanwhile.
	const isHeld = (key: Key) => game.hand(view).some(({ cards }) => cards.includes(cardOf(key)));
	const looked = chooser.looked && isHeld(chooser.looked) ? chooser.looked : undefined;
	// Whoever has chosen nothing yet is urged to nothing.
	const begun = chooser.clicks.length > 0 ? "primary" : "";
	const why =
		mine && state === "ready" && looked && !chooser.can(looked) && !chooser.chosen(looked)
			? game.why?.(cardOf(looked), chooser.clicks, context)
			: undefined;
	const last = why ? looked : chooser.clicks.at(-1)?.key;
	const inspected = last?.startsWith("card:") ? context.catalog.cards.get(cardOf(last)) : undefined;
	// On a phone the bar stays in sight, and what is scrolled to must stop above it.
	const bar = useRef<HTMLElement>(null);
	useLayoutEffect(() => {
		const { style } = document.documentElement;
		const sizes = new ResizeObserver(() =>
			style.setProperty("--dock", `${bar.current?.offsetHeight ?? 0}px`),
		);
		sizes.observe(bar.current!);
		return () => {
			sizes.disconnect();
			style.removeProperty("--dock");
		};
	}, []);
	return (
		<section
			class={`actions ${mine && state === "ready" ? "mine" : ""}`}
			aria-label={t().yourTurn}
			ref={bar}
		>
			<div class="says">
				<p class="prompt" data-testid="prompt">
					<Status {...props} mine={mine} />
				</p>
				{(props.message ?? chooser.notice) && (
					<p class={props.message ? "refusal" : "notice"} role="alert">
						{props.message ?? chooser.notice}
					</p>
				)}
				{why && (
					<p class="why" role="status">
						<b>{inspected?.title}:</b> {why}
					</p>
				)}
				{inspected && (
					<p class="inspected">
						{!why && <b>{inspected.title} </b>}
						{inspected.text ||
							inspected.numbers.map((each) => `${each.title} ${each.value}`).join(" · ")}
					</p>
				)}
			</div>
			{props.offer}
			{props.cancelAhead && keptAhead(view).length > 0 && (
				<div class="buttons">
					<Button class="quiet" data-testid="takeback" onClick={props.cancelAhead}>
						{t().takeBack}
					</Button>
				</div>
			)}
			{mine && (
				<div class="buttons">
					{chooser.label && (
						<Button
							class={begun}
							data-confirm
							disabled={state !== "ready"}
							onClick={chooser.confirm}
						>
							{chooser.label}
						</Button>
					)}
					{buttons.map(({ key, words }) => (
						<Button
							key={key}
							data-key={key}
							data-can
							class={`${words?.primary ? begun : ""} ${shown?.some((each) => each.key === key) ? "shown" : ""}`}
							disabled={state !== "ready"}
							onClick={() => chooser.pick(key)}
						>
							{words?.label}
							<Share of={chooser.share(key)} />
						</Button>
					))}
					{chooser.clicks.length > 0 && (
						<Button class="quiet" onClick={chooser.undo}>
							{t().undo}
						</Button>
					)}
				</div>
			)}
		</section>
	);
}

function Status(props: { context: Context; chooser: Chooser; state: string; mine: boolean }) {
	const { context, state } = props;
	const { view, me } = context;
	if (state === "submitting") return <>{t().submitting}</>;
	if (view.result) return <>{t().over}</>;
	if (view.pauseEndTime) return <>{t().paused}</>;
	if (me === undefined) {
		const names = view.deciders.map((seat) => nameOfSeat(context, seat));
		return (
			<>
				<b>{t().spectating}</b> {names.length === 1 && t().theirTurn(names[0]!)}
			</>
		);
	}
	// Nothing can be chosen before what happened was told.
	if (props.mine && state === "busy") return <>{t().yourTurnNext}</>;
	if (props.mine) {
		return (
			<>
				<b>{t().yourTurn}.</b> {context.catalog.module.prompt(
					view,
					props.chooser.clicks,
					context,
				)}{" "}
			</>
		);
	}
	if (view.deciders.length === 0) return <>{t().waitOther}</>;
	return <>{t().theirTurn(nameOfSeat(context, view.deciders[0]!))}…</>;
}
