"""PuzzleService: positions in which one action is the best, and whether a caller finds it."""

from bisect import bisect_right

from croupier.v1 import puzzle_pb2, puzzle_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError
from service import wire
from service.api.paging import read_page_token, write_page_token
from service.common.call import Call
from service.common.errors import Refusal
from service.common.event_loop import LongWork
from service.puzzles.library import Library

PAGE, MAX_PAGE = 50, 1000


class PuzzleService(puzzle_pb2_grpc.PuzzleServiceServicer):
    """Sets the puzzles of the games' packs. Only SolvePuzzle reads what they have as answers."""

    def __init__(self, long_work: LongWork | None = None) -> None:
        self._library = Library(long_work or LongWork())

    async def ListPuzzles(
        self, request: puzzle_pb2.ListPuzzlesRequest, call: Call
    ) -> puzzle_pb2.ListPuzzlesResponse:
        found = [
            each.puzzle
            for each in (await self._puzzles(request.parent)).values()
            if request.theme in ("", each.puzzle.theme)
        ]
        filters = (request.parent, request.theme)
        begin = 0
        if request.page_token:
            # After the name that the page before has ended with.
            last = " ".join(read_page_token(request.page_token, filters))
            begin = bisect_right(found, last, key=lambda each: _id(each.name))
        end = begin + min(request.page_size or PAGE, MAX_PAGE)
        page, more = found[begin:end], end < len(found)
        return puzzle_pb2.ListPuzzlesResponse(
            puzzles=page,
            next_page_token=write_page_token(filters, _id(page[-1].name)) if more else "",
            total_size=len(found),
        )

    async def GetPuzzle(
        self, request: puzzle_pb2.GetPuzzleRequest, call: Call
    ) -> puzzle_pb2.GetPuzzleResponse:
        packed = await self._find(request.name)
        setting = await self._library.setting(packed)
        response = puzzle_pb2.GetPuzzleResponse(puzzle=packed.puzzle)
        response.puzzle.view.ParseFromString(setting.view)
        return response

    async def SolvePuzzle(
        self, request: puzzle_pb2.SolvePuzzleRequest, call: Call
    ) -> puzzle_pb2.SolvePuzzleResponse:
        packed = await self._find(request.name)
        position = (await self._library.setting(packed)).position
        wire.check_game(position.game, request.action, "action")
        try:
            action = wire.read_action(position.game, request.action)
            position.check(packed.puzzle.origin.seat, action)
        except ActionError as error:
            raise wire.illegal_action(error, position.game, request.action, "action") from None
        answer = wire.read_action(position.game, packed.hint.action)
        return puzzle_pb2.SolvePuzzleResponse(correct=action == answer, hint=packed.hint)

    async def _puzzles(self, game: str) -> dict[str, puzzle_pb2.PackedPuzzle]:
        game_id = game.removeprefix("games/")
        if game_id not in wire.hosted_games():
            raise wire.game_not_found(game_id)
        return await self._library.puzzles(game_id)

    async def _find(self, name: str) -> puzzle_pb2.PackedPuzzle:
        found = (await self._puzzles(name.partition("/puzzles/")[0])).get(name)
        if found is None:
            raise Refusal(
                ErrorReason.ERROR_REASON_PUZZLE_NOT_FOUND,
                f"there is no puzzle {name!r}",
                metadata={"puzzle": name},
            )
        return found


def _id(name: str) -> str:
    return name.rpartition("/")[2]
