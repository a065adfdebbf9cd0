"""What the seats of a match agree on while they play: offers, pauses and takebacks."""

from typing import NamedTuple

from croupier.v1 import game_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.match import Match
from wire.errors import Refusal

MAX_PAUSE_MILLISECONDS = 7 * 24 * 3_600_000
MAX_OFFERS = 100  # Of a seat in a match.


class Offer(NamedTuple):
    """What a seat has offered the other, which has not answered."""

    seat: int
    kind: int  # A croupier.v1.OfferKind.
    version: int  # The version that it made.


class Consent(NamedTuple):
    """What the seats agree on after some entries of a match. An object never changes."""

    offer: Offer | None = None  # That is open.
    asked: tuple[tuple[int, int], ...] = ()  # The seats and kinds of offers since a decision.
    offers: tuple[int, int] = (0, 0)  # By seat: how many it has made.
    paused: int | None = None  # Since when the match is paused.
    takebacks: tuple[int, ...] = ()  # The versions by which decisions were taken back, ascending.

    @property
    def pause_end(self) -> int | None:
        """When the match goes on at the latest; None unless it is paused."""
        return None if self.paused is None else self.paused + MAX_PAUSE_MILLISECONDS

    def check_running(self) -> None:
        """Raises Refusal if the match is paused."""
        if self.paused:
            raise Refusal(ErrorReason.ERROR_REASON_MATCH_PAUSED, "the match is paused")

    def after_decision(self) -> "Consent":
        """The same after a decision, with which every offer lapses."""
        return self._replace(offer=None, asked=()) if self.asked else self

    def after_offer(self, offer: Offer) -> "Consent":
        """The same with an offer."""
        seat, kind, _ = offer
        offers = (self.offers[0] + (seat == 0), self.offers[1] + (seat == 1))
        return self._replace(offer=offer, asked=(*self.asked, (seat, kind)), offers=offers)

    def after_answer(self, version: int, kind: int, at: int) -> "Consent":
        """The same after a version by which an offer of this kind came about; 0: by which none did.

        The offer is then not open any more.
        """
        if kind == game_pb2.OFFER_KIND_PAUSE:
            return self._replace(offer=None, paused=at)
        if kind == game_pb2.OFFER_KIND_TAKEBACK:
            return self._replace(offer=None, takebacks=(*self.takebacks, version))
        return self._replace(offer=None)


NO_CONSENT = Consent()


class Undo(NamedTuple):
    """What a takeback takes a match back to: the moment before the last decision of a seat.

    There is one only if neither seat has learned anything since (`Match.revealed`), and no clock
    has decided. So no view forgets anything, and no chance that was drawn is drawn again.
    """

    version: int
    match: Match
    since: tuple[int, ...]  # By seat: as in `Clocks`; zeros without clocks.


Undos = tuple[Undo | None, Undo | None]  # By seat.
NO_UNDO: Undos = (None, None)


def undo_after(undo: Undos, seat: int, here: Undo, after: Match, *, by_clock: bool) -> Undos:
    """By seat: what can be taken back after the decision of a seat that led from `here` to a match.

    `by_clock` says whether it was made for the seat.
    """
    if after.revealed or after.over or by_clock:
        return NO_UNDO
    return (here, undo[1]) if seat == 0 else (undo[0], here)
