"""Write the options of the server into docs/configuration.md and the schema of the Helm chart.

.venv/bin/python scripts/write_options.py          # writes it
.venv/bin/python scripts/write_options.py --check  # exits with 1 if it is not current
"""

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from cli.configuration import ConfiguredParser, Option
from cli.server_options import add_options
from service.admission.budgets import Budget

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/configuration.md"
SCHEMA = ROOT / "deploy/helm/croupier/values.schema.json"
# The chart sets these itself, by its other values; TLS ends before its pods.
OF_THE_CHART = {"role", "listen", "metrics-host", "metrics-port", "store", "data", "callers-file"}
OF_THE_CHART |= {"tls-cert", "tls-key", "tls-client-ca"}
PATTERNS = {"DURATION": "[0-9]{1,9}[smhd]", "--end-idle": "[0-9]{1,9}[smhd]|never", "--web": "off"}
PATTERNS["SIZE"] = "(1[6-9]|[2-9][0-9]|[1-9][0-9]{2,6})M|[1-9][0-9]{0,6}G"
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


def definitions() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of what the chart takes as options, and as budgets, by their names."""
    parser = ConfiguredParser()
    add_options(parser)
    options = {each.key: value(each) for each in parser.options if each.key not in OF_THE_CHART}
    amount = {"anyOf": [{"type": "number", "minimum": 0}, {"const": "unlimited"}]}
    for name, known in (("options", options), ("limits", {each.value: amount for each in Budget})):
        yield name, {"type": "object", "additionalProperties": False, "properties": known}


def value(option: Option) -> dict[str, Any]:
    """The schema of what an option takes."""
    action = option.action
    if isinstance(action, argparse.BooleanOptionalAction):
        return {"type": "boolean"}
    if action.choices:
        return {"enum": list(action.choices)}
    if pattern := PATTERNS.get(option.flag) or PATTERNS.get(str(action.metavar)):
        return {"type": "string", "pattern": f"^({pattern})$"}
    if action.metavar in ("N", "SECONDS"):
        limits = inspect.getclosurevars(action.type).nonlocals  # type: ignore[arg-type]
        return {"type": "integer", "minimum": limits["least"], "maximum": limits["most"]}
    return {"type": "string", "minLength": 1}


def main() -> int:
    """Writes or checks them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--page", type=Path, default=PAGE, help="a page with the two marks")
    chosen = parser.parse_args()
    put(chosen.page, TABLE, "\n".join([*rows(), ""]), chosen.check)
    for name, schema in definitions():
        line = re.compile(f'(?m)(?<=^    "{name}": ).*(?=,$)')
        put(SCHEMA, line, json.dumps(schema), chosen.check)
    return 0


def put(path: Path, place: re.Pattern[str], made: str, check: bool) -> None:
    """Writes a text into its place in a file, or checks that it is there."""
    text = path.read_text(encoding="utf-8")
    written, found = place.subn(lambda _: made, text)
    if found != 1:
        sys.exit(f"{path}: no place for the options")
    if check and written != text:
        sys.exit(f"{path}: the options are not current: run scripts/write_options.py")
    if written != text:
        path.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
