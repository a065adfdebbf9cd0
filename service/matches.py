"""The hosted matches: the life of one action, from the request to the log and back."""

import asyncio
import base64
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakValueDictionary

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import Action, Ruleset, View
from engine.game import ActionError
from service import wire
from service.errors import Refusal, shutting_down
from service.hosted import Hosted
from service.metrics import Metrics
from service.store import Entry, Header, Store
from service.tokens import SPECTATOR, Caller

MATCHES_KEPT = 1024  # In memory; the others are computed from the log again.


class Matches:
    """All matches of a store.

    What is kept in memory is computed from the log and only ever ahead of nothing: an action is
    applied to a copy and committed to the log, and only then is it seen. The locks spare useless
    work; that an action is applied at most once rests on the store's append alone.
    """

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._kept: OrderedDict[str, Hosted] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closing = asyncio.Event()
        # Called with each match that was read anew or has changed.
        self.on_change: Callable[[Hosted], None] = lambda hosted: None

    async def create(self, ruleset: Ruleset, bots: tuple[int, ...], seed: int | None) -> Hosted:
        """Deals a match; raises Refusal for a ruleset that breaks a rule."""
        game = wire.read_ruleset(ruleset, "ruleset")
        match_id = base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()
        secret = secrets.token_bytes(32)
        chance_id = match_id
        if seed is not None:
            secret = hashlib.sha256(b"croupier/seed/v1\0" + seed.to_bytes(8, "big")).digest()
            chance_id = ""
        header = Header(
            match_id=match_id,
            ruleset=ruleset.SerializeToString(deterministic=True),
            rules_version=game.rules_version,
            secret=secret,
            chance_id=chance_id,
            bots=bots,
            created=int(time.time()),
        )
        hosted = Hosted(header)
        await self._store.create(header)
        self._metrics.match(game.id, "created")
        self._keep(hosted)
        return hosted

    async def load(self, match_id: str) -> Hosted:
        """A match as the log has it now; raises Refusal if there is none."""
        hosted = self._kept.get(match_id)
        if hosted is None:
            header = await self._store.header(match_id)
            if header is None:
                raise Refusal(
                    ErrorReason.ERROR_REASON_MATCH_NOT_FOUND,
                    "there is no such match",
                    metadata={"match": f"matches/{match_id}"},
                )
            hosted = Hosted(header)
        entries = await self._store.read(match_id, hosted.version)
        for entry in entries:
            hosted = hosted.after(entry)
        if entries or match_id not in self._kept:
            self._keep(hosted)
        return hosted

    async def submit(
        self, caller: Caller, expected_version: int, action: Action, request_id: str
    ) -> View:
        """Decides for a seat; returns its view right after. Raises Refusal, and nothing changed."""
        seat = caller.seat
        async with self._lock(caller.match_id):
            while True:
                hosted = await self.load(caller.match_id)
                wire.check_game(hosted.game, action, "action")
                canonical = wire.canonical_action(hosted.game, action)
                entry = Entry(
                    seat,
                    canonical.SerializeToString(deterministic=True),
                    expected_version,
                    request_id,
                )
                repeated = hosted.version_of(seat, request_id)
                if repeated is not None:
                    return self._answer_again(hosted, repeated, entry)
                check_running(hosted)
                if hosted.is_stale(seat, expected_version):
                    raise Refusal(
                        ErrorReason.ERROR_REASON_STALE_VERSION,
                        f"the match is at version {hosted.version}",
                        metadata={"current_version": str(hosted.version)},
                    )
                check_decides(hosted, seat)
                try:
                    after = hosted.after(entry)
                except ActionError as error:
                    raise wire.illegal_action(error, action, "action") from None
                if await self._commit(after):
                    return after.view(seat)

    def _answer_again(self, hosted: Hosted, version: int, entry: Entry) -> View:
        if hosted.entries[version - 1] != entry:
            raise Refusal(
                ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
                "this request_id was used for another action or another version",
            )
        return hosted.at(version).view(entry.seat)

    async def resign(self, caller: Caller) -> View:
        """Gives a match up; returns the seat's view at the end. Raises Refusal if it is over."""
        async with self._lock(caller.match_id):
            while True:
                hosted = await self.load(caller.match_id)
                check_running(hosted)
                after = hosted.after(Entry(caller.seat, b""))
                if await self._commit(after):
                    return after.view(caller.seat)

    async def changed(self, match_id: str, version: int) -> None:
        """Returns when a match may be past a version; raises Refusal when the server shuts down."""
        change = asyncio.ensure_future(self._store.wait(match_id, version))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait((change, closing), return_when=asyncio.FIRST_COMPLETED)
            if closing.done():
                raise shutting_down()
            change.result()
        finally:
            change.cancel()
            closing.cancel()

    def close(self) -> None:
        """Ends all waiting for changes."""
        self._closing.set()

    def _lock(self, match_id: str) -> asyncio.Lock:
        return self._locks.setdefault(match_id, asyncio.Lock())

    async def _commit(self, after: Hosted) -> bool:
        version = after.version - 1
        if not await self._store.append(after.header.match_id, version, after.entries[-1]):
            return False
        if after.over:
            self._metrics.match(
                after.game.id, "resigned" if after.resigned is not None else "ended"
            )
        self._keep(after)
        return True

    def _keep(self, hosted: Hosted) -> None:
        match_id = hosted.header.match_id
        kept = self._kept.get(match_id)
        if kept is None or kept.version < hosted.version:
            self._kept[match_id] = hosted
        self._kept.move_to_end(match_id)
        if len(self._kept) > MATCHES_KEPT:
            self._kept.popitem(last=False)
        self.on_change(hosted)


def check_running(hosted: Hosted) -> None:
    """Raises Refusal if a match is over."""
    if hosted.over:
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")


def check_decides(hosted: Hosted, seat: int) -> None:
    """Raises Refusal unless a seat owes a decision."""
    if seat not in hosted.deciders:
        raise Refusal(ErrorReason.ERROR_REASON_NOT_TO_DECIDE, f"seat {seat} owes no decision now")


def check_seat(caller: Caller) -> None:
    """Raises Refusal for a spectator."""
    if caller.seat == SPECTATOR:
        raise Refusal(ErrorReason.ERROR_REASON_SPECTATOR, "a spectator's token cannot do this")
