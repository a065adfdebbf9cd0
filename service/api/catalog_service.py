"""CatalogService: describes the games well enough to draw them."""

from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from engine.game import Game
from engine.model import learned
from service import wire
from service.api import languages
from service.api.languages import ENGLISH, Translation
from service.call import Call
from service.searching.models import Models


class CatalogService(catalog_pb2_grpc.CatalogServiceServicer):
    """Describes the games of the engine."""

    def __init__(self, models: Models = learned) -> None:
        # By game, then by language.
        self._games = {
            game_id: _in_all_languages(game(), models)
            for game_id, game in wire.hosted_games().items()
        }

    async def ListGames(
        self, request: catalog_pb2.ListGamesRequest, call: Call
    ) -> catalog_pb2.ListGamesResponse:
        response = catalog_pb2.ListGamesResponse(
            games=[self._game(game_id, request.language_code) for game_id in self._games]
        )
        for game in response.games:
            game.ClearField("cards")
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
        return games[languages.best(language, games)]


def _in_all_languages(game: Game, models: Models) -> dict[str, catalog_pb2.Game]:
    described = {ENGLISH: describe(game)}
    model = models(game)
    if model is not None:
        described[ENGLISH].model = model.name
    for code, translation in languages.translations(game.id).items():
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
    )


def _translated(
    english: catalog_pb2.Game, translation: Translation, language: str
) -> catalog_pb2.Game:
    game = catalog_pb2.Game()
    game.CopyFrom(english)
    game.language_code = language
    game.title = translation.title
    game.rules = translation.rules
    game.seat_titles[:] = map(translation.text, english.seat_titles)
    for card in game.cards:
        card.title = translation.text(card.title)
        card.kind = translation.text(card.kind)
        card.text = translation.text(card.text)
        for number in card.numbers:
            number.title = translation.text(number.title)
    return game
