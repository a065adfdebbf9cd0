"""CatalogService: the games, well enough described to draw them."""

from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from engine.game import Game
from service import wire
from service.gate import Context


class CatalogService(catalog_pb2_grpc.CatalogServiceServicer):
    """Describes what the engine has."""

    def __init__(self) -> None:
        self._games = {game_id: describe(game()) for game_id, game in wire.hosted().items()}
        self._cards = {game_id: cards(game()) for game_id, game in wire.hosted().items()}

    async def ListGames(
        self, request: catalog_pb2.ListGamesRequest, context: Context
    ) -> catalog_pb2.ListGamesResponse:
        return catalog_pb2.ListGamesResponse(games=self._games.values())

    async def GetGame(
        self, request: catalog_pb2.GetGameRequest, context: Context
    ) -> catalog_pb2.GetGameResponse:
        game_id = request.name.removeprefix("games/")
        if game_id not in self._games:
            raise wire.game_not_found(game_id)
        response = catalog_pb2.GetGameResponse(game=self._games[game_id])
        response.game.cards.extend(self._cards[game_id])
        return response


def describe(game: Game) -> catalog_pb2.Game:
    """A game without its cards."""
    return catalog_pb2.Game(
        name=f"games/{game.id}",
        title=game.title,
        rules=game.summary,
        rules_version=game.rules_version,
        seat_titles=game.seat_titles,
        default_ruleset=wire.write_ruleset(game),
    )


def cards(game: Game) -> list[catalog_pb2.Card]:
    """The cards of a game."""
    return [
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
    ]
