// What the whole page hears while a part of it is drawn.
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * Hears an event of the document from the moment at which the part is drawn. An effect would begin a
 * frame later, and whatever is pressed until then would be lost.
 */
export function useHeard<Name extends keyof DocumentEventMap>(
	name: Name,
	heard: (event: DocumentEventMap[Name]) => void,
	capture = false,
) {
	const latest = useRef(heard);
	latest.current = heard;
	useLayoutEffect(() => {
		const listener = (event: DocumentEventMap[Name]) => latest.current(event);
		document.addEventListener(name, listener, capture);
		return () => document.removeEventListener(name, listener, capture);
	}, []);
}

/** Hears the keys of the page, but those that the browser or a field of a form takes. */
export const useKeydown = (heard: (event: KeyboardEvent) => void, capture = false) =>
	useHeard(
		"keydown",
		(event) => {
			if (event.ctrlKey || event.metaKey || event.altKey) return;
			if (!(event.target as HTMLElement).closest("input, select, textarea")) heard(event);
		},
		capture,
	);
