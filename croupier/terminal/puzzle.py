"""A puzzle in the terminal: a position in which one action is clearly the best."""

from collections.abc import Callable
from contextlib import suppress

from rich.text import Text

from croupier.client import Client, Seat
from croupier.terminal import drawing, hints, texts
from croupier.terminal.screen import MovedOn, Screen
from croupier.terminal.session import Session
from croupier.terminal.settings import Settings
from croupier.v1 import catalog_pb2, game_pb2, hint_pb2

INTRODUCTION = "One move is clearly the best. h shows the solution, n the next puzzle."
NEXT = "n, next          go on to the next puzzle"


class Puzzle(Session):
    """One puzzle, by its number among those of its game."""

    def __init__(
        self,
        client: Client,
        game: catalog_pb2.Game,
        name: str,
        number: int,
        settings: Settings,
        screen: Screen,
    ) -> None:
        self.view = client.puzzle(name).view
        draw = drawing.find(game, self.view.seat, "")
        draw.opponent = draw.say("Opponent")
        super().__init__(Seat(client, "", ""), draw, settings, screen)
        self.client, self.name, self.number = client, name, number

    def play(self) -> None:
        """Asks until the puzzle is solved or given up."""
        self._begin(self.view)
        title = Text(f"{self.draw.game.title}: ", style="bold")
        title.append(self.say("Puzzle {}").format(self.number))
        self.screen.print(title, Text(self.say(INTRODUCTION), style="dim"))
        self._draw(self.view, asks=True)
        with suppress(MovedOn):
            self._solve()

    def _solve(self) -> None:
        while True:
            action = self._ask(self.view)[0]
            told = self.client.solve(self.name, action)
            if told.correct:
                self._tell("Right!")
                self.screen.print(*hints.shown(self.draw, told.hint))
                self.screen.stop()
                return
            own = next((each for each in told.hint.actions if each.action == action), None)
            compared = hints.compared(own, self.say) if own else self.say("not examined")
            said = self.draw.action(action)
            self._tell("There is something better. Your move, {}: {}.", said, compared)

    def _give_up(self) -> None:
        raise MovedOn

    def _own_commands(self, view: game_pb2.View) -> dict[tuple[str, ...], Callable[[], None]]:
        return {("n", "next"): self._give_up}

    def _help(self, view: game_pb2.View, *without: str) -> str:
        told = super()._help(view, "r, ", *texts.OFFERS.values(), *without)
        return f"{told}\n{self.say(NEXT)}"

    def _search(self) -> hint_pb2.Hint:
        # The solution, which a wrong answer is told too.
        self.hint = self.client.solve(self.name, self.view.legal_actions[0]).hint
        return self.hint
