// The local storage of the browser, which all tabs share. It may be forbidden or full: then nothing is
// kept. Whatever is read may be of another version or rubbish: what a check does not let through is not there.

/** The value, if it is what is expected. */
export type Check<T> = (value: unknown) => T | undefined;

export const oneOf =
	<const T>(...allowed: readonly T[]): Check<T> =>
	(value) =>
		allowed.find((each) => each === value);

export const textLike =
	(pattern: RegExp): Check<string> =>
	(value) =>
		typeof value === "string" && pattern.test(value) ? value : undefined;

export const text = textLike(/^/);

const LAST_MOMENT = 8.64e15; // What a date can be.

/** A moment in milliseconds. */
export const moment: Check<number> = (value) =>
	typeof value === "number" && Math.abs(value) <= LAST_MOMENT ? value : undefined;

/** Those of the items that pass; empty if it is no list. */
export const listOf =
	<T>(check: Check<T>): Check<T[]> =>
	(value) =>
		Array.isArray(value) ? value.map(check).filter((each) => each !== undefined) : [];

/** Those of the fields that pass; nothing if one that is needed does not. */
export const record =
	<T extends object>(
		fields: { readonly [name in keyof T]-?: Check<T[name]> },
		...needed: (keyof T)[]
	): Check<T> =>
	(value) => {
		if (typeof value !== "object" || value === null) return undefined;
		const found: Partial<T> = {};
		for (const name in fields) {
			const checked = fields[name]((value as T)[name]);
			if (checked !== undefined) found[name] = checked;
		}
		return needed.every((name) => name in found) ? (found as T) : undefined;
	};

export function read(key: string): string | undefined {
	try {
		return localStorage.getItem(key) ?? undefined;
	} catch {
		return undefined;
	}
}

/** Keeps a value, or removes what is kept if there is none; returns whether it could. */
export function write(key: string, value: string | undefined): boolean {
	try {
		if (value === undefined) localStorage.removeItem(key);
		else localStorage.setItem(key, value);
		return true;
	} catch {
		return false;
	}
}

/** The list that is kept under a key as JSON, of the items that pass. */
export function readList<T>(key: string, check: Check<T>): T[] {
	try {
		return listOf(check)(JSON.parse(read(key) ?? "[]")) ?? [];
	} catch {
		return [];
	}
}
