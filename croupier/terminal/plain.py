"""What the terminal client draws, as plain text."""

import io

from rich.console import Console, RenderableType


def plain(*shown: RenderableType, width: int) -> str:
    """Returns what is shown in `width` columns, without colours and spaces at the ends of lines."""
    console = Console(
        file=io.StringIO(), width=width, color_system=None, highlight=False, emoji=False
    )
    with console.capture() as captured:
        console.print(*shown, sep="\n")
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"
