"""CatalogService: the games, well enough described to draw them."""

from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from engine.game import Game
from service import wire
from service.gate import Context


class CatalogService(catalog_pb2_grpc.CatalogServiceServicer):
    """Describes what the engine has."""

    async def ListGames(
        self, request: catalog_pb2.ListGamesRequest, context: Context
    ) -> catalog_pb2.ListGamesResponse:
        games = [describe(game()) for game in wire.hosted().values()]
        return catalog_pb2.ListGamesResponse(games=games)

    async def GetGame(
        self, request: catalog_pb2.GetGameRequest, context: Context
    ) -> catalog_pb2.GetGameResponse:
        game_id = request.name.removeprefix("games/")
        if game_id not in wire.hosted():
            raise wire.game_not_found(game_id)
        game = wire.hosted()[game_id]()
        message = describe(game)
        for card in game.cards():
            numbers = [
                catalog_pb2.CardNumber(title=title, value=value)
                for title, value in card["numbers"].items()
            ]
            message.cards.add(**{**card, "numbers": numbers})
        return catalog_pb2.GetGameResponse(game=message)


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
