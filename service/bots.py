"""The bots: they play what the log says is due, so a match goes on after a restart too."""

import asyncio
import hashlib

from ai.strengths import STRENGTHS, Strength, slip
from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.match_pb2 import BotStrength
from service import wire
from service.errors import Refusal
from service.gate import log_failure
from service.hosted import Hosted
from service.matches import Matches
from service.searches import Lane, Limits
from service.tokens import Caller


class Bots:
    """Plays the bot seats of all matches, each match in a task of its own while a bot is due."""

    def __init__(self, matches: Matches, lane: Lane) -> None:
        self._matches = matches
        self._lane = lane
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: set[str] = set()
        matches.on_change = self._wake

    def close(self) -> None:
        """Stops playing; nothing that was decided is lost."""
        self._matches.on_change = lambda hosted: None
        for task in self._tasks.values():
            task.cancel()

    def _wake(self, hosted: Hosted) -> None:
        match_id = hosted.header.match_id
        if match_id in self._tasks:
            self._changed.add(match_id)
        elif _due(hosted) is not None:
            self._tasks[match_id] = asyncio.create_task(self._play(match_id))

    async def _play(self, match_id: str) -> None:
        try:
            while True:
                self._changed.discard(match_id)
                hosted = await self._matches.load(match_id)
                seat = _due(hosted)
                if seat is not None:
                    await self._decide(hosted, seat)
                elif match_id not in self._changed:
                    return
        # A match whose bot fails must not take the others along; its next change tries again.
        except Exception as error:
            log_failure("a bot", error)
        finally:
            self._changed.discard(match_id)
            del self._tasks[match_id]

    async def _decide(self, hosted: Hosted, seat: int) -> None:
        caller = Caller(hosted.header.match_id, seat)
        action = wire.write_action(hosted.game, await self._choose(hosted, seat))
        # Where both decide at the same time, the open seat goes first: how long the search took
        # would tell something of the bot's cards, and the order of a repeated match would vary.
        while _other_decides(hosted, seat):
            await self._matches.changed(caller.match_id, hosted.version)
            hosted = await self._matches.load(caller.match_id)
        try:
            await self._matches.submit(caller, hosted.version, action, "")
        except Refusal as refusal:
            if refusal.reason not in (
                ErrorReason.ERROR_REASON_MATCH_OVER,
                ErrorReason.ERROR_REASON_STALE_VERSION,
                ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
            ):
                raise

    async def _choose(self, hosted: Hosted, seat: int) -> int:
        strength = _strength(hosted.header.bots[seat])
        chance = _chance(hosted, seat)
        slipped = slip(strength, hosted.match.legal(seat), chance)
        if slipped is not None:
            return slipped
        # It is given what its seat knows, and nothing else.
        view = hosted.match.view(seat)
        result, _ = await self._lane.search(view, Limits(strength.iterations), chance % 2**64)
        return result.action


def _strength(strength: int) -> Strength:
    name = BotStrength.Name(strength)
    return STRENGTHS[name.removeprefix("BOT_STRENGTH_").lower()]


def _due(hosted: Hosted) -> int | None:
    # The bot that may think now; the lower seat first, so that a match repeats.
    return next((seat for seat in hosted.deciders if hosted.header.bots[seat]), None)


def _other_decides(hosted: Hosted, seat: int) -> bool:
    other = 1 - seat
    return {seat, other} <= set(hosted.deciders) and not hosted.header.bots[other]


def _chance(hosted: Hosted, seat: int) -> int:
    # 256 bits that only the server knows, the same whenever this decision is made again: before the
    # other seat has decided at the same time, or after.
    header = hosted.header
    what = f"croupier/bot/v1\0{header.chance_id}\0{hosted.match.since[seat]}\0{seat}\0".encode()
    return int.from_bytes(hashlib.shake_256(what + header.secret).digest(32), "big")
