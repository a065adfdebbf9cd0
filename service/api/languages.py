"""The texts about games in other languages than English, in which the engine has them.

A translation is a file, `engine/<game>/<language>.toml`: the title, the rules in short, and a
table of the other texts (titles of seats, kinds, numbers and cards, what cards do) by the English
ones. So a changed text has no translation, and stays English, until somebody translates it again.
A title that ends in a number is translated without the number.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

ENGLISH = "en"


class Translation(NamedTuple):
    """The texts of a game in one language."""

    title: str
    rules: str
    texts: Mapping[str, str]

    def text(self, english: str) -> str:
        """A text other than the game's title and rules; in English if it has no translation."""
        name = english.rstrip(" 0123456789")
        return self.texts[name] + english[len(name) :] if name in self.texts else english


def translations(game_id: str) -> dict[str, Translation]:
    """The translations of a game by language code, in the order of the codes."""
    found = {}
    for file in files("engine").joinpath(game_id).iterdir():
        if match := re.fullmatch(r"([a-zA-Z-]+)\.toml", file.name):
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            # The lines of a paragraph are one.
            rules = (" ".join(part.split()) for part in content["rules"].strip().split("\n\n"))
            found[match[1]] = Translation(content["title"], "\n\n".join(rules), content["texts"])
    return dict(sorted(found.items()))


def best(wanted: str, available: Mapping[str, object]) -> str:
    """The language to answer in: the wanted one, else the one it is a variety of, else English.

    This is the lookup of RFC 4647: "de-AT" finds "de".
    """
    by_name = {code.lower(): code for code in available}
    parts = wanted.lower().split("-")
    while parts:
        if code := by_name.get("-".join(parts)):
            return code
        parts.pop()
    return ENGLISH
