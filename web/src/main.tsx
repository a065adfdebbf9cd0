// The start of the web app: its page and its style sheets.
import { render } from "preact";
import { App } from "./app";
import "./style/base.css";
import "./style/cards.css";
import "./style/lobby.css";
import "./style/match.css";
import "./style/games.css";

render(<App />, document.getElementById("app")!);
