// How often the hint plays on with a thing, as a badge on it.
import { percent } from "../i18n";

export function Share({ of }: { of: number | undefined }) {
	if (of === undefined || of < 0.005) return null;
	const level = of > 0.5 ? "high" : of > 0.2 ? "middle" : "low";
	return <span class={`share ${level}`}>{percent(of)}</span>;
}
