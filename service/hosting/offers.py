"""The kinds of entries by which the seats agree on takebacks and pauses (`consent.py`)."""

from operator import attrgetter
from typing import Any

from croupier.v1 import feed_pb2, game_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError
from service.hosting.ahead import NOTHING
from service.hosting.clocks import Clocks
from service.hosting.consent import MAX_OFFERS, NO_UNDO, Consent, Offer, Undo
from service.hosting.entries import Action, Commit, EntryKind, Expiry, Reply
from service.hosting.match_state import KINDS, Kind, MatchState
from service.hosting.seats import Caller, Seats
from service.store import Entry
from wire.errors import Refusal

TAKEBACK, PAUSE = game_pb2.OFFER_KIND_TAKEBACK, game_pb2.OFFER_KIND_PAUSE


# What an entry says of a match, but for who has asked for it and where it stands in the log.
_says = attrgetter("kind", "seat", "at", "action", "expected_version")


def why_not(state: MatchState, seat: int, offered: int) -> str:
    """Why a seat cannot offer this now; empty if it can."""
    consent = state.consent
    if offered in state.header.forbidden_offers:
        kind = game_pb2.OfferKind.Name(offered).removeprefix("OFFER_KIND_").lower()
        return f"whoever created the match has forbidden every {kind}"
    if state.over or state.match is None:
        return "the match is over" if state.over else "the cards are not dealt yet"
    if consent.paused:
        return "the match is paused"
    if consent.offer is not None:
        return "an offer waits for its answer"
    if (seat, offered) in consent.asked:
        return "the seat has offered this before, and no seat has decided since"
    if consent.offers[seat] >= MAX_OFFERS:
        return f"a seat makes at most {MAX_OFFERS} offers in a match"
    if offered == PAUSE and state.clocks is None:
        return "no clock runs in the match, so it needs no pause"
    if offered == TAKEBACK and state.undo[seat] is None:
        return (
            "the seat has no decision to take back, or since then a card was drawn or shown, "
            "something public has happened, the match was paused, or a clock has decided"
        )
    return ""


def _clocks_back(state: MatchState, undo: Undo, at: int) -> Clocks | None:
    # The clocks of a match that is taken back at a time.
    if state.clocks is None:
        return None
    owed = undo.match.deciders
    spent = [at - since if seat in owed else 0 for seat, since in enumerate(undo.since)]
    made = [0, 0]
    for each in state.entries[undo.version :]:
        if KINDS[each.kind].is_decision(each):
            if not made[each.seat] and each.seat in owed:
                spent[each.seat] = each.at - undo.since[each.seat]
            made[each.seat] += 1
    return state.clocks.taken_back(state.deciders, made, spent, at)


class _Offering(Kind):
    # An entry about an offer: it holds two bytes, what is offered and whether that comes about, and
    # the version to which a takeback takes the match back as its expected version.

    def seats_after(self, seats: Seats, version: int, entry: Entry) -> Seats:
        taken_back = entry.expected_version if tuple(entry.action) == (TAKEBACK, 1) else None
        return seats.after_aside(version, taken_back)

    def consent_after(self, consent: Consent, version: int, entry: Entry) -> Consent:
        offered, agreed = entry.action
        return consent.after_answer(version, offered if agreed else 0, entry.at)

    def _after(self, state: MatchState, entry: Entry, seat: int) -> MatchState:
        # The match after an entry about an offer of a seat.
        offered, agreed = entry.action
        version, undo = state.version + 1, state.undo[seat]
        changed: dict[str, Any] = {}
        if agreed and offered == PAUSE:
            changed = {"deciders": ()}
        elif agreed and undo is not None:
            changed = {
                "match": undo.match,
                "deciders": undo.match.deciders,
                "clocks": _clocks_back(state, undo, entry.at),
                "undo": NO_UNDO,
                "ahead": NOTHING,
            }
        return state.with_entry(
            entry,
            seats=self.seats_after(state.seats, version, entry),
            consent=self.consent_after(state.consent, version, entry),
            **changed,
        )

    def wrong_seat(self, state: MatchState, seat: int) -> str:
        return "is the seat of a bot, which offers nothing" if state.header.bots[seat] else ""

    def write(self, entry: Entry, message: Any) -> None:
        message.seat = entry.seat
        message.kind = entry.action[0]
        message.takeback_version = entry.expected_version


