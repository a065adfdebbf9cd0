"""The views and events that callers are shown of a match, and the match as a resource.

A view is put together by saying what is shown. Only a caller who wants less has fields removed from
what it may know.
"""

from functools import lru_cache

import wire
from croupier.v1 import clock_pb2, feed_pb2, game_pb2, match_pb2
from engine.events import TO_PUBLIC
from engine.game import SPECTATOR
from service.hosting.clocks import Clocks
from service.hosting.consent import NO_CONSENT
from service.hosting.match_state import KINDS, MatchState
from service.hosting.offers import TAKEBACK, why_not
from service.hosting.seats import write_seats
from service.store import ListedMatch
from wire import field, number_field
from wire.fields import ALL, Fields

# SubmitActionResponse has the field of the same number.
_EVENTS = match_pb2.WatchMatchResponse.EVENTS_FIELD_NUMBER
MAX_WRITTEN = 64  # Of one state: callers may want any fields.
_MAX_CACHED = 1024  # Updates of a feed.


def serialize_events(state: MatchState, version: int, viewer: int) -> bytes:
    """The events that a seat, or SPECTATOR, saw at a version: the field `events` of a response."""
    if version != state.version:
        return _serialize_events(state, version)[viewer]
    # Once for all who follow the match.
    written = state.written
    if written.events is None:
        written.events = _serialize_events(state, version)
    return written.events[viewer]


def _serialize_events(state: MatchState, version: int) -> tuple[bytes, ...]:
    # By viewer.
    happened = state.events(version)
    game = state.game
    seen: tuple[list[bytes], ...] = ([], [], [])

    def add(event: bytes, audience: int) -> None:
        written = wire.field(_EVENTS, event)
        for viewer, events in enumerate(seen):
            if audience & (1 << viewer):
                events.append(written)

    entry = state.entry(version) if version else None  # The deal has none.
    if entry is not None and (name := KINDS[entry.kind].event):
        told = game_pb2.MatchEvent(version=version)
        KINDS[entry.kind].tell(state, entry, getattr(told, name))
        add(_serialize(told), TO_PUBLIC)
    for each in happened:
        add(wire.serialize_event(game, each, version), each.audience)
    # An action without events is held until the other seat has decided too.
    if not happened and entry is not None and KINDS[entry.kind].is_decision(entry):
        decided = game_pb2.SeatDecided(seat=entry.seat)
        add(_serialize(game_pb2.MatchEvent(version=version, seat_decided=decided)), TO_PUBLIC)
    if state.over and version == state.version:
        ended = game_pb2.MatchEnded(result=state.result)
        add(_serialize(game_pb2.MatchEvent(version=version, match_ended=ended)), TO_PUBLIC)
    return tuple([b"".join(events) for events in seen])


def _serialize(event: game_pb2.MatchEvent) -> bytes:
    return event.SerializeToString()


_NAME = game_pb2.View.NAME_FIELD_NUMBER
_VERSION = game_pb2.View.VERSION_FIELD_NUMBER
_SEAT = game_pb2.View.SEAT_FIELD_NUMBER
_DECIDERS = game_pb2.View.DECIDERS_FIELD_NUMBER
_RULESET = game_pb2.View.RULESET_FIELD_NUMBER
_SEEDED = game_pb2.View.SEEDED_FIELD_NUMBER
_ETAG = game_pb2.View.ETAG_FIELD_NUMBER
_AHEAD = game_pb2.View.DECISIONS_AHEAD_FIELD_NUMBER
_HINT_POLICY = game_pb2.View.HINT_POLICY_FIELD_NUMBER
_TAKEBACK_VERSION = game_pb2.View.TAKEBACK_VERSION_FIELD_NUMBER
_FORBIDDEN_OFFERS = game_pb2.View.FORBIDDEN_OFFERS_FIELD_NUMBER


def serialize_view(state: MatchState, viewer: int, fields: Fields = ALL) -> bytes:
    """The view of a match for a seat, or SPECTATOR: a View, or some fields of one."""
    key = (viewer, fields)
    views = state.written.views
    view = views.get(key)
    if view is None:
        if len(views) >= MAX_WRITTEN:
            views.clear()
        view = views[key] = _serialize_view(state, viewer, fields)
    return view


