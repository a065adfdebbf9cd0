// A link to be sent to somebody: shown, copied, or handed to the device's own sharing.
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { Button } from "./button";

export function CopyLink({ address }: { address: string }) {
	const [copied, setCopied] = useState(false);
	async function copy() {
		try {
			await navigator.clipboard.writeText(address);
			setCopied(true);
		} catch {
			// Without the right to use the clipboard the text can still be selected.
		}
	}
	return (
		<div class="copylink">
			<input
				readOnly
				value={address}
				aria-label={t().share}
				data-testid="link"
				onFocus={(event) => event.currentTarget.select()}
			/>
			<Button class="primary" onClick={() => void copy()}>
				{copied ? t().copied : t().copy}
			</Button>
			{"share" in navigator && (
				<Button onClick={() => void navigator.share({ url: address }).catch(() => {})}>
					{t().share}
				</Button>
			)}
		</div>
	);
}
