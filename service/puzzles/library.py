"""The puzzles of this server: each pack is read when it is first asked for."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import wire
from croupier.v1 import puzzle_pb2
from croupier.v1.error_pb2 import ErrorReason
from service.common.errors import log_failure
from service.common.event_loop import LongWork
from service.common.tasks import PROCESS
from service.hosting.match_state import MatchState
from service.puzzles.lines import playing_line
from service.puzzles.packs import PackError, pack_of, replaying, write_view
from wire.errors import Refusal

KEPT_SETTINGS = 128  # Mostly less than 100 KB each, lines apart.

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Setting:
    """What a puzzle shows, and what it does not."""

    view: bytes  # A serialized View.
    state: MatchState  # With all cards.
    line: Sequence[puzzle_pb2.PuzzleStep] | None = None  # Of the solution, once it was asked for.


class Library:
    """Finds puzzles by their names."""

    def __init__(self, long_work: LongWork) -> None:
        self._long_work = long_work
        # By game, then by name, in the order of the names, which tells nothing of the answers.
        self._packs: dict[str, asyncio.Future[dict[str, puzzle_pb2.PackedPuzzle]]] = {}
        self._settings: OrderedDict[str, Setting] = OrderedDict()

    async def puzzles(self, game: str) -> dict[str, puzzle_pb2.PackedPuzzle]:
        """All puzzles of "games/{game}" by name; none if its pack is of other rules.

        Raises Refusal if that game is not hosted.
        """
        game_id = game.removeprefix("games/")
        if game_id not in wire.hosted_games():
            raise wire.game_not_found(game_id)
        if game_id not in self._packs:
            # Once, for all who ask meanwhile, whether or not one has gone: it takes seconds.
            self._packs[game_id] = PROCESS.spawn("read", asyncio.to_thread, _read, game_id)
        reading = self._packs[game_id]
        await asyncio.wait([reading])
        if reading.cancelled() or reading.exception() is not None:
            self._packs.pop(game_id, None)  # The next one tries again.
        return reading.result()

    async def find(self, name: str) -> puzzle_pb2.PackedPuzzle:
        """The puzzle of a name; raises Refusal if there is none."""
        found = (await self.puzzles(name.partition("/puzzles/")[0])).get(name)
        if found is None:
            raise Refusal(
                ErrorReason.ERROR_REASON_PUZZLE_NOT_FOUND,
                f"there is no puzzle {name!r}",
                metadata={"puzzle": name},
            )
        return found

    async def setting(self, puzzle: puzzle_pb2.PackedPuzzle) -> Setting:
        """The setting of a puzzle, which takes a replay of its match."""
        name = puzzle.puzzle.name
        found = self._settings.get(name)
        if found is None:
            state = await self._long_work.finish(replaying(puzzle.record))
            view = write_view(state, puzzle.puzzle.origin.seat)
            found = self._settings[name] = Setting(view, state)
            if len(self._settings) > KEPT_SETTINGS:
                self._settings.popitem(last=False)
        self._settings.move_to_end(name)
        return found

    async def line(self, puzzle: puzzle_pb2.PackedPuzzle) -> Sequence[puzzle_pb2.PuzzleStep]:
        """The steps of the solution of a puzzle, which can take a tenth of a second to find."""
        setting = await self.setting(puzzle)
        if setting.line is None:
            setting.line = await self._long_work.finish(playing_line(setting.state, puzzle))
        return setting.line


def _read(game_id: str) -> dict[str, puzzle_pb2.PackedPuzzle]:
    try:
        pack = pack_of(wire.hosted_games()[game_id])
    except PackError as error:
        _log.error("left out: %s", error)
        pack = None
    except Exception as error:  # Of the code of a package.
        log_failure(f"the pack of puzzles of {game_id}", error)
        pack = None
    puzzles = [] if pack is None else pack.puzzles
    return dict(sorted((each.puzzle.name, each) for each in puzzles))