def _serialize_view(state: MatchState, viewer: int, fields: Fields) -> bytes:
    # In the order of the fields, as protobuf writes them.
    match, deciders, header, version = state.match, state.deciders, state.header, state.version
    whole = fields.all
    parts = []
    if whole or "name" in fields:
        parts.append(field(_NAME, b"matches/" + header.match_id.encode()))
    if version and (whole or "version" in fields):
        parts.append(number_field(_VERSION, version))
    if viewer != SPECTATOR and (whole or "seat" in fields):
        parts.append(number_field(_SEAT, viewer))
    if deciders and (whole or "deciders" in fields):
        parts.append(field(_DECIDERS, bytes(deciders)))
    if match is not None and viewer in deciders and (whole or "legal_actions" in fields):
        parts.append(wire.write_legal_actions(state.game, match.legal(viewer)))
    if state.over and (whole or "result" in fields):
        parts.append(_write(game_pb2.View(result=state.result), fields))
    if whole or "ruleset" in fields:
        ruleset = field(_RULESET, header.ruleset)
        parts.append(ruleset if whole else _prune(ruleset, fields, "ruleset"))
    if state.clocks is not None and (whole or "clocks" in fields):
        clocks = _write_clocks(state, state.clocks)
        parts.append(_write(game_pb2.View(clocks=clocks), fields))
    if state.contributions is not None and (whole or "entropy_owed" in fields):
        owed = state.contributions.owed
        parts.append(_write(game_pb2.View(entropy_owed=owed), fields))
    # The field of the game: that of its name, or the one of all packages.
    if match is not None and (whole or (part := wire.messages(state.game.id).field) in fields):
        view = wire.write_view(state.game, match.view(viewer))
        parts.append(view if whole else _prune(view, fields, part))
    if header.seeded and (whole or "seeded" in fields):
        parts.append(number_field(_SEEDED, 1))
    if whole or "players" in fields:
        parts.append(state.seats.players)
    if header.hint_policy and (whole or "hint_policy" in fields):
        parts.append(number_field(_HINT_POLICY, header.hint_policy))
    if state.origin and (whole or "origin" in fields):
        parts.append(state.origin if whole else _prune(state.origin, fields, "origin"))
    if whole or "etag" in fields:
        parts.append(field(_ETAG, state.etag(version).encode()))
    if viewer != SPECTATOR and state.ahead[viewer] and (whole or "decisions_ahead" in fields):
        ahead = field(_AHEAD, state.ahead[viewer])
        parts.append(ahead if whole else _prune(ahead, fields, "decisions_ahead"))
    if state.consent is not NO_CONSENT:
        parts.append(_write(_write_consent(state), fields))
    undo = None if viewer == SPECTATOR or why_not(state, viewer, TAKEBACK) else state.undo[viewer]
    if undo is not None and (whole or "takeback_version" in fields):
        parts.append(number_field(_TAKEBACK_VERSION, undo.version))
    if header.forbidden_offers and (whole or "forbidden_offers" in fields):
        parts.append(field(_FORBIDDEN_OFFERS, header.forbidden_offers))
    return b"".join(parts)


def _write_consent(state: MatchState) -> game_pb2.View:
    consent = state.consent
    view = game_pb2.View(takeback_count=len(consent.takebacks))
    if state.over:
        return view
    if consent.offer is not None:
        seat, kind, version = consent.offer
        offer = game_pb2.Offer(seat=seat, kind=game_pb2.OfferKind.Name(kind), version=version)
        view.offer.CopyFrom(offer)
    if consent.pause_end is not None:
        view.pause_end_time.FromMilliseconds(consent.pause_end)
    return view


def _write(part: game_pb2.View, fields: Fields) -> bytes:
    fields.prune(part)
    return part.SerializeToString()


def _prune(part: bytes, fields: Fields, name: str) -> bytes:
    # Parsing and pruning takes as long as writing a view, so it is done only where it must be.
    return part if fields[name].all else _write(game_pb2.View.FromString(part), fields)


def serialize_position(state: MatchState, seat: int) -> bytes:
    """The view of a dealt match, with no more than a search for a seat needs."""
    parts = [number_field(_SEAT, seat)]
    if state.version:
        parts.append(number_field(_VERSION, state.version))
    parts.append(field(_DECIDERS, bytes(state.deciders)))
    parts.append(field(_RULESET, state.header.ruleset))
    parts.append(wire.write_view(state.game, state.dealt().view(seat)))
    return b"".join(parts)


def _write_clocks(state: MatchState, clocks: Clocks) -> clock_pb2.Clocks:
    message = clock_pb2.Clocks()
    message.time.FromMilliseconds(state.time)
    message.time_control.MergeFromString(state.header.time_control)
    for seat, bot in enumerate(state.header.bots):
        if bot:
            continue
        # When a match ends early or pauses, the clock of a seat that owed a decision stops.
        owes = state.match is not None and seat in state.match.deciders
        clock = message.seats.add(seat=seat)
        left = clocks.left_at(seat, state.consent.paused or state.time, owes=owes)
        if left is not None:
            clock.time_left.FromMilliseconds(left)
        if owes and state.deciders:
            clock.deadline.FromMilliseconds(clocks.deadline(seat))
        clock.default_actions = state.default_actions[seat]
    return message


def write_update(state: MatchState) -> bytes:
    """What the feed tells of a match, without its name, its version and its time.

    It is nothing that a spectator may not know.
    """
    header = state.header
    change, seat = feed_pb2.MATCH_CHANGE_CREATED, 0
    if state.version:
        kind, seat = state.history.entries[state.version - 1][:2]
        change = KINDS[kind].change
    if state.over:
        ended = feed_pb2.MATCH_CHANGE_ENDED
        written = _write_update(ended, seat, (), header.bots, (), header.rematch_of)
        return written + feed_pb2.MatchUpdate(result=state.result).SerializeToString()
    owing = state.deciders
    if state.contributions is not None:
        owed = state.contributions.owed
        owing = tuple(owed.hash_seats or owed.entropy_seats)
    written = _write_update(
        change, seat, owing, header.bots, state.seats.missing, header.rematch_of
    )
    if state.clocks is None or state.match is None:
        return written
    update = feed_pb2.MatchUpdate.FromString(written)
    for due in update.due_seats:
        due.deadline.FromMilliseconds(state.clocks.deadline(due.seat))
    return update.SerializeToString()


