"""The terminal that a match is played on: nothing scrolls out of sight before it was read."""

import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.segment import ControlType, Segment, SegmentLines
from rich.text import Text

from croupier.terminal.texts import Say

ON = "Enter: go on "
YES, NO = ("y", "yes", "j", "ja"), ("n", "no", "nein")
_FEWEST = 8  # Lines; a lower terminal scrolls.
LOOK = 0.1  # Seconds between two looks at what else has come while nobody types.

Lines = list[list[Segment]]


class Left(Exception):
    """The player has left the match."""


class MovedOn(Exception):
    """What was asked is no longer a question: the match has moved on."""


class Screen:
    """Prints to a console and reads what is typed; counts the lines since the last prompt."""

    def __init__(self, console: Console, *, stops: bool = True) -> None:
        """With `stops`, prints no more than fits on the screen until a key was pressed."""
        self.console = console
        self.asks = console.is_terminal and sys.stdin.isatty()  # Whether somebody can answer.
        # Windows does not tell whether a line was typed.
        self._listens = self.asks and sys.platform != "win32"
        self._stops = stops and self.asks
        self._used = 0
        self._typed = ""  # At a stop, for the next question.
        self.say: Say = str  # Translates its questions.
        # Whether what is told need not be read any more before the next thing.
        self.moved_on: Callable[[], bool] = lambda: False
        self._goes_on = False  # Whether the program was stopped since the question was shown.
        if self._listens and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGCONT, self._note_going_on)

    def _note_going_on(self, number: int, frame: object) -> None:
        self._goes_on = True

    @property
    def height(self) -> int | None:
        """How many lines are in sight at once; None where nobody looks at a screen."""
        return max(self.console.height, _FEWEST) if self.console.is_terminal else None

    @property
    def left(self) -> int | None:
        """How many more lines fit above a prompt; None: as many as there are."""
        height = self.height
        return None if height is None else max(height - 1 - self._used, 0)

    def lines(self, *shown: RenderableType) -> Lines:
        """Returns what is printed of something, line by line."""
        return self.console.render_lines(Group(*shown), pad=False)

    def print(self, *shown: RenderableType) -> None:
        """Prints something, a screen at a time."""
        self.print_lines(self.lines(*shown))

    def print_lines(self, lines: Lines) -> None:
        """Prints lines, a screen at a time."""
        while lines:
            if self._stops and self.left == 0:
                self.stop()
            fit = self.left if self._stops else None
            page, lines = (lines, []) if fit is None else (lines[:fit], lines[fit:])
            self.console.print(SegmentLines(page, new_lines=True), end="")
            self._used += len(page)

    def stop(self) -> None:
        """Lets the player read what is in sight, if there is something new.

        What is typed there answers the next question, and nothing stops before it.
        """
        if self._stops and self._used and not self._typed:
            before = self.moved_on()
            with suppress(MovedOn):
                until = lambda: not before and self.moved_on()  # noqa: E731
                self._typed = self.ask(self.say(ON), style="dim", until=until)
        self._used = 0

    def typed(self, seconds: float = 0.0) -> bool:
        """Waits up to so many seconds for a line; returns whether one can be read."""
        return self._listens and bool(select.select([sys.stdin], [], [], seconds)[0])

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Shows in the last line what is waited for. It stands still: somebody may type there."""
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            self.console.print(Text(f"{what} … ", style="dim"), end="")
        yield
        end_of_line = ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)
        self.console.control(Control(*end_of_line))

    def ask(
        self, prompt: str, style: str = "bold", until: Callable[[], bool] = lambda: False
    ) -> str:
        """Returns what is typed, without spaces around it; raises Left at its end.

        Raises MovedOn as soon as `until` is true before a line was typed.
        """
        try:
            if self._typed:
                typed, self._typed = self._typed, ""
                self.print_lines(self.lines(Text(f"{prompt}{typed}", style=style)))
                return typed
            self._goes_on = False
            self.console.print(Text(prompt, style=style), end="")
            while self._listens and not self.typed(LOOK):
                if until():
                    self.console.print()
                    raise MovedOn
                if self._goes_on:
                    self._goes_on = False
                    self.console.print(Text(prompt, style=style), end="")
            return self.console.input().strip()
        except EOFError:
            raise Left from None
        finally:
            self._used = 0

    def question(self, text: str) -> str:
        """Returns a question as it is asked, with its answers."""
        return f"{self.say(text)} {self.say('(y or n)')} "

    def agrees(
        self,
        question: str,
        others: Mapping[str, Callable[[], None]] = {},
        until: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Asks until the player has typed y or n; returns whether it was y.

        `others` are further answers, after each of which it asks again. Raises MovedOn as `ask`.
        """
        self._typed = ""  # Nobody agrees to what they have not read.
        while True:
            typed = self.ask(self.question(question), until=until).lower()
            if typed in others:
                others[typed]()
            if typed in YES:
                return True
            if typed in NO:
                return False
