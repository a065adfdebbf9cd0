"""One match in the terminal: what the player sees and types."""

import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from croupier.client import END_REASONS, CroupierError, Seat
from croupier.phrases import ending_sentence
from croupier.terminal import drawing
from croupier.terminal.settings import HINT_ITERATIONS, Settings
from croupier.v1 import game_pb2, hint_pb2, match_pb2

ROWS = 8  # Actions that a hint shows.
STEPS = 4  # Actions that a hint expects, one after the other.
TRIES = 10  # How often a hint is asked for while the server is too busy.

HELP = """\
number or words  play a legal action: its number, or words of it ("rook", "imp 4")
#number          the same, where numbers name cards and "list" numbers the actions
h, hint          show what a search would play, and how it rates the actions
p, play          play the last hint
l, list [words]  list the legal actions, or those with these words
v, view          draw the match again
c, cards         show the cards of the game and their numbers
rules            show the rules in short
r, resign        resign the match
q, quit          leave; the match stays as it is
?, help          show this help"""


class Left(Exception):
    """The player has left the match."""


class Session:
    """A match in progress."""

    def __init__(
        self, seat: Seat, draw: drawing.Drawing, settings: Settings, console: Console
    ) -> None:
        self.seat = seat
        self.draw = draw
        self.settings = settings
        self.console = console
        self.events: list[game_pb2.MatchEvent] = []  # Not shown yet.
        self.scene: Hashable = None  # Of the view that was drawn last.
        self.decisions = 0
        self.waits = False  # Whether the match waits for an invited seat.
        self.hint: hint_pb2.Hint | None = None  # For the decision that is owed.

    def play(self) -> None:
        """Plays to the end and prints the result."""
        game = self.draw.game
        heading = Text(game.title, style="bold").append(": you are ", style="not bold")
        heading.append_text(self.draw.seat_name(self.settings.seat)).append(
            " against ", style="not bold"
        )
        heading.append_text(self.draw.seat_name(1 - self.settings.seat))
        heading.append(f", a {self.draw.roles[1 - self.settings.seat]}", style="not bold")
        self.console.print(heading)
        if not self.settings.auto:
            self.console.print("Type ? for help.", style="dim")
        result = self._follow()
        if result.HasField("ending"):
            self.console.print(Text(ending_sentence(game, result.ending)))
        self.console.print(_result_line(result))

    def leave(self, how: str) -> None:
        """Says that the match is not over."""
        self.console.print()
        self.console.print(f"{how}: {self.seat.match} stays unfinished on {self.settings.server}.")

    def _follow(self) -> game_pb2.MatchResult:
        # The stream drives the session. Views that are out of date are skipped: the other seat may
        # decide, and the stream tell of it, while the player still thinks.
        stream = self.seat.watch()
        while True:
            with self._thinking():
                response = next(stream, None)
            if response is None:
                return self.seat.view().result
            self._tell_of_seats(response)
            self.events += response.events
            if not response.HasField("view") or response.version != self.seat.version:
                continue
            view = response.view
            if view.HasField("result"):
                self._show(view)
                return view.result
            if view.legal_actions:
                self._decide(view)

    def _tell_of_seats(self, response: match_pb2.WatchMatchResponse) -> None:
        for event in response.events:
            if event.HasField("seat_joined") and event.seat_joined.seat != self.settings.seat:
                self.console.print("Your friend has joined.")
        if response.HasField("view"):
            players = response.view.players
            waits = any(p.HasField("invited") and not p.invited.joined for p in players)
            if waits and not self.waits and not response.view.HasField("result"):
                self.console.print("The match begins when your friend has joined.", style="dim")
            self.waits = waits

    def _decide(self, view: game_pb2.View) -> None:
        self.decisions += 1
        self.hint = None
        try:
            self._decide_in_time(view)
        except CroupierError as error:
            if error.reason != "MATCH_OVER":
                raise
            in_time = END_REASONS[self.seat.view().result.reason] != "time"
            late = "the match is over" if in_time else "your time was up"
            self.console.print(f"Too late: {late}.")

    def _decide_in_time(self, view: game_pb2.View) -> None:
        if self.settings.auto:
            self._decide_by_hint(view)
        elif len(view.legal_actions) == 1:
            self._show_events()
            action = view.legal_actions[0]
            self.console.print(f"You can only play: {self.draw.action(action)}")
            self._submit(view, action)
        else:
            self._show_events()
            self._draw(view)
            self._choose(view)

    def _choose(self, view: game_pb2.View) -> None:
        action = self._ask(view)
        if action is None:
            self.seat.resign()
            return
        chosen = Text(self.draw.action(action), style="bold not dim")
        self.console.print(Text("You choose: ", style="dim").append_text(chosen))
        self._submit(view, action)

    def _decide_by_hint(self, view: game_pb2.View) -> None:
        self._show(view)
        hint = self._search()
        line = Text("hint: ", style="dim").append(
            self.draw.action(hint.action), style="bold not dim"
        )
        line.append(f"   expected score {hint.expected_score:.2f}")
        self.console.print(line)
        time.sleep(self.settings.delay)
        self._submit(view, hint.action)

    def _submit(self, view: game_pb2.View, action: game_pb2.MatchAction) -> None:
        self.seat.submit(action, view.version)

    # The player's input.

    def _ask(self, view: game_pb2.View) -> game_pb2.MatchAction | None:
        # Returns the action that the player chooses; None to resign.
        self._show_menu(view)
        if self.settings.clock is not None:
            self.console.print(f"You have {self.settings.clock} seconds.", style="dim")
        while True:
            typed = self._input("> ")
            command, _, rest = typed.lower().partition(" ")
            if command in ("q", "quit"):
                raise Left
            if typed.lower() in ("r", "resign"):
                if self._input("Resign? (y or n) ").lower() in ("y", "yes"):
                    return None
            elif command in ("l", "list"):
                self._list(view, rest)
            elif typed.lower() in ("p", "play") and self.hint is not None:
                return self.hint.action
            elif answer := self._commands(view).get(typed.lower()):
                answer()
            elif typed:
                places = self._read(view, typed)
                if len(places) == 1:
                    return view.legal_actions[places[0]]
                if places:
                    self.console.print(f"{len(places)} actions fit:")
                    self.console.print(self.draw.numbered(view, places))

    def _input(self, prompt: str) -> str:
        try:
            return self.console.input(Text(prompt, style="bold")).strip()
        except EOFError:
            raise Left from None

    def _commands(self, view: game_pb2.View) -> dict[str, Callable[[], None]]:
        by_name: dict[tuple[str, ...], Callable[[], None]] = {
            ("h", "hint"): lambda: self._show_hint(view),
            ("p", "play"): lambda: self.console.print("There is no hint yet: h asks for one."),
            ("v", "view"): lambda: self._show_menu(view, with_view=True),
            ("c", "cards"): self._show_cards,
            ("rules",): lambda: self.console.print(self.draw.game.rules),
            ("?", "help"): lambda: self.console.print(HELP, markup=False),
        }
        return {name: answer for names, answer in by_name.items() for name in names}

    def _read(self, view: game_pb2.View, typed: str) -> list[int]:
        try:
            places = self.draw.read(view, typed)
        except drawing.Unclear as error:
            self.console.print(str(error), markup=False)
            return []
        if not places:
            self.console.print(f"{typed}: no legal action. ? for help.", markup=False)
        return places

    def _list(self, view: game_pb2.View, words: str) -> None:
        places = list(range(len(view.legal_actions)))
        if words:
            places = [
                p
                for p in places
                if drawing.has_words(self.draw.action(view.legal_actions[p]), words)
            ]
        self.console.print(self.draw.numbered(view, places) if places else "None.")

    # Hints.

    def _search(self) -> hint_pb2.Hint:
        if self.hint is None:
            self.hint = self._suggest()
        return self.hint

    def _suggest(self) -> hint_pb2.Hint:
        settings = self.settings
        iterations = settings.hint_iterations or (0 if settings.hint_time else HINT_ITERATIONS)
        # Another seed for each decision, so that chance does not repeat itself within a match.
        seed = None if settings.seed is None else (settings.seed * 1000 + self.decisions) % 2**64
        seconds = settings.hint_time
        for _ in range(TRIES):
            try:
                return self.seat.suggest(iterations=iterations, seconds=seconds, seed=seed)
            except CroupierError as error:
                if error.retry_after is None:
                    raise
                time.sleep(error.retry_after)
        return self.seat.suggest(iterations=iterations, seconds=seconds, seed=seed)

    def _show_hint(self, view: game_pb2.View) -> None:
        try:
            hint = self._search()
        except CroupierError as error:
            self.console.print(f"No hint: {error}", markup=False)
            return
        line = Text("Play ").append(self.draw.action(hint.action), style="bold green")
        line.append(f"   expected score {hint.expected_score:.2f}", style="default")
        line.append(
            f"   win {hint.win:.0%}  draw {hint.draw:.0%}  loss {hint.loss:.0%}"
            f"   {hint.iterations:,} iterations",
            style="dim",
        )
        self.console.print(line)
        table = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
        table.add_column("play", justify="right")
        table.add_column("action")
        table.add_column("score", justify="right")
        table.add_column("best in", justify="right")
        table.add_column("searched", justify="right")
        shown = list(hint.actions[:ROWS])
        shown += [item for item in hint.actions[ROWS:] if item.action == hint.action]
        for item in shown:
            deviation = f" ± {item.deviation:.2f}" if item.visits else ""
            tied = " tied" if item.tied else ""
            table.add_row(
                f"{item.probability:.0%}",
                self.draw.action(item.action),
                f"{item.expected_score:.2f}{deviation}{tied}",
                f"{item.best_share:.0%}" if item.best_share else "",
                f"{item.visits:,}",
            )
        self.console.print(table)
        if len(hint.actions) > len(shown):
            self.console.print(f"  and {len(hint.actions) - len(shown)} more", style="dim")
        self._show_line(hint)
        self.console.print("p plays it.", style="dim")

    def _show_line(self, hint: hint_pb2.Hint) -> None:
        # Shows the actions that are expected to follow the suggested one.
        line = next(item.line for item in hint.actions if item.action == hint.action)
        for number, step in enumerate(line[:STEPS]):
            who = "you" if step.seat == hint.seat else self.draw.seat_title(step.seat)
            text = Text(f"  {'then' if number else 'expected:'} {who} ", style="dim")
            self.console.print(text.append(self.draw.action(step.action)))

    # The display.

    def _thinking(self) -> AbstractContextManager[object]:
        if not self.console.is_terminal:
            return nullcontext()
        who = self.draw.seat_title(1 - self.settings.seat)
        what = "waiting for your friend" if self.waits else f"{who} decides"
        return self.console.status(f"[dim]{what}[/dim]", spinner="dots")

    def _show(self, view: game_pb2.View) -> None:
        # Shows the events, and the view if it has changed enough since it was last drawn.
        self._show_events()
        scene = self.draw.scene(view)
        if scene is not None and scene != self.scene:
            self._draw(view)

    def _draw(self, view: game_pb2.View) -> None:
        self.scene = self.draw.scene(view)
        self.console.print()
        self.console.print(Rule(style="dim"))
        self.console.print(self.draw.view(view))
        self.console.print()

    def _show_events(self) -> None:
        for event in self.events:
            line = self.draw.event(event)
            if line is not None:
                self.console.print(line)
        self.events = []

    def _show_menu(self, view: game_pb2.View, with_view: bool = False) -> None:
        if with_view:
            self.console.print(self.draw.view(view))
            self.console.print()
        self.console.print(self.draw.question(view), style="bold", markup=False)
        self.console.print(self.draw.menu(view))

    def _show_cards(self) -> None:
        game = self.draw.game
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for heading in ("card", "kind"):
            table.add_column(heading)
        table.add_column("copies", justify="right")
        titles = list(dict.fromkeys(number.title for card in game.cards for number in card.numbers))
        for title in titles:
            table.add_column(title.lower(), justify="right")
        table.add_column("")
        for card in game.cards:
            numbers = {number.title: str(number.value) for number in card.numbers}
            cells = (numbers.get(title, "") for title in titles)
            table.add_row(card.title, card.kind, str(card.copies), *cells, card.text)
        self.console.print(table)


def _result_line(result: game_pb2.MatchResult) -> str:
    scores = list(result.scores)
    best = max(scores)
    who = "draw" if scores.count(best) > 1 else f"seat {scores.index(best)} wins"
    shown = "-".join(f"{score:g}" for score in scores)
    return f"result: {who} {shown} ({END_REASONS[result.reason]})"
