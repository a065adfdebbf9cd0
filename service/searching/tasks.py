"""Search tasks: what is to be searched, for whom, in a form for either place where it can be done.

A task is done by the threads of this process (`service/searching/searches.py`) or at a search
server (`service/searching/search_servers.py`). Both give the same hint.
"""

import hashlib
import math
from collections.abc import Callable, Hashable, Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from croupier.v1 import hint_pb2
from engine.game import SeatView
from engine.model import Model
from service.searching.pool import Limits

KIND_HEADER, OWNER_HEADER, RANK_HEADER = "x-search-kind", "x-search-owner", "x-search-rank"
TEMPERATURE_HEADER = "x-search-temperature"

_OWNER_BYTES = 16


class Kind(StrEnum):
    """The purpose of a search; each kind has a pool of its own."""

    HINT = "hint"
    BOT = "bot"


class Requester(NamedTuple):
    """For whom a search is, which decides when it gets its turn."""

    kind: Kind
    owner: Hashable  # Who pays for it.
    rank: int = 0  # Searches of a lower rank go first.

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The requester as metadata of a call to a search server, without the name of the owner."""
        owner = hashlib.shake_256(repr(self.owner).encode()).hexdigest(_OWNER_BYTES)
        return (
            (KIND_HEADER, self.kind.value),
            (OWNER_HEADER, owner),
            (RANK_HEADER, str(self.rank)),
        )


def read_requester(sent: Mapping[str, str], owner: Hashable) -> Requester:
    """The requester that a call names in its metadata, or one of a hint for `owner`."""
    kind = Kind.BOT if sent.get(KIND_HEADER) == Kind.BOT.value else Kind.HINT
    rank = sent.get(RANK_HEADER, "")
    return Requester(kind, sent.get(OWNER_HEADER) or owner, int(rank) if rank.isdecimal() else 0)


def read_temperature(sent: Mapping[str, str]) -> float:
    """The temperature of a search that a call names in its metadata.

    It is 0 if the call names none, or anything but a finite number above 0. The search takes a
    number that is too large for the largest that it knows (ai/softness.py).
    """
    try:
        temperature = float(sent.get(TEMPERATURE_HEADER, 0))
    except ValueError:
        return 0.0
    return temperature if 0 < temperature < math.inf else 0.0


# A report of a search, as a call of HintService returns it: a hint, so far or in the end.
Report: TypeAlias = hint_pb2.SuggestActionResponse | hint_pb2.AnalyzePositionResponse


def _ignore(seconds: float) -> None:
    pass


class SearchTask(NamedTuple):
    """One search that is asked for, complete: its search needs nothing else."""

    requester: Requester
    search: hint_pb2.Search  # With a view and a seed; not changed any more.
    view: SeatView  # That of `search`, as the engine has it.
    limits: Limits
    model: Model | None = None  # What was learned of the game.
    details: bool = True  # Whether the hint compares the actions.
    deadline: float = math.inf  # By the monotonic clock.
    every: float = 0.0  # Seconds between partial reports; 0: only the final one is wanted.
    charge: Callable[[float], object] = _ignore  # Called with the thread-seconds that it took.
    temperature: float = 0.0  # How softly a bot chooses (ai/softness.py); 0: as well as it can.

    @property
    def response(self) -> type[Report]:
        """The message of its reports."""
        return hint_pb2.AnalyzePositionResponse if self.every else hint_pb2.SuggestActionResponse

    def of_match_server(self, sent: Mapping[str, str]) -> "SearchTask":
        """The task as the metadata of a match server's call name it; that server charges for it."""
        requester = read_requester(sent, self.requester.owner)
        return self._replace(
            requester=requester, temperature=read_temperature(sent), charge=_ignore
        )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a call to a search server: what its request has no field for."""
        named = self.requester.metadata()
        # The shortest decimal that is this number and no other.
        return (*named, (TEMPERATURE_HEADER, repr(self.temperature))) if self.temperature else named
