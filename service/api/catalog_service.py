"""CatalogService: describes the games well enough to draw them, in each language that there is."""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

import wire
from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from engine.aspects import AMOUNT, CHANCE, Aspects
from engine.game import Game
from engine.model import learned
from engine.packages import origin
from engine.parts import package_of
from service.common.call import Call

ENGLISH = "en"
UNITS: dict[str, catalog_pb2.AspectUnit] = {
    CHANCE: catalog_pb2.ASPECT_UNIT_CHANCE,
    AMOUNT: catalog_pb2.ASPECT_UNIT_AMOUNT,
}


class Translation(NamedTuple):
    """The texts of a game in one language."""

    title: str
    rules: str
    texts: Mapping[str, str]
    phrases: Mapping[str, str]

    def text(self, english: str) -> str:
        """A text other than the game's title and rules; in English if it has no translation."""
        name = english.rstrip(" 0123456789")
        return self.texts[name] + english[len(name) :] if name in self.texts else english


def translations(game_id: str) -> dict[str, Translation]:
    """The translations of a game by language code, in the order of the codes."""
    found = {}
    general = files("wire")
    for file in files(package_of(wire.hosted_games()[game_id])).iterdir():
        if match := re.fullmatch(r"([a-zA-Z-]+)\.toml", file.name):
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            # The lines of a paragraph are one.
            rules = (" ".join(part.split()) for part in content["rules"].strip().split("\n\n"))
            phrases = content.get("phrases", {})
            if (ours := general / file.name).is_file():
                phrases = tomllib.loads(ours.read_text(encoding="utf-8")) | phrases
            found[match[1]] = Translation(
                content["title"], "\n\n".join(rules), content["texts"], phrases
            )
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


class CatalogService(catalog_pb2_grpc.CatalogServiceServicer):
    """Describes the games of the engine."""

    def __init__(self) -> None:
        # By game, then by language.
        self._games = wire.of_each("it cannot be described", lambda game: in_all_languages(game()))

    async def ListGames(
        self, request: catalog_pb2.ListGamesRequest, call: Call
    ) -> catalog_pb2.ListGamesResponse:
        response = catalog_pb2.ListGamesResponse(
            games=[self._game(game_id, request.language_code) for game_id in self._games]
        )
        for game in response.games:
            for name in ("cards", "schema", "phrases", "aspects"):
                game.ClearField(name)
        return response

    async def GetGame(
        self, request: catalog_pb2.GetGameRequest, call: Call
    ) -> catalog_pb2.GetGameResponse:
        game_id = request.name.removeprefix("games/")
        if game_id not in self._games:
            raise wire.game_not_found(game_id)
        return catalog_pb2.GetGameResponse(game=self._game(game_id, request.language_code))

    def _game(self, game_id: str, language: str) -> catalog_pb2.Game:
        games = self._games[game_id]
        return games[best(language, games)]


def in_all_languages(game: Game) -> dict[str, catalog_pb2.Game]:
    """A game with its cards, by language code."""
    described = {ENGLISH: describe(game)}
    model = learned(game)
    if model is not None:
        described[ENGLISH].model = model.name
    for code, translation in translations(game.id).items():
        described[code] = _translated(described[ENGLISH], translation, code)
    for message in described.values():
        message.language_codes.extend(described)
    return described


def describe(game: Game) -> catalog_pb2.Game:
    """A game with its cards, in English."""
    return catalog_pb2.Game(
        name=f"games/{game.id}",
        title=game.title,
        rules=game.summary,
        rules_version=game.rules_version,
        seat_titles=game.seat_titles,
        default_ruleset=wire.write_ruleset(game),
        cards=[
            catalog_pb2.Card(
                **{
                    **card,
                    "numbers": [
                        catalog_pb2.CardNumber(title=title, value=value)
                        for title, value in card["numbers"].items()
                    ],
                }
            )
            for card in game.cards()
        ],
        language_code=ENGLISH,
        origin=origin(game.id),
        schema=wire.messages(game.id).schema,
        phrases=wire.phrases(game),
        aspects=[
            catalog_pb2.Aspect(id=name, unit=UNITS[unit])
            for name, unit in Aspects.of(game).units.items()
        ],
    )


def _translated(
    english: catalog_pb2.Game, translation: Translation, language: str
) -> catalog_pb2.Game:
    game = catalog_pb2.Game()
    game.CopyFrom(english)
    game.language_code = language
    game.title = translation.title
    game.rules = translation.rules
    # A word that the cards have too needs no second translation.
    for name, phrase in english.phrases.items():
        game.phrases[name] = translation.text(phrase)
    game.phrases.update(translation.phrases)
    game.seat_titles[:] = map(translation.text, english.seat_titles)
    for card in game.cards:
        card.title = translation.text(card.title)
        card.kind = translation.text(card.kind)
        card.text = translation.text(card.text)
        for number in card.numbers:
            number.title = translation.text(number.title)
    return game
