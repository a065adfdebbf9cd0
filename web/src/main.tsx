// The start of the web app: its page and its style sheets, those of games last.
import "./style/base.css";
import "./style/cards.css";
import "./style/lobby.css";
import "./style/match.css";
import "./style/panel.css";
import "./style/sizes.css";
import "./style/guide.css";
import "./style/told.css";
import "./state/version";
import "./ui/translated";

import { render } from "preact";
import { App } from "./app";

// The page that is shown offline; where there can be none, nothing is lost.
navigator.serviceWorker?.register("./sw.js").catch(() => undefined);

const app = document.getElementById("app")!;
app.replaceChildren(); // What is there as long as this has not been loaded.
render(<App />, app);
