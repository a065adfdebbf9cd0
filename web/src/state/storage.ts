// The local storage of the browser, which all tabs share. It may be forbidden or full: then nothing is kept.

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

/** The list that is kept as JSON; empty if there is none, or something else. */
export function readList<T>(text: string | undefined): T[] {
	try {
		const list = JSON.parse(text ?? "[]");
		return Array.isArray(list) ? list : [];
	} catch {
		return [];
	}
}
