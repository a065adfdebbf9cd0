// What modules ask of a browser as soon as they are imported.
const page = { documentElement: { lang: "", dataset: {} } };

if (!("navigator" in globalThis)) Object.assign(globalThis, { navigator: { language: "en" } });
if (!("document" in globalThis)) Object.assign(globalThis, { document: page });