class MakeOffer(_Offering, number=EntryKind.OFFER):
    """A seat offers the other one a takeback or a pause. A bot agrees at once."""

    field = event = "offer_made"
    change = feed_pb2.MATCH_CHANGE_OFFERED

    @staticmethod
    def ask(state: MatchState, at: int, caller: Caller, offered: int) -> Reply | Commit:
        """Makes an offer for a seat at a time; raises Refusal.

        An offer that is open, or has just come about, is not made again.
        """
        state.seats.check_token(caller)
        state.check_running()
        entry = MakeOffer.entry(state, at, caller.seat, offered)
        offer = state.consent.offer
        if offer is not None and (offer.seat, offer.kind) == (caller.seat, offered):
            return Reply(state, state.version)
        last = state.entry(state.version) if state.version else entry
        again = (entry.kind, entry.seat, entry.action)
        if state.version and (last.kind, last.seat, last.action) == again:
            return Reply(state, state.version)
        if why := why_not(state, caller.seat, offered):
            raise Refusal(ErrorReason.ERROR_REASON_OFFER_NOT_ALLOWED, why)
        return Commit(state.after(entry))

    @staticmethod
    def entry(state: MatchState, at: int, seat: int, offered: int) -> Entry:
        """The entry of an offer."""
        undo = state.undo[seat]
        back = undo.version if offered == TAKEBACK and undo is not None else 0
        agreed = bool(state.header.bots[1 - seat])
        return Entry(EntryKind.OFFER, seat, at, bytes([offered, agreed]), back)

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        if why := why_not(state, entry.seat, entry.action[0]):
            raise ActionError("kind", why)
        if _says(entry) != _says(self.entry(state, entry.at, entry.seat, entry.action[0])):
            raise ActionError("takeback_version", "this is not what the offer leads to")
        return self._after(state, entry, entry.seat)

    def consent_after(self, consent: Consent, version: int, entry: Entry) -> Consent:
        offered, agreed = entry.action
        consent = consent.after_offer(Offer(entry.seat, offered, version))
        return super().consent_after(consent, version, entry) if agreed else consent

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        entry = self.entry(state, at, message.seat, message.kind)
        return entry._replace(expected_version=message.takeback_version)


class AnswerOffer(_Offering, number=EntryKind.ANSWER):
    """A seat agrees to the offer of the other or declines it, or withdraws its own."""

    field = event = "offer_answered"
    change = feed_pb2.MATCH_CHANGE_ANSWERED

    @staticmethod
    def ask(
        state: MatchState,
        at: int,
        caller: Caller,
        offer_version: int,
        agreed: bool,
        etag: str = "",
    ) -> Reply | Commit:
        """Answers the offer that made a version, for a seat at a time; raises Refusal.

        `etag` is that of a version with the offer; empty for any offer of the number. A request
        that was carried out before changes nothing.
        """
        state.seats.check_token(caller)
        state.check_running()
        since = range(offer_version, state.version + 1)
        if etag and all(etag != state.etag(version) for version in since):
            raise _not_open()
        offer = state.consent.offer
        if offer is None or offer.version != offer_version:
            made = state.entries[offer_version - 1 :] if offer_version else []
            if made and made[0].kind == EntryKind.OFFER:
                # With a decision, or another offer, it has lapsed.
                offers = (EntryKind.OFFER, EntryKind.ANSWER)
                first = next(
                    each
                    for each in (*made[1:], made[0])
                    if each.kind in offers or KINDS[each.kind].is_decision(each)
                )
                answered = first.kind == EntryKind.ANSWER and first.seat == caller.seat
                if answered and first.action[1] == agreed:
                    return Reply(state, state.version)
            raise _not_open()
        if agreed and offer.seat == caller.seat:
            what = "only the other seat can agree to an offer"
            raise Refusal(ErrorReason.ERROR_REASON_OFFER_NOT_ALLOWED, what)
        return Commit(state.after(AnswerOffer.entry(state, at, caller.seat, offer, agreed)))

    @staticmethod
    def entry(state: MatchState, at: int, seat: int, offer: Offer, agreed: bool) -> Entry:
        """The entry of an answer to the offer that is open."""
        undo = state.undo[offer.seat] if agreed and offer.kind == TAKEBACK else None
        back = 0 if undo is None else undo.version
        return Entry(EntryKind.ANSWER, seat, at, bytes([offer.kind, agreed]), back)

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        offer = state.consent.offer
        if offer is None or (entry.action[1] and offer.seat == entry.seat):
            raise ActionError("seat", "the seat has no such offer to answer")
        answer = self.entry(state, entry.at, entry.seat, offer, bool(entry.action[1]))
        if _says(entry) != _says(answer):
            raise ActionError("kind", "this is not what was offered")
        return self._after(state, entry, offer.seat)

    def write(self, entry: Entry, message: Any) -> None:
        super().write(entry, message)
        message.agreed = bool(entry.action[1])

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        data = bytes([message.kind, message.agreed])
        return Entry(self.number, message.seat, at, data, message.takeback_version)


