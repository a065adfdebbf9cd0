"""One match in the terminal: what the player sees and types."""

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import Empty, SimpleQueue

from rich.console import RenderableType
from rich.rule import Rule
from rich.status import Status
from rich.text import Text

from croupier.client import END_REASONS, CroupierError, NewMatch, Seat
from croupier.phrases import capital, origin_sentence
from croupier.seats import waits
from croupier.streams import in_background
from croupier.terminal import drawing, hints, texts
from croupier.terminal.review import Review
from croupier.terminal.screen import LOOK, Left, MovedOn, Screen
from croupier.terminal.settings import HINT_ITERATIONS, Settings
from croupier.v1 import game_pb2, hint_pb2, match_pb2

RESULT_LINES = 5  # The ending in at most three, the result, and what a key does.
DEEPER = 3  # Times the iterations of a review, for decisions that may have lost much.
REMATCH = "Rematch?"
REVIEW = "v reviews the match: who erred where, and what was luck."
NOT_YOURS = "It is not your turn. ? for help."
NO_HINTS = "No hint: in this match nobody may ask for hints before it is over."


class Session:
    """A match in progress."""

    def __init__(
        self,
        seat: Seat,
        draw: drawing.Drawing,
        settings: Settings,
        screen: Screen,
        seen: int | None = None,
    ) -> None:
        """`seen` is the last version whose events need not be told; None: tell all of them."""
        self.seen = seen
        self.seat = seat
        self.draw = draw
        self.settings = settings
        self.screen = screen
        screen.say = draw.say
        self.events: list[game_pb2.MatchEvent] = []  # Not shown yet.
        self.scene: Hashable = None  # Of the view that was drawn last.
        self.decisions = 0
        self.waits = False  # Whether the match waits for an invited seat.
        self.hint: hint_pb2.Hint | None = None  # For the decision that is owed.
        self.over: game_pb2.View | None = None  # At the end.
        # What the stream has brought, and at its end its error or None.
        self._came: SimpleQueue[match_pb2.WatchMatchResponse | Exception | None] = SimpleQueue()
        self._newest: game_pb2.View | None = None  # Of all that it has brought.
        self.screen.moved_on = self._is_over

    @property
    def opponent(self) -> str:
        """The other player: a name, "friend", or such as "casual bot"."""
        return self.draw.opponent

    @property
    def say(self) -> texts.Say:
        """Translates what is said here into the player's language."""
        return self.draw.say

    def play(self) -> None:
        """Plays to the end and prints the result."""
        game = self.draw.game
        you, other = self.settings.seat, 1 - self.settings.seat
        heading = Text(game.title, style="bold").append(": ", style="not bold")
        heading.append(self.say("you are "), style="not bold").append_text(self.draw.seat_name(you))
        heading.append(self.say(" against "), style="not bold")
        heading.append_text(self.draw.seat_name(other))
        heading.append(f", {self.draw.opponent_said}", style="not bold")
        self.screen.print(heading)
        if not self.settings.auto:
            self.screen.print(Text(self.say("Type ? for help."), style="dim"))
        self.over = self._follow()
        self.screen.print(Text(self.draw.over(self.over)), Text(self.draw.result(self.over)))

    def leave(self, how: str, back: str) -> None:
        """Says that the match is not over, and the command that comes back to it."""
        self.screen.console.print()
        match = self.say("{} stays unfinished on {}.")
        told = match.format(self.seat.match, self.settings.server)
        self.screen.print(Text(f"{self.say(how)}: {told}"))
        told = self.say("Come back with: {}").format(back)
        self.screen.print(Text(told if back else self.say("The seat was not saved.")))

    def _follow(self) -> game_pb2.View:
        # The stream drives the session. Views that are out of date are skipped: the other seat may
        # decide, and the stream tell of it, while the player still thinks.
        in_background("following a match", self._listen)
        begun = False
        while True:
            response = self._next()
            if response is None:
                view = self.seat.view()
                if not begun:
                    self._begin(view)
                self._show(view)
                return view
            if response.HasField("view") and not begun:
                begun = True
                self._begin(response.view)
            self._tell_of_seats(response)
            self.events += response.events
            if not response.HasField("view") or response.version != self.seat.version:
                continue
            view = response.view
            if view.HasField("result"):
                self._show(view)
                return view
            self._answer(view)
            if view.legal_actions and not waits(view):
                self._decide(view)

    def _listen(self) -> None:
        end: Exception | None = None
        try:
            for response in self.seat.watch(
                self.seen, heartbeats=True, hide_presence=self.settings.hide
            ):
                if response.HasField("view"):
                    self._newest = response.view
                self._came.put(response)
        except Exception as error:
            end = error
        self._came.put(end)

    def _next(self) -> match_pb2.WatchMatchResponse | None:
        # What the stream brings next; None at its end. The player may type commands meanwhile.
        while True:
            waited_for = self._waited_for()
            with self.screen.waiting(waited_for):
                while not (typed := self.screen.typed()):
                    with suppress(Empty):
                        response = self._came.get(timeout=LOOK)
                        if isinstance(response, Exception):
                            raise response
                        if response is None or not _is_bare(response):
                            return response
                        if waited_for != self._waited_for():
                            break
            if typed:
                self._until_moved_on(self._command)

    def _command(self) -> None:
        # Which the player has typed while the other one decides.
        view = self._newest or self.seat.view()
        self.hint = None
        typed = self.screen.ask("").lower()
        if answer := self._commands(view).get(typed):
            answer()
        elif typed:
            self._tell(NOT_YOURS)

    def _has_moved_on(self, view: game_pb2.View) -> bool:
        # Whether the seat need not decide any more as it had to in this view.
        newest = self._newest
        if newest is None or newest.version == view.version:
            return False
        taken_back = newest.takeback_count != view.takeback_count
        return taken_back or newest.legal_actions != view.legal_actions or self._is_asked(newest)

    def _is_asked(self, view: game_pb2.View) -> bool:
        # Whether the other player asks for something, or the match is paused or over.
        asks = view.HasField("offer") and view.offer.seat != self.settings.seat
        return asks or view.HasField("pause_end_time") or view.HasField("result")

    def _answer(self, view: game_pb2.View) -> None:
        # To an offer of the other player, or to a pause, which the player may end.
        if not self._is_asked(view) or self.settings.auto:
            return
        self._show_events()
        paused = view.HasField("pause_end_time")
        with suppress(CroupierError, MovedOn):  # It is over, or somebody was first.
            agrees = self.screen.agrees(
                "The match is paused. Go on?" if paused else "Agree?",
                {"q": self._leave, "r": self._resign},
                until=lambda: self._newest is not None and self._newest.version != view.version,
            )
            if not paused:
                self.seat.answer_offer(view.offer, agree=agrees)
            elif agrees:
                self.seat.resume()

    def _offer(self, now: game_pb2.View, kind: str) -> None:
        try:
            view = self.seat.offer(kind)
        except CroupierError as error:
            self._tell("No offer: {}", error)
            return
        if view.version > now.version and not view.HasField("offer"):
            raise MovedOn
        if not view.HasField("offer"):
            self._tell("That has just been done.")
            return
        self._tell("Asked. The match goes on when you play.")

    def _begin(self, view: game_pb2.View) -> None:
        self.draw.read_ruleset(view)
        if view.HasField("origin"):
            self.screen.print(Text(origin_sentence(view.origin, self.say)))

    def _tell_of_seats(self, response: match_pb2.WatchMatchResponse) -> None:
        other = 1 - self.settings.seat
        for event in response.events:
            if event.HasField("seat_joined") and event.seat_joined.seat == other:
                if name := drawing.printable(event.seat_joined.display_name):
                    self.draw.opponent = name
                self.screen.print(Text(self.say("{} has joined.").format(self._who())))
        if response.HasField("view"):
            players = response.view.players
            waits = any(p.HasField("invited") and not p.invited.joined for p in players)
            if waits and not self.waits and not response.view.HasField("result"):
                begins = self.say("The match begins when {} has joined.")
                self.screen.print(Text(begins.format(self.draw.who(other)), style="dim"))
            self.waits = waits

    def _who(self) -> str:
        # The other player at the beginning of a sentence.
        return capital(self.draw.who(1 - self.settings.seat))

    def _decide(self, view: game_pb2.View) -> None:
        self.decisions += 1
        self.hint = None
        self._until_moved_on(lambda: self._decide_in_time(view))

    def _until_moved_on(self, work: Callable[[], None]) -> None:
        try:
            work()
        except MovedOn:
            pass  # The stream tells how.
        except CroupierError as error:
            if error.reason in ("MATCH_PAUSED", "STALE_VERSION"):
                return
            if error.reason != "MATCH_OVER":
                raise
            in_time = END_REASONS[self.seat.view().result.reason] != "time"
            late = "Too late: the match is over." if in_time else "Too late: your time was up."
            self.screen.print(Text(self.say(late)))

    def _decide_in_time(self, view: game_pb2.View) -> None:
        if self.settings.auto:
            self._decide_by_hint(view)
        elif len(view.legal_actions) == 1:
            self._show_events()
            action = view.legal_actions[0]
            only = self.say("You can only play: {}").format(self.draw.action(action))
            self.screen.print(Text(only))
            self.seat.submit(action, view.version)
        else:
            self._draw(view, asks=True)
            self._choose(view)

    def _choose(self, view: game_pb2.View) -> None:
        actions = self._ask(view)
        chosen = Text("; ".join(map(self.draw.action, actions)), style="bold not dim")
        self.screen.print(Text(self.say("You choose: "), style="dim").append_text(chosen))
        self.seat.submit(actions[0], view.version, then=actions[1:])

    def _decide_by_hint(self, view: game_pb2.View) -> None:
        self._show(view)
        hint = self._search()
        line = Text(self.say("hint: "), style="dim").append(
            self.draw.action(hint.action), style="bold not dim"
        )
        line.append(hints.expected(self.draw, hint))
        self.screen.print(line)
        time.sleep(self.settings.delay)
        self.seat.submit(hint.action, view.version)

    # The player's input.

    def _ask(self, view: game_pb2.View) -> list[game_pb2.MatchAction]:
        # Returns the action that the player chooses, and what shall follow it.
        while True:
            typed = self.screen.ask("> ", until=lambda: self._has_moved_on(view))
            command, _, rest = typed.lower().partition(" ")
            if command in ("l", "list"):
                self._list(view, rest)
            elif typed.lower() in ("p", "play") and self.hint is not None:
                return [self.hint.action]
            elif answer := self._commands(view).get(typed.lower()):
                answer()
            elif parts := [part.strip() for part in typed.split(";") if part.strip()]:
                found = [self._read(view, part) for part in parts]
                if all(len(places) == 1 for places in found):
                    return [view.legal_actions[place] for (place,) in found]
                for places in found:
                    if len(places) > 1:
                        self.screen.print(
                            Text(self.say("{} actions fit:").format(len(places))),
                            self.draw.numbered(view, places),
                        )

    def _is_over(self) -> bool:
        return self._newest is not None and self._newest.HasField("result")

    def _leave(self) -> None:
        raise Left

    def _resign(self) -> None:
        if self.screen.agrees("Resign?", until=self._is_over):
            self.seat.resign()
            raise MovedOn

    def _commands(self, view: game_pb2.View) -> dict[str, Callable[[], None]]:
        by_name: dict[tuple[str, ...], Callable[[], None]] = {
            ("h", "hint"): self._show_hint,
            ("p", "play"): lambda: self._tell("There is no hint yet: h asks for one."),
            ("v", "view"): lambda: self._show_all(view),
            ("c", "cards"): lambda: self.screen.print(hints.cards(self.draw.game, self.say)),
            ("q", "quit"): self._leave,
            **self._own_commands(view),
            ("rules",): lambda: self.screen.print(Text(self.draw.game.rules)),
            ("?", "help"): lambda: self.screen.print(Text(self._help(view))),
        }
        return {name: answer for names, answer in by_name.items() for name in names}

    def _own_commands(self, view: game_pb2.View) -> dict[tuple[str, ...], Callable[[], None]]:
        # Those that only a match has.
        return {
            ("t", "takeback"): lambda: self._offer(view, "takeback"),
            ("pause",): lambda: self._offer(view, "pause"),
            ("r", "resign"): self._resign,
        }

    def _help(self, view: game_pb2.View, *without: str) -> str:
        # The commands, but for those whose lines begin so, and what this match does not allow.
        without += tuple(texts.OFFERS[kind] for kind in view.forbidden_offers)
        lines = self.say(texts.HELP).splitlines()[0 if view.legal_actions else texts.TO_DECIDE :]
        told = "\n".join(line for line in lines if not line.startswith(without))
        return told.format(self.draw.example(view)) if view.legal_actions else told

    def _read(self, view: game_pb2.View, typed: str) -> list[int]:
        try:
            places = self.draw.read(view, typed)
        except drawing.Unclear as error:
            self.screen.print(Text(str(error)))
            return []
        if not places:
            self._tell("{}: no legal action. ? for help.", typed)
        return places

    def _list(self, view: game_pb2.View, words: str) -> None:
        said = map(self.draw.action, view.legal_actions)
        places = [place for place, text in enumerate(said) if drawing.has_words(text, words)]
        self.screen.print(self.draw.numbered(view, places) if places else Text(self.say("None.")))

    # Hints.

    def _search(self) -> hint_pb2.Hint:
        if self.hint is not None:
            return self.hint
        settings = self.settings
        iterations = settings.hint_iterations or (0 if settings.hint_time else HINT_ITERATIONS)
        # Another seed for each decision, so that chance does not repeat itself within a match.
        seed = None if settings.seed is None else (settings.seed * 1000 + self.decisions) % 2**64
        seconds = settings.hint_time
        self.hint = hints.ask(self.seat, iterations=iterations, seconds=seconds, seed=seed)
        return self.hint

    def _show_hint(self) -> None:
        try:
            hint = self._search()
        except CroupierError as error:
            told = {"HINTS_NOT_ALLOWED": NO_HINTS, "NOT_TO_DECIDE": NOT_YOURS}
            self._tell(told.get(error.reason, "No hint: {}"), error)
            return
        count = texts.number(hint.iterations, self.say)
        end = self.say("{} iterations. p plays it.").format(count)
        self.screen.print(*hints.shown(self.draw, hint), Text(end, style="dim"))

    # The display.

    def _tell(self, told: str, *given: object) -> None:
        self.screen.print(Text(self.say(told).format(*given)))

    def _waited_for(self) -> str:
        who = self.draw.who(1 - self.settings.seat)
        if self.waits:
            return self.say("waiting for {}").format(who)
        away = self.seat.other_seat == "away"
        return self.say("{} is away" if away else "{} decides").format(capital(who))

    def _spinning(self, what: str) -> AbstractContextManager[Status | None]:
        console = self.screen.console
        if not console.is_terminal:
            return nullcontext()
        return console.status(Text(what, style="dim"), spinner="dots")

    def _show(self, view: game_pb2.View) -> None:
        # Shows the events, and the view if it has changed enough since it was last drawn.
        if view.WhichOneof("game") is None:  # It ended before the cards were dealt.
            self._show_events()
            return
        scene = self.draw.scene(view)
        if view.HasField("result") or (scene is not None and scene != self.scene):
            self._draw(view)
        else:
            self._show_events()

    def _draw(self, view: game_pb2.View, *, asks: bool = False) -> None:
        # Shows the events and, on the same screen if there is room, the match: all of it, or as
        # much as there is room for.
        self.scene = self.draw.scene(view)
        told = self.screen.lines(*self._told())
        width = self.screen.console.width
        screens = [
            self.screen.lines(
                self._heading(view),
                shown,
                *(self._questions(view, menu) if asks else ()),
            )
            for shown, menu in self.draw.screens(view, width)
        ]
        left = self.screen.left
        reserve = 0 if asks else RESULT_LINES
        fits = [s for s in screens if left is None or len(told) + len(s) + reserve <= left]
        self.screen.print_lines(told)
        if not fits:
            self.screen.stop()
            left = self.screen.left
            fits = [s for s in screens if left is None or len(s) + reserve <= left]
        self.screen.print_lines(fits[0] if fits else screens[-1])

    def _heading(self, view: game_pb2.View) -> RenderableType:
        title = self.draw.title(view)
        fits = title.cell_len + 2 < self.screen.console.width
        return Rule(title, align="left", style="dim") if fits else title

    def _questions(self, view: game_pb2.View, menu: RenderableType) -> Sequence[RenderableType]:
        clock = self.settings.clock
        told = [] if clock is None else [self.say("You have {} seconds.").format(clock)]
        time_left = [Text(each, style="dim") for each in told]
        question = Text(self.draw.question(view), style="bold")
        height = self.screen.height
        # What is asked is in sight when it is to be answered.
        long = (
            height is not None and len(self.screen.lines(question, menu, *time_left)) > height - 2
        )
        return (menu, question, *time_left) if long else (question, menu, *time_left)

    def _told(self) -> Sequence[Text]:
        told = [line for event in self.events if (line := self.draw.event(event)) is not None]
        self.events = []
        return told

    def _show_events(self) -> None:
        self.screen.print(*self._told())

    def _show_all(self, view: game_pb2.View) -> None:
        if view.WhichOneof("game") is None:
            self._tell("The cards are not dealt yet.")
            return
        shown, menu = next(iter(self.draw.screens(view, self.screen.console.width)))
        questions = self._questions(view, menu) if view.legal_actions else ()
        self.screen.print(self._heading(view), shown, *questions)

    # After the end.

    def rematch(self) -> NewMatch | None:
        """Asks for a rematch, on a terminal; returns it, or None if there is none."""
        result = self.over.result if self.over else None
        declined = result is not None and END_REASONS.get(result.reason) == "declined"
        if result is None or declined or self.settings.auto or not self.screen.asks:
            return None
        in_background("hearing of a rematch", self._tell_of_offers)
        try:
            self.screen.print(Text(self.say(REVIEW), style="dim"))
            if self.screen.agrees(REMATCH, {"v": self.review}):
                return self.seat.rematch()
            offer = self.seat.rematch_offer()
            if offer is not None and offer.state == match_pb2.REMATCH_STATE_OFFERED:
                self.seat.decline_rematch()
        except Left:
            return None
        except CroupierError as error:
            if error.reason not in ("MATCH_OVER", "REMATCH_NOT_OFFERED"):
                raise
            self._tell("There is no rematch any more.")
        return None

    def review(self) -> None:
        """Reviews the match, which is over, and shows what was found."""
        draw = drawing.find(self.draw.game, self.settings.seat, self.opponent)
        assert self.over is not None
        draw.read_ruleset(self.over)
        review, few = Review(draw), self.settings.review_iterations
        try:
            with self._spinning(review.say("The match is reviewed.")) as status:
                for report in self.seat.review(iterations=few, deep_iterations=DEEPER * few):
                    review.add(report)
                    if status:
                        status.update(Text(review.progress(report.progress), style="dim"))
        except CroupierError as error:
            self.screen.print(Text(review.say("No review: {}").format(error)))
        except KeyboardInterrupt:
            self.screen.print(Text(review.say("The review was stopped.")))
        else:
            self.screen.print(*review.shown())

    def _tell_of_offers(self) -> None:
        # Tells that the other player has asked for a rematch, while the question waits.
        last = self.over.version if self.over else None
        with suppress(CroupierError):
            for response in self.seat.watch(last, follow_rematch=True):
                offer = response.rematch
                offered = offer.state == match_pb2.REMATCH_STATE_OFFERED
                if offered and 1 - self.settings.seat in offer.asking_seats:
                    told = self.say("{} asks for a rematch.").format(self._who())
                    asks = Text(f"\n{told}\n")
                    asks.append(self.screen.question(REMATCH), style="bold")
                    self.screen.console.print(asks, end="")


def _is_bare(response: match_pb2.WatchMatchResponse) -> bool:
    # Whether it only says that nothing has happened, or who is there.
    return response.up_to_date and not response.HasField("view")
