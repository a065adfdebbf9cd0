// The start of the web app: its page and its style sheets, those of games last.
import "./style/base.css";
import "./style/cards.css";
import "./style/lobby.css";
import "./style/match.css";
import "./style/panel.css";
import "./style/sizes.css";
import "./style/guide.css";
import "./state/version";
import "./ui/translated";

import { render } from "preact";
import { App } from "./app";

render(<App />, document.getElementById("app")!);
