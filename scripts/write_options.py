"""Write the table of the server's options into docs/configuration.md, from their declarations.

.venv/bin/python scripts/write_options.py          # writes it
.venv/bin/python scripts/write_options.py --check  # exits with 1 if it is not current
"""

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from cli.configuration import ConfiguredParser, Option
from cli.server_options import add_options

PAGE = Path(__file__).parents[1] / "docs/configuration.md"
TABLE = re.compile(
    r"(?<=<!-- the options: begin -->\n\n).*(?=\n<!-- the options: end -->)", re.DOTALL
)


def rows() -> Iterator[str]:
    """The lines of the table."""
    parser = ConfiguredParser()
    add_options(parser)
    yield "| option | default | meaning |"
    yield "|---|---|---|"
    for group, options in groupby(parser.options, key=lambda option: option.group):
        yield f"| **{group}** | | |"
        for option in options:
            cells = (f"`{flag(option)}`", option.default, option.meaning)
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def flag(option: Option) -> str:
    """The flag with its value, as --help has it."""
    action = option.action
    if isinstance(action, argparse.BooleanOptionalAction):
        return option.flag
    value = action.metavar or f"{{{','.join(map(str, action.choices or ()))}}}"
    return f"{option.flag} {value}"


def main() -> int:
    """Writes or checks the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--page", type=Path, default=PAGE, help="a page with the two marks")
    chosen = parser.parse_args()
    text = chosen.page.read_text(encoding="utf-8")
    table = "\n".join(rows()) + "\n"
    written, found = TABLE.subn(lambda _: table, text)
    if found != 1:
        sys.exit(f"{chosen.page}: no place for the table of the options")
    if chosen.check and written != text:
        sys.exit(f"{chosen.page}: the table is not current: run scripts/write_options.py")
    if written != text:
        chosen.page.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
