// The table without a mouse: arrows move between what can be clicked, and focus is never lost.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useHeard, useKeydown } from "../ui/heard";

const ARROWS: Record<string, [number, number]> = {
	ArrowLeft: [-1, 0],
	ArrowRight: [1, 0],
	ArrowUp: [0, -1],
	ArrowDown: [0, 1],
};

export function useKeys(
	root: RefObject<HTMLElement | null>,
	keys: { undo(): void; hint(): void; play(): void; stamp: string },
) {
	const byKeyboard = useRef(false);
	const lastKey = useRef<string | undefined>(undefined);

	useKeydown((event) => {
		byKeyboard.current = true;
		const target = event.target as HTMLElement;
		if (target.closest("dialog")) return;
		lastKey.current = target.closest<HTMLElement>("[data-key]")?.dataset.key;
		if (event.key === "Backspace") {
			event.preventDefault();
			keys.undo();
		} else if (event.key.toLowerCase() === "h") keys.hint();
		else if (event.key.toLowerCase() === "p") keys.play();
		else if (ARROWS[event.key] && !target.closest(".log")) {
			if (move(root.current, target, ARROWS[event.key]!)) event.preventDefault();
		}
	});
	useHeard("pointerdown", () => {
		byKeyboard.current = false;
	});

	// What had the focus may be gone: it goes on to the button that completes, or to what is next.
	useLayoutEffect(() => {
		const active = document.activeElement as HTMLElement | null;
		const lost =
			active === document.body || active?.matches("[data-key]:not([data-can]), :disabled");
		if (!byKeyboard.current || !lost) return;
		root.current
			?.querySelector<HTMLElement>("[data-confirm]:not(:disabled), [data-can]:not(:disabled)")
			?.focus();
	}, [keys.stamp]);
}

/** Moves the focus to the nearest thing that can be clicked in a direction. */
function move(root: HTMLElement | null, from: HTMLElement, [x, y]: [number, number]): boolean {
	const all = [...(root?.querySelectorAll<HTMLElement>("[data-can], [data-confirm]") ?? [])];
	const start = from.closest<HTMLElement>("[data-key], [data-confirm]");
	if (!start) {
		all[0]?.focus();
		return all.length > 0;
	}
	const middle = (element: HTMLElement) => {
		const place = element.getBoundingClientRect();
		return [place.left + place.width / 2, place.top + place.height / 2] as const;
	};
	const [fromX, fromY] = middle(start);
	let best: HTMLElement | undefined;
	let least = Number.POSITIVE_INFINITY;
	for (const element of all) {
		if (element === start) continue;
		const [toX, toY] = middle(element);
		const along = (toX - fromX) * x + (toY - fromY) * y;
		const across = Math.abs((toX - fromX) * y) + Math.abs((toY - fromY) * x);
		const distance = along + 3 * across;
		if (along > 4 && distance < least) {
			least = distance;
			best = element;
		}
	}
	best?.focus();
	return best !== undefined;
}