class Resume(Kind, number=EntryKind.RESUME):
    """A pause has ended, by a seat or, where it holds a byte, as it was as long as it may be."""

    field = event = "match_resumed"
    change = feed_pb2.MATCH_CHANGE_RESUMED

    @staticmethod
    def ask(state: MatchState, at: int, caller: Caller) -> Reply | Commit:
        """Ends a pause for a seat at a time, if there is one; raises Refusal."""
        state.seats.check_token(caller)
        state.check_running()
        if not state.consent.paused:
            return Reply(state, state.version)
        return Commit(state.after(Entry(EntryKind.RESUME, caller.seat, at)))

    @staticmethod
    def due(state: MatchState, at: int) -> Entry | None:
        """The entry that must come before any other at a time, if a pause is over."""
        end = None if state.over else state.consent.pause_end
        return None if end is None or at < end else Entry(EntryKind.RESUME, 0, at, b"\1")

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        paused, end = state.consent.paused, state.consent.pause_end
        if state.match is None or paused is None or end is None:
            raise ActionError("seat", "the match is not paused")
        if bool(entry.action) != (entry.at >= end):
            raise ActionError("seat", "a pause ends by a seat, or when it is as long as it may be")
        if not entry.action and state.header.bots[entry.seat]:
            raise ActionError("seat", "a bot resumes nothing")
        version, clocks = state.version + 1, state.clocks
        return state.with_entry(
            entry,
            seats=self.seats_after(state.seats, version, entry),
            consent=self.consent_after(state.consent, version, entry),
            clocks=None if clocks is None else clocks.paused(entry.at - paused),
            undo=NO_UNDO,
            deciders=state.match.deciders,
        )

    def seats_after(self, seats: Seats, version: int, entry: Entry) -> Seats:
        return seats.after_aside(version)

    def consent_after(self, consent: Consent, version: int, entry: Entry) -> Consent:
        return consent._replace(paused=None)

    def write(self, entry: Entry, message: Any) -> None:
        message.SetInParent()
        if not entry.action:
            message.seat = entry.seat

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        return Entry(self.number, message.seat, at, b"" if message.HasField("seat") else b"\1")


def _not_open() -> Refusal:
    what = "the offer does not wait for an answer"
    return Refusal(ErrorReason.ERROR_REASON_OFFER_NOT_OPEN, what)


def due_entry(state: MatchState, at: int) -> Entry | None:
    """The entry that comes before any other at a time, if one does."""
    return Resume.due(state, at) or Action.due(state, at) or Expiry.due(state, at)


BY_FIELD = {kind.field: kind for kind in KINDS.values()}  # By their names in RecordEntry.
