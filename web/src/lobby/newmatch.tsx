// The form for a new match: the opponent, the clock, and what the game leaves to choose.
import { useState } from "preact/hooks";
import type { ClockChoice, Moment } from "../api/calls";
import { BotStrength, type Ruleset } from "../api/types";
import { catalogOf } from "../games/catalog";
import { type Catalog, type LobbyOption, rulesetOf } from "../games/module";
import { t } from "../i18n";
import { Choices } from "../ui/choices";
import { Dialog } from "../ui/dialog";
import { Refused } from "../ui/refused";
import { ClockFields } from "./clockfields";
import { useCreation } from "./creation";
import { NameField } from "./settings";

const STRENGTHS = ["RANDOM", "BEGINNER", "CASUAL", "REGULAR", "SKILLED", "EXPERT"] as const;
const CLOCKS = {
	none: undefined,
	blitz: { perMatch: 300, increment: 5 },
	rapid: { perMatch: 900, increment: 10 },
	daily: { perDecision: 86_400 },
	own: undefined,
} as const;

export interface PlayOn extends Moment {
	ruleset: Ruleset;
	seat: 0 | 1;
	/** The link to where it is played on from. */
	back: string;
}

export function NewMatchDialog(props: { id: string; from?: PlayOn; onClose: () => void }) {
	const { id, from, onClose } = props;
	const catalog = catalogOf(id) as Catalog;
	const game = catalog.module;
	const [against, setAgainst] = useState<"bot" | "friend">("bot");
	const [strength, setStrength] = useState<(typeof STRENGTHS)[number]>("CASUAL");
	const [hints, setHints] = useState<"after" | "allowed">("after");
	const [wanted, setWanted] = useState<"any" | "0" | "1">(from ? `${from.seat}` : "any");
	const [clock, setClock] = useState<keyof typeof CLOCKS>("none");
	const [own, setOwn] = useState<ClockChoice>({ perMatch: 600, increment: 5 });
	const [options, setOptions] = useState<Record<string, number | boolean>>(() =>
		Object.fromEntries(game.options.map((option) => [option.name, option.value])),
	);
	const { create, underway, failed } = useCreation(id);

	function deal(event: Event) {
		event.preventDefault();
		const seat =
			wanted === "any"
				? ((crypto.getRandomValues(new Uint8Array(1))[0]! & 1) as 0 | 1)
				: (Number(wanted) as 0 | 1);
		const wish: Parameters<typeof create>[0] = async () => ({
			ruleset: from?.ruleset ?? game.ruleset?.(options) ?? rulesetOf(id, options),
			opponent:
				against === "bot"
					? { kind: "bot", strength: BotStrength[strength] }
					: { kind: "friend", hints: hints === "allowed" },
			seat,
			clock: clock === "own" ? own : CLOCKS[clock],
			from,
		});
		void create(wish, { bot: against === "bot" ? strength : undefined, back: from?.back });
	}

	return (
		<Dialog title={from ? t().playOn : t().newMatch(catalog.game.title)} onClose={onClose}>
			<form onSubmit={deal} data-testid="newmatch">
				{from && <p class="muted">{t().playOnNote}</p>}
				{from?.source.case !== "puzzleName" && (
					<Choices
						title={t().opponent}
						name="opponent"
						value={against}
						onChange={setAgainst}
						choices={[
							["bot", t().againstBot],
							["friend", t().againstFriend],
						]}
					/>
				)}
				{against === "bot" ? (
					<Choices
						title={t().strength}
						name="strength"
						value={strength}
						note={t().strengthNotes[strength]}
						onChange={setStrength}
						choices={STRENGTHS.map((each) => [each, t().strengths[each]!])}
					/>
				) : (
					<>
						<NameField />
						<Choices
							title={t().hints}
							name="hints"
							value={hints}
							note={hints === "after" ? t().hintsAfterNote : t().hintsAllowedNote}
							onChange={setHints}
							choices={[
								["after", t().hintsAfterChoice],
								["allowed", t().hintsAllowedChoice],
							]}
						/>
					</>
				)}
				<Choices
					title={t().yourSeat}
					name="seat"
					value={wanted}
					onChange={setWanted}
					choices={[
						["0", catalog.game.seatTitles[0] ?? "1"],
						["1", catalog.game.seatTitles[1] ?? "2"],
						...(from ? [] : [["any", t().anySeat] as const]),
					]}
				/>
				<Choices
					title={t().clock}
					name="clock"
					value={clock}
					note={t().clockNotes[clock]}
					onChange={setClock}
					choices={(Object.keys(CLOCKS) as (keyof typeof CLOCKS)[]).map((each) => [
						each,
						t().clocks[each],
					])}
				/>
				{clock === "own" && <ClockFields value={own} onChange={setOwn} />}
				{(from ? [] : game.options).map((option) => (
					<Option
						key={option.name}
						option={option}
						value={options[option.name]!}
						onChange={(value) => setOptions({ ...options, [option.name]: value })}
					/>
				))}
				<Refused says={failed} />
				<div class="buttons">
					<button type="submit" class="primary large" disabled={underway} data-testid="deal">
						{against === "friend" ? t().invite : from ? t().playOn : t().deal}
					</button>
				</div>
			</form>
		</Dialog>
	);
}

function Option(props: {
	option: LobbyOption;
	value: number | boolean;
	onChange: (value: number | boolean) => void;
}) {
	const { option, value, onChange } = props;
	const { min, max } = option;
	return (
		<div>
			<label class="option">
				{option.kind === "boolean" ? (
					<input
						type="checkbox"
						checked={value as boolean}
						onChange={(event) => onChange(event.currentTarget.checked)}
					/>
				) : (
					<input
						type="number"
						required
						min={min}
						max={max}
						value={value as number}
						onInput={(event) => onChange(event.currentTarget.valueAsNumber || 0)}
					/>
				)}
				<span>
					{option.label()}
					{min !== undefined && max !== undefined && (
						<span class="muted"> ({t().range(min, max)})</span>
					)}
				</span>
			</label>
			{option.note && <p class="muted note">{option.note()}</p>}
		</div>
	);
}
