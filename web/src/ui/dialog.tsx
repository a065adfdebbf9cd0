// A dialog of the browser's own, which keeps the focus inside and closes with Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n";

export function Dialog(props: {
	title: string;
	children: ComponentChildren;
	onClose: () => void;
	wide?: boolean;
}) {
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const element = dialog.current;
		element?.showModal();
		return () => element?.close();
	}, []);
	return (
		<dialog
			ref={dialog}
			class={props.wide ? "wide" : ""}
			aria-label={props.title}
			onClose={props.onClose}
			onCancel={props.onClose}
		>
			<header>
				<h2>{props.title}</h2>
				<button type="button" class="quiet" onClick={props.onClose} aria-label={t().close}>
					✕
				</button>
			</header>
			{props.children}
		</dialog>
	);
}
