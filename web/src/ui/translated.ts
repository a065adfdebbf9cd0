// What keeps the page right while the browser translates it. A translator puts elements in the place of
// texts, and the page goes on changing texts that nobody sees any more.
//
// So each of these texts comes back, empty, before the element that shows its translation. When the page
// changes or removes one, all translations of its sentence make room for what the page says now, and the
// translator finds that. A page that is not translated has none of this.

const TRANSLATION = "FONT"; // Nothing of ours is one.
const SENTENCE = "p, li, h1, h2, h3, button, a, td, th, dt, dd, label, section, div";

/** What stands for a text, and what the text said. */
const shown = new WeakMap<Text, { by: Element; said: string }>();
const textOf = new WeakMap<Element, Text>();

const isNew = (node: Node | null): node is Element =>
	node?.nodeName === TRANSLATION && !textOf.has(node as Element);

function hide(text: Text, by: Element) {
	if (by.contains(text)) text.replaceWith(text.cloneNode());
	by.before(text);
	shown.set(text, { by, said: text.data });
	textOf.set(by, text);
	text.data = "";
}

function forget(text: Text) {
	shown.get(text)?.by.remove();
	shown.delete(text);
}

/** Puts the texts of a sentence in the place of their translations. */
function takeBack(at: Node) {
	const element = at.nodeType === Node.ELEMENT_NODE ? (at as Element) : at.parentElement;
	for (const by of element?.closest(SENTENCE)?.querySelectorAll("font") ?? []) {
		const text = textOf.get(by);
		const said = text && shown.get(text)?.said;
		if (!text || said === undefined) continue;
		text.data = said;
		forget(text);
	}
}

function see(record: MutationRecord, changed: ReadonlySet<Node>) {
	const { target, addedNodes } = record;
	const found = [...addedNodes, record.previousSibling, record.nextSibling].find(isNew);
	for (const node of record.removedNodes) {
		if (node.nodeType === Node.TEXT_NODE) {
			const text = node as Text;
			if (!shown.has(text)) {
				if (!found || textOf.has(found)) continue;
				if (changed.has(text)) found.replaceWith(text);
				else hide(text, found);
			} else if (!text.isConnected) {
				forget(text);
				takeBack(target);
			}
		} else if (textOf.has(node as Element) && !node.isConnected) {
			// The translator takes back what it did, or does it anew.
			const text = textOf.get(node as Element)!;
			const said = shown.get(text)?.said;
			if (said === undefined) continue;
			text.data = said;
			shown.delete(text);
			if (found) hide(text, found);
			else
				for (const copy of addedNodes)
					if (copy !== text && copy.nodeName === "#text") copy.parentNode?.removeChild(copy);
		}
	}
	// What the page inserts beside a text comes between it and its translation.
	for (const by of (target as Element).children) {
		const text = textOf.get(by);
		if (text?.parentNode === target && text.nextSibling !== by) text.after(by);
	}
}

const watcher = new MutationObserver((records) => {
	const changed = new Set(
		records.filter(({ type }) => type === "characterData").map(({ target }) => target),
	);
	const others = [...changed].filter((text) => shown.has(text as Text));
	for (const text of others) forget(text as Text);
	for (const text of others) takeBack(text);
	for (const record of records) if (record.type === "childList") see(record, changed);
	watcher.takeRecords(); // Of what was done here.
});
watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
