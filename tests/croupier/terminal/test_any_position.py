"""What the terminal draws of any position, in any language and size: nothing false, nothing cut."""

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor
from rich.console import RenderableType
from rich.text import Text

import wire
from croupier.terminal import drawing, hints, play, texts
from croupier.terminal.plain import plain
from croupier.v1 import game_pb2
from service.api.catalog_service import in_all_languages
from tests.croupier.terminal.terminals import not_german
from tests.support.play import seeded
from tests.support.random_matches import begin, decide
from tests.support.serving import view_of

WIDTHS = (40, 47, 60, 80, 100)
UNCUT = 300  # Columns in which everything fits.
QUOTED = re.compile(r'"([^"]+)"')
SAYS = ("say", "_tell", "agrees", "question", "PlayError", "SettingsError", "_sentence", "_heading")
COMMANDS = ("list", "none", "all")


def views(game: str, rng: random.Random, every: int = 5) -> Iterator[game_pb2.View]:
    """Some views of seats that decide, of a random match."""
    state = begin(game)
    for number in range(150):
        deciding = [view for seat in (0, 1) if (view := view_of(state, seat)).legal_actions]
        if not deciding:
            return
        if number % every == 0:
            yield from deciding
        state = decide(state, deciding[0].seat, choose=lambda legal: rng.choice(list(legal)))


@pytest.fixture(params=wire.hosted_games())
def drawn(request: pytest.FixtureRequest) -> Iterator[tuple[drawing.Drawing, game_pb2.View]]:
    """Positions of a game with its drawing, and with that of any game."""
    game, rng = request.param, seeded(request.param)

    def each() -> Iterator[tuple[drawing.Drawing, game_pb2.View]]:
        for described in in_all_languages(wire.hosted_games()[game]()).values():
            for view in views(game, rng):
                for kind in (drawing.find, drawing.Drawing):
                    draw = kind(described, view.seat, "skilled bot")
                    draw.read_ruleset(view)
                    yield draw, view

    return each()


def asked(draw: drawing.Drawing, view: game_pb2.View, width: int) -> Iterator[list[RenderableType]]:
    """All that can be shown when a seat decides."""
    for shown, menu in draw.screens(view, width):
        yield [draw.title(view), shown, Text(draw.question(view)), menu]


def uncut(shown: list[RenderableType], width: int) -> None:
    narrow, wide = plain(*shown, width=width), plain(*shown, width=UNCUT)
    numbers = [Counter(re.findall(r"\b\d+\b", each)) for each in (wide, narrow)]
    assert not numbers[0] - numbers[1], f"{width}\n{narrow}\n{wide}"
    assert narrow.count("…") <= wide.count("…"), f"{width}\n{narrow}\n{wide}"
    assert max(map(len, narrow.splitlines())) <= width, narrow


def test_no_number_is_cut(drawn: Iterator[tuple[drawing.Drawing, game_pb2.View]]) -> None:
    for draw, view in drawn:
        for width in WIDTHS:
            for shown in asked(draw, view, width):
                uncut(shown, width)
    for width in WIDTHS:
        uncut([hints.cards(draw.game, draw.say)], width)


def test_what_is_given_as_an_example_can_be_typed(
    drawn: Iterator[tuple[drawing.Drawing, game_pb2.View]],
) -> None:
    for draw, view in drawn:
        for shown in asked(draw, view, UNCUT):
            told = " ".join(plain(*shown[2:], width=UNCUT).split())
            for example in [*QUOTED.findall(told), draw.example(view)]:
                command, _, words = example.partition(" ")
                if command == "list" and words:
                    said = map(draw.action, view.legal_actions)
                    assert any(drawing.has_words(text, words) for text in said), example
                elif example not in COMMANDS:
                    assert draw.read(view, example), f"{example!r}\n{told}"


def test_everything_is_said_in_german(
    drawn: Iterator[tuple[drawing.Drawing, game_pb2.View]],
) -> None:
    for draw, view in drawn:
        if draw.game.language_code == "de" and type(draw) is not drawing.Drawing:
            shown = plain(*(part for each in asked(draw, view, 80) for part in each), width=80)
            assert not not_german(shown, draw.name), shown


def test_every_text_of_the_terminal_has_a_translation() -> None:
    said: set[str] = set()
    for path in Path(texts.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SAYS:
                words = [each for arg in node.args[:1] for each in ast.walk(arg)]
                said |= {each.value for each in words if isinstance(each, ast.Constant)}
    said |= set(play._REFUSALS.values()) | set(play.HINTS.values())
    assert len(said) > 50
    # But for a mark, and the names of refusals.
    assert not [t for t in said - texts.GERMAN.keys() if not re.fullmatch("[A-Z_]*", t)]


def paths(kind: Descriptor, path: str = "") -> Iterator[str]:
    for field in kind.fields:
        yield f"{path}{field.name}"
        if field.message_type:
            yield from paths(field.message_type, f"{path}{field.name}.")


def test_a_field_of_a_view_is_left_out_if_its_phrase_is_empty(
    drawn: Iterator[tuple[drawing.Drawing, game_pb2.View]],
) -> None:
    seen = set()
    for draw, view in islice((each for each in drawn if type(each[0]) is drawing.Drawing), 20):
        all_paths = list(paths(draw.inner(view).DESCRIPTOR))
        for path in all_paths:
            told = []
            plain_field = not any(each.startswith(f"{path}.") for each in all_paths)
            sentence = f"Lion {{{path.rpartition('.')[2]}}}." if plain_field else "Lion"
            for phrase in ("Zebra", "", sentence):
                draw.words.phrases[f"view.{path}"] = phrase
                told.append(plain(draw.view(view), width=UNCUT))
            del draw.words.phrases[f"view.{path}"]
            assert "{" not in told[2], path
            if "Zebra" in told[0]:
                seen.add(path)
                assert "Zebra" not in told[1]
                assert len(told[1].split()) < len(told[0].split()), path
    assert len(seen) > 5 and any("." in path for path in seen), seen
