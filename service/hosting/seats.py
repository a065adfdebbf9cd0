"""The seats of a match: who sits where, and which token of each seat is valid.

A seat without a bot has a token. The token of an open seat is issued when the match is created,
that of an invited seat when somebody joins it. A seat can have its token replaced: each token of a
seat has a generation, from 0 on, and only the newest one is valid. Both are entries of the match
(`Join` and `Token` in `service/hosting/entries.py`), so that of two that race, one is first, and a
server that acts on an older state cannot add its entry and reads the newer ones.

A replacement makes a version of the match, but none of the engine's match, by whose versions chance
is drawn. Otherwise a seat that conspires with the server could replace its token until it likes
what the next shuffle is going to be. The same holds for what seats offer each other
(`service/hosting/offers.py`), and for decisions that were taken back.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from croupier.v1 import game_pb2, match_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError
from engine.game import SPECTATOR
from service.store import Header
from wire.errors import Refusal, invalid_field

# Letters and symbols that are blank.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0\U00013441\U00013442\U0001d159"
MAX_GENERATION = 255
_MAX_CACHED = 1024  # Seats as messages.


class Caller(NamedTuple):
    """A caller of a method, and the match that its token is for."""

    match_id: str
    seat: int  # 0, 1 or SPECTATOR.
    generation: int = 0  # Of the token: how often the seat's token had been replaced before it.


def check_seat(caller: Caller) -> None:
    """Raises Refusal for a spectator."""
    if caller.seat == SPECTATOR:
        raise Refusal(ErrorReason.ERROR_REASON_SPECTATOR, "a spectator's token cannot do this")


# The wide space of Japanese, and the joiners of Persian and emoji, which cannot be printed alone.
_JOINERS = {0x3000: " ", 0x200C: None, 0x200D: None}
# A flag of a part of a country, such as Scotland: a black flag, and the name of the part unseen.
_FLAG = re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e007a]{3,6}\U000e007f")


def check_display_name(name: str, path: str) -> None:
    """Raises Refusal for a name that others should not be shown; `path` is that of its field.

    Characters that cannot be printed could hide what a name is, or turn the text around it.
    """
    shown = _FLAG.sub("", name).translate(_JOINERS)
    if shown != shown.strip() or not shown.isprintable():
        rule = "must have only characters that can be printed, and no space at its ends"
        raise invalid_field(path, "NOT_PRINTABLE", rule)
    if name and all(unicodedata.category(c)[0] in "MZ" or c in _BLANK for c in shown):
        raise invalid_field(path, "SHOWS_NOTHING", "must have a character that shows something")


class Seats(NamedTuple):
    """The holders of the seats of a match after some of its entries. An object never changes."""

    bots: tuple[int, ...]  # By seat: a BotStrength, or 0.
    invited: tuple[int, ...]  # The invited seats, ascending.
    key_names: tuple[str, ...]  # By seat: of the API key with which the token was issued, or empty.
    display_names: tuple[str, ...]  # By seat: the name that its player has given, or empty.
    joined: frozenset[int] = frozenset()  # The invited seats that were joined.
    generations: tuple[int, ...] = (0, 0)  # By seat: of the token that is valid.
    aside: tuple[int, ...] = ()  # The versions that make none of the engine's match, ascending.

    @staticmethod
    def begin(header: Header) -> "Seats":
        """The seats of a match without entries."""
        return Seats(header.bots, header.invited, header.key_names, header.display_names)

    @property
    def missing(self) -> tuple[int, ...]:
        """The invited seats that were not joined yet, ascending."""
        if len(self.joined) == len(self.invited):
            return ()
        return tuple(seat for seat in self.invited if seat not in self.joined)

    @property
    def players(self) -> bytes:
        """A serialized View with only who sits where."""
        return _write_players(
            self.bots, self.invited, self.joined, self.key_names, self.display_names
        )

    def check_token(self, caller: Caller) -> None:
        """Raises Refusal if a seat calls with a token that was replaced."""
        if caller.seat != SPECTATOR and caller.generation != self.generations[caller.seat]:
            raise Refusal(
                ErrorReason.ERROR_REASON_TOKEN_REPLACED,
                f"the token of seat {caller.seat} was replaced; this one is void",
            )

    def after_join(self, seat: int, key_name: str, display_name: str) -> "Seats":
        """The seats after one was joined; raises ActionError if it cannot be.

        The names are those of the API key and of the player.
        """
        if seat not in self.missing:
            raise ActionError("seat", f"seat {seat} waits for nobody")
        key_names, display_names = list(self.key_names), list(self.display_names)
        key_names[seat], display_names[seat] = key_name, display_name
        return self._replace(
            joined=self.joined | {seat},
            key_names=tuple(key_names),
            display_names=tuple(display_names),
        )

    def after_replacement(self, version: int, seat: int) -> "Seats":
        """The seats after the version at which the token of one was replaced.

        Raises ActionError if it has no token to be replaced.
        """
        if self.bots[seat] or seat in self.missing:
            raise ActionError("seat", f"seat {seat} has no token")
        generations = list(self.generations)
        generations[seat] += 1
        if generations[seat] > MAX_GENERATION:
            raise ActionError("seat", f"the token of seat {seat} was replaced too often")
        return self._replace(generations=tuple(generations)).after_aside(version)

    def after_aside(self, version: int, taken_back: int | None = None) -> "Seats":
        """The seats after a version that makes none of the engine's match.

        What followed version `taken_back` makes none any more either.
        """
        if taken_back is None:
            return self._replace(aside=(*self.aside, version))
        before = (each for each in self.aside if each <= taken_back)
        return self._replace(aside=(*before, *range(taken_back + 1, version + 1)))

    def engine_version(self, version: int) -> int:
        """The version of the engine's match at a version of the match."""
        return version - sum(each <= version for each in self.aside)

    def match_version(self, engine_version: int) -> int:
        """The version of the match that made a version of the engine's match."""
        version = engine_version
        for each in self.aside:
            version += each <= version
        return version


def write_seats(
    bots: Iterable[int], invited: Sequence[int], display_names: Sequence[str] = ("", "")
) -> list[match_pb2.SeatConfig]:
    """The seats of a match as its creator asked for them."""
    seats = [_write_seat(bot, seat in invited) for seat, bot in enumerate(bots)]
    for seat, name in zip(seats, display_names, strict=True):
        seat.display_name = name
    return seats


def _write_seat(bot: int, invited: bool) -> match_pb2.SeatConfig:
    if bot:
        strength = match_pb2.BotStrength.Name(bot)
        return match_pb2.SeatConfig(bot=match_pb2.Bot(strength=strength))
    if invited:
        return match_pb2.SeatConfig(invited=match_pb2.InvitedSeat())
    return match_pb2.SeatConfig(open=match_pb2.OpenSeat())


@lru_cache(maxsize=_MAX_CACHED)
def _write_players(
    bots: tuple[int, ...],
    invited: tuple[int, ...],
    joined: frozenset[int],
    key_names: tuple[str, ...],
    display_names: tuple[str, ...],
) -> bytes:
    view = game_pb2.View()
    for seat, bot in enumerate(bots):
        player = view.players.add(key_name=key_names[seat], display_name=display_names[seat])
        if bot:
            strength = match_pb2.BotStrength.Name(bot)
            player.bot.strength = strength.removeprefix("BOT_STRENGTH_")
        elif seat in invited:
            player.invited.joined = seat in joined
        else:
            player.open.SetInParent()
    return view.SerializeToString()
