"""PuzzleService: positions in which one action is the best, and whether a caller finds it."""

from bisect import bisect_right

import wire
from croupier.v1 import puzzle_pb2, puzzle_pb2_grpc
from engine.errors import ActionError
from service.api.paging import read_page_token, write_page_token
from service.common.call import Call
from service.puzzles.library import Library

PAGE, MAX_PAGE = 50, 1000


class PuzzleService(puzzle_pb2_grpc.PuzzleServiceServicer):
    """Sets the puzzles of the games' packs. Only SolvePuzzle reads what they have as answers."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def ListPuzzles(
        self, request: puzzle_pb2.ListPuzzlesRequest, call: Call
    ) -> puzzle_pb2.ListPuzzlesResponse:
        found = [
            each.puzzle
            for each in (await self._library.puzzles(request.parent)).values()
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
        packed = await self._library.find(request.name)
        setting = await self._library.setting(packed)
        response = puzzle_pb2.GetPuzzleResponse(puzzle=packed.puzzle)
        response.puzzle.view.ParseFromString(setting.view)
        return response

    async def SolvePuzzle(
        self, request: puzzle_pb2.SolvePuzzleRequest, call: Call
    ) -> puzzle_pb2.SolvePuzzleResponse:
        packed = await self._library.find(request.name)
        state = (await self._library.setting(packed)).state
        position = state.dealt().position
        wire.check_game(position.game, request.action, "action")
        try:
            action = wire.read_action(position.game, request.action)
            position.check(packed.puzzle.origin.seat, action)
        except ActionError as error:
            raise wire.illegal_action(error, position.game, request.action, "action") from None
        answer = wire.read_action(position.game, packed.hint.action)
        return puzzle_pb2.SolvePuzzleResponse(
            correct=action == answer,
            hint=packed.hint,
            steps=await self._library.line(packed),
        )


def _id(name: str) -> str:
    return name.rpartition("/")[2]
