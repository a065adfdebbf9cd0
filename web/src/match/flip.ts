// Motion: whatever bears data-flip glides from where it was to where it is now; what is new grows.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { calm } from "../state/settings";

const GLIDE: KeyframeAnimationOptions = { duration: 420, easing: "cubic-bezier(.2,.8,.2,1)" };

export function useFlip(root: RefObject<HTMLElement | null>, stamp: unknown) {
	const before = useRef(new Map<string, { place: DOMRect; owner: string | undefined }>());
	useLayoutEffect(() => {
		const now = new Map<string, { place: DOMRect; owner: string | undefined }>();
		const moves = !calm() && before.current.size > 0 && !document.hidden;
		for (const element of root.current?.querySelectorAll<HTMLElement>("[data-flip]") ?? []) {
			const name = element.dataset.flip!;
			const place = element.getBoundingClientRect();
			const owner = element.dataset.owner;
			now.set(name, { place, owner });
			if (!moves) continue;
			const was = before.current.get(name);
			if (!was) {
				element.animate(
					[
						{ transform: "translateY(-14px) scale(.7)", opacity: 0 },
						{ transform: "none", opacity: 1 },
					],
					GLIDE,
				);
			} else if (was.owner !== owner) {
				element.animate(
					[{ transform: "rotateY(90deg) scale(1.15)" }, { transform: "none" }],
					GLIDE,
				);
			} else {
				const x = was.place.left - place.left;
				const y = was.place.top - place.top;
				if (Math.abs(x) + Math.abs(y) > 2) {
					const scale = place.width ? was.place.width / place.width : 1;
					element.animate(
						[
							{ transform: `translate(${x}px, ${y}px) scale(${scale})`, transformOrigin: "0 0" },
							{ transform: "none", transformOrigin: "0 0" },
						],
						GLIDE,
					);
				}
			}
		}
		before.current = now;
	}, [stamp]);
}
