"""The program `croupier-play` of the distribution croupier."""

import sys

from croupier.terminal import program


def main() -> None:
    """Plays a match; says what is missing where the extra `terminal` is not installed."""
    program.begin()
    try:
        from croupier.terminal import command
    except ModuleNotFoundError as error:
        if error.name != "rich":
            raise
        sys.exit("croupier-play needs rich: pip install 'croupier[terminal]'")
    command.main()
