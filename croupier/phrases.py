"""Phrases of the catalog: sentences with fields in braces, in which values are put."""

import re
from collections.abc import Iterator, Mapping, Sequence

from croupier.enums import words
from croupier.v1 import catalog_pb2, game_pb2

_FIELD = re.compile(r"{(\w+)}")


def pieces(phrase: str) -> Iterator[tuple[str, str]]:
    """Yields the texts of a phrase, each with the name of the field after it, empty at the end."""
    texts = _FIELD.split(phrase)
    yield from zip(texts[::2], [*texts[1::2], ""], strict=True)


def fill(
    phrase: str, ending: game_pb2.Ending, seats: Sequence[str], cards: Mapping[str, str]
) -> str:
    """Returns a phrase with the values of an ending; raises KeyError if one is missing.

    `seats` are the titles of the seats, `cards` those of the cards by their ids.
    """
    said = {value.field: _word(value, seats, cards) for value in ending.values}
    return _FIELD.sub(lambda field: said[field[1]], phrase)


def ending_sentence(game: catalog_pb2.Game, ending: game_pb2.Ending) -> str:
    """Returns what decided a match, in the language in which `Client.game` has described the game.

    It is in English if the description does not have this ending.
    """
    phrase = game.phrases.get(f"ending.{ending.id}")
    if not phrase:
        return ending.text
    try:
        return fill(phrase, ending, game.seat_titles, {card.id: card.title for card in game.cards})
    except KeyError:
        return ending.text  # The description is from a server of another version.


def over_sentence(game: catalog_pb2.Game, view: game_pb2.View, names: Sequence[str] = ()) -> str:
    """Returns why the match of a view is over, in the language of the description of the game.

    The seat of the view is "you", the other one has the name of its player in `names`, else the
    title of the seat. It is empty if the server is too old to say it.
    """
    result = view.result
    if result.HasField("ending"):
        return ending_sentence(game, result.ending)
    name = words(game_pb2.EndReason.DESCRIPTOR)[result.reason]
    if name == "resignation" and view.WhichOneof("game") is None:
        name = "withdrawn"
    scores = list(result.scores)
    loser = scores.index(min(scores))
    drawn = scores.count(min(scores)) > 1
    you = view.HasField("seat") and view.seat == loser
    variant = "both" if drawn else "you" if you else ""
    phrase = game.phrases.get(f"over.{name}.{variant}") or game.phrases.get(f"over.{name}", "")
    who = names[loser] if names else ""
    return phrase.replace("{seat}", who or game.seat_titles[loser])


def origin_sentence(origin: game_pb2.Origin) -> str:
    """Returns where a match began that was played on from another one."""
    told = (
        f"Played on from version {origin.version} of {origin.name}, as practice: whoever has the "
        "record of that match knows the cards."
    )
    if origin.logged:
        return told
    return f"{told} No server vouches for that record: its deal may be made up."


def _word(value: game_pb2.EndingValue, seats: Sequence[str], cards: Mapping[str, str]) -> str:
    kind = value.WhichOneof("value")
    if kind == "seat":
        return seats[value.seat]
    if kind == "card":
        return cards.get(value.card, value.card)
    return str(getattr(value, kind)) if kind else ""
