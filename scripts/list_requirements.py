"""Print the requirements under keys of pyproject.toml, such as `dependency-groups.dev`.

Prints one requirement per line. This replaces `pip install --group`, which needs a newer pip than
Python 3.11 comes with.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any


def requirements(document: dict[str, Any], key: str) -> list[str]:
    """The list under a key whose parts are separated by dots."""
    found: Any = document
    for part in key.split("."):
        found = found[part]
    return list(found)


def main() -> None:
    """Prints the requirements under the keys on the command line."""
    path = Path(__file__).parents[1] / "pyproject.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    for key in sys.argv[1:]:
        print(*requirements(document, key), sep="\n")


if __name__ == "__main__":
    main()
