// What the visitor may set: a name, the colours, sound and notifications.
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { chime, mayNotify } from "../match/alerts";
import {
	displayName,
	NAME_LENGTH,
	notifications,
	presence,
	sound,
	type Theme,
	theme,
} from "../state/settings";
import { Choices } from "../ui/choices";
import { Dialog } from "../ui/dialog";
import { Refused } from "../ui/refused";

/** The name by which the other player sees the visitor. */
export function NameField() {
	return (
		<label class="namefield">
			{t().yourName}
			<input
				name="displayname"
				maxLength={NAME_LENGTH}
				autocomplete="nickname"
				value={displayName.value}
				onInput={(event) => {
					displayName.value = event.currentTarget.value;
				}}
			/>
			<span class="muted note">{t().yourNameNote}</span>
		</label>
	);
}

export function SettingsDialog({ onClose }: { onClose: () => void }) {
	const [denied, setDenied] = useState(false);
	return (
		<Dialog title={t().settings} onClose={onClose}>
			<form onSubmit={(event) => event.preventDefault()}>
				<NameField />
				<label class="option">
					<input
						type="checkbox"
						name="presence"
						checked={presence.value === "on"}
						onChange={(event) => {
							presence.value = event.currentTarget.checked ? "on" : "off";
						}}
					/>
					{t().tellPresence}
				</label>
				<Choices
					title={t().theme}
					name="theme"
					value={theme.value}
					onChange={(value) => {
						theme.value = value;
					}}
					choices={(["system", "light", "dark"] as Theme[]).map((each) => [each, t().themes[each]])}
				/>
				<fieldset class="choices">
					<legend>{t().alerts}</legend>
					<label class="option">
						<input
							type="checkbox"
							name="sound"
							checked={sound.value === "on"}
							onChange={(event) => {
								sound.value = event.currentTarget.checked ? "on" : "off";
								if (event.currentTarget.checked) chime();
							}}
						/>
						{t().alertSound}
					</label>
					<label class="option">
						<input
							type="checkbox"
							name="notifications"
							checked={notifications.value === "on"}
							onChange={async (event) => {
								const box = event.currentTarget;
								const on = box.checked && (await mayNotify());
								setDenied(box.checked && !on);
								box.checked = on;
								notifications.value = on ? "on" : "off";
							}}
						/>
						{t().alertNotification}
					</label>
					<Refused says={denied && t().alertDenied} />
				</fieldset>
			</form>
		</Dialog>
	);
}
