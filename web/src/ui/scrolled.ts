// Parts of the page that scroll.
import { useLayoutEffect, useRef } from "preact/hooks";

/** The element of a part that may be too small for what it holds: the keyboard can scroll it then. */
export function useScrolled<Kind extends HTMLElement>() {
	const part = useRef<Kind>(null);
	useLayoutEffect(() => {
		const element = part.current;
		if (!element) return;
		const look = () => {
			if (element.scrollHeight > element.clientHeight + 1) element.tabIndex = 0;
			else element.removeAttribute("tabindex");
		};
		// It looks after the layout, which it need not force, and when others take the part's room.
		const watch = new ResizeObserver(look);
		for (const each of [element, ...element.children]) watch.observe(each);
		return () => watch.disconnect();
	});
	return part;
}
