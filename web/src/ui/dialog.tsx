// A dialog of the browser's own, which keeps the focus inside and closes with Escape.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Button } from "./button";

export function Dialog(props: {
	title: string;
	children: ComponentChildren;
	onClose: () => void;
	wide?: boolean;
}) {
	const dialog = useRef<HTMLDialogElement>(null);
	// Opened before the browser paints: a drawn dialog is never there without being open.
	useLayoutEffect(() => {
		const element = dialog.current;
		element?.showModal();
		// The browser chooses the close button, which comes first. A field of text is left alone, since a
		// phone would cover the dialog with its keyboard; and so is what cannot be undone.
		element?.querySelector<HTMLElement>("input:checked, .primary:not(.danger)")?.focus();
		return () => element?.close();
	}, []);
	// The browser reports a close in a task of its own. By then this dialog may be gone and the same
	// button may have opened the next one, which a late report must not close.
	const report = () => {
		if (dialog.current) props.onClose();
	};
	return (
		<dialog
			ref={dialog}
			class={props.wide ? "wide" : ""}
			aria-label={props.title}
			onClose={report}
			onCancel={props.onClose}
		>
			<header>
				<h2>{props.title}</h2>
				<Button class="quiet" onClick={props.onClose} aria-label={t().close}>
					✕
				</Button>
			</header>
			{props.children}
		</dialog>
	);
}