# Of most decisions, it is one of a few.
@lru_cache(_MAX_CACHED)
def _write_update(
    change: feed_pb2.MatchChange,
    seat: int,
    owing: tuple[int, ...],
    bots: tuple[int, ...],
    missing: tuple[int, ...],
    rematch_of: str,
) -> bytes:
    due = (each for each in owing if not bots[each] and each not in missing)
    return feed_pb2.MatchUpdate(
        change=change,
        seat=seat,
        due_seats=[feed_pb2.DueSeat(seat=each) for each in due],
        missing_seats=missing,
        rematch_of=f"matches/{rematch_of}" if rematch_of else "",
    ).SerializeToString()


def write_rematch(rematch: MatchState | None) -> match_pb2.RematchOffer:
    """What those who know the match before are told of its rematch.

    It is empty without a rematch, and until the seat that asks first is in it.
    """
    if rematch is None or (rematch.header.invited and not rematch.seats.joined):
        return match_pb2.RematchOffer()
    header, seats = rematch.header, rematch.seats
    state = match_pb2.REMATCH_STATE_ACCEPTED
    if seats.missing:
        ended = match_pb2.REMATCH_STATE_DECLINED
        state = ended if rematch.over else match_pb2.REMATCH_STATE_OFFERED
    # The seats are exchanged.
    asking = [1 - seat for seat in (1, 0) if not header.bots[seat] and seat not in seats.missing]
    return match_pb2.RematchOffer(
        name=f"matches/{header.match_id}", state=state, asking_seats=asking
    )


def write_invitation(state: MatchState, seat: int) -> match_pb2.GetInvitationResponse:
    """What an invitation to a seat is for."""
    header = state.header
    response = match_pb2.GetInvitationResponse(
        seat=seat,
        ruleset=game_pb2.Ruleset.FromString(header.ruleset),
        players=game_pb2.View.FromString(state.seats.players).players,
        hint_policy=game_pb2.HintPolicy.Name(header.hint_policy),
        entropy_from_seats=header.entropy_from_seats,
        state=match_pb2.INVITATION_STATE_USED,
        forbidden_offers=[game_pb2.OfferKind.Name(kind) for kind in header.forbidden_offers],
    )
    if state.origin:
        response.origin.CopyFrom(game_pb2.View.FromString(state.origin).origin)
    if seat in state.seats.missing:
        expired = match_pb2.INVITATION_STATE_EXPIRED
        response.state = expired if state.over else match_pb2.INVITATION_STATE_OPEN
    if header.time_control:
        response.time_control.MergeFromString(header.time_control)
    response.create_time.FromMilliseconds(header.created)
    return response


def list_item(state: MatchState) -> ListedMatch:
    """A match as a list of the log shows it."""
    header = state.header
    return ListedMatch(
        match_id=header.match_id,
        game=header.game,
        bots=header.bots,
        created=header.created,
        ended=state.time if state.over else None,
        version=state.version,
        rules_version=header.rules_version,
        updated=state.time,
        invited=header.invited,
    )


def write_match(
    listed: ListedMatch, result: game_pb2.MatchResult | None = None, origin: bytes = b""
) -> match_pb2.Match:
    """The resource; the log does not list its `MatchState.origin`."""
    over = listed.ended is not None
    update = feed_pb2.MatchUpdate.FromString(listed.told)
    if update.HasField("result"):
        result = update.result
    match = match_pb2.Match(
        name=f"matches/{listed.match_id}",
        game=f"games/{listed.game}",
        state=match_pb2.MATCH_STATE_OVER if over else match_pb2.MATCH_STATE_RUNNING,
        version=listed.version,
        seats=write_seats(listed.bots, listed.invited),
        result=result,
        rules_version=listed.rules_version,
        own_seats=[seat for seat in (0, 1) if listed.seats >> seat & 1],
    )
    if origin:
        match.origin.CopyFrom(game_pb2.View.FromString(origin).origin)
    match.create_time.FromMilliseconds(listed.created)
    match.update_time.FromMilliseconds(listed.updated)
    if listed.ended is not None:
        match.end_time.FromMilliseconds(listed.ended)
    return match


def show_all(state: MatchState) -> None:
    """Makes what people see of a new version, before it is in the log.

    Where the rules fail at that, nothing is added.
    """
    serialize_events(state, state.version, SPECTATOR)
    if state.match is not None:
        state.match.view(SPECTATOR)
    for seat, bot in enumerate(state.header.bots):
        if not bot:
            serialize_view(state, seat)
