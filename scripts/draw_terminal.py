"""Draw the README's picture of the terminal client: a match of Skystones with a hint.

python -m scripts.draw_terminal docs/terminal.svg
"""

import io
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import TextType

from croupier.terminal.play import play
from croupier.terminal.settings import Settings
from tests.support.server_process import ServerProcess

SEED = 7
# The first action each time, until there are cards on the board; then a hint, and the end.
TYPED = ["1"] * 7 + ["h"]


class Recorded(Console):
    """A terminal at which that is typed, which keeps what the last decision shows."""

    def __init__(self) -> None:
        super().__init__(
            record=True,
            file=io.StringIO(),
            width=80,
            height=60,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._typed = iter(TYPED)
        self.svg = ""

    def input(self, prompt: TextType = "", **_: Any) -> str:
        """What is typed next; raises EOFError after all."""
        self.print(prompt, end="")
        typed = next(self._typed, None)
        if typed is None:
            self.svg = self.export_svg(title="croupier play skystones")
            raise EOFError
        self.print(typed)
        if typed != "h":
            self.export_text()  # Forgets it.
        return typed


def main() -> None:
    """Plays, and writes the picture to the file that is named."""
    console = Recorded()
    with ServerProcess("--allow-seeds") as server:  # type: ignore[no-untyped-call]
        settings = Settings(
            server=server.address, game="skystones", save=False, seed=SEED, hint_iterations=20_000
        )
        play(settings, console)
    Path(sys.argv[1]).write_text(console.svg)


if __name__ == "__main__":
    main()
