"""What must be shown of a match, worked out from its log, field by field, by no code of the server.

The cards, the legal actions and the events of a game are the engine's. So whoever forgets a field,
or fills it in from another seat or another moment, is found, wherever that is read:

- A `View`, of whatever response: `view`, all its fields but the ruleset, which
  `oracles.check_view` compares with the one that was asked for, and the decisions ahead, which
  `ahead.py` judges.
- A `MatchEvent`, of WatchMatch and SubmitAction: `events`, all of a version, in order.
- A `MatchUpdate` of the feed: `update`, by `judge_updates`; its cursors and filters: `Follower`.
- A `Match`, of GetMatch and ListMatches: `match`, by `oracles.check_match`; the order, the filters
  and the pages of a list: `Operator`.
- What was created, joined, offered, answered, resigned or replaced, by whoever has asked for it;
  what tokens are for, what an invitation and GetMatch tell, and whether the reason of a refusal
  held: `Answers`. That a rematch is as its match: `oracles._judge_rematch`.
- The version of an answer: `tests/support/history.py`; of a heartbeat: `oracles._of_heartbeats`.
- GetView: `timed_out` and `server_time`: `Player._look`, `Waiter`; `rematch`: `rematches.py`, with
  those of WatchMatch, Rematch and DeclineRematch.
- ReplaceSeatToken, BatchGetViews: `Player._replace_token`; what is refused: `Table.refused`.
- GetRecord: `oracles.judge_match`. A hint, and the whole task of its search: `SearchState.wrong`,
  `Player._ask`; that of a bot: `Bots.wrong`, `oracles._of_views`; a review: `reviewing.py`; when a
  match is due: `oracles._due`. Lists of a player, EraseNames: `FrontEnd`, `erasing.py`.
- Games, puzzles, health, reflection: `Visitor`. ReplayMatch, what is played on: `afterwards.py`;
  what spectators hear late: `delays.py`; all of it where the log was changed: `damaging.py`.
"""

from google.api import field_behavior_pb2
from google.protobuf.field_mask_pb2 import FieldMask

import wire
from croupier.v1 import feed_pb2, game_pb2, match_pb2
from engine.game import SPECTATOR
from service.hosting.entries import EntryKind
from tests.simulation.course import TAKEBACK

_CHANGES = {
    EntryKind.ACTION: "DECIDED",
    EntryKind.EXPIRY: "EXPIRED",
    EntryKind.ENTROPY_HASH: "CONTRIBUTED",
    EntryKind.ENTROPY: "CONTRIBUTED",
    EntryKind.JOIN: "JOINED",
    EntryKind.TOKEN: "TOKEN_REPLACED",
    EntryKind.OFFER: "OFFERED",
    EntryKind.ANSWER: "ANSWERED",
    EntryKind.RESUME: "RESUMED",
}


def wrong(shown, right):
    """The names of the fields in which a message is not as it must be; empty if it is right."""
    if shown == right:
        return ""
    names = [each.name for each in right.DESCRIPTOR.fields]
    names = [name for name in names if getattr(shown, name) != getattr(right, name)]
    return ", ".join(names) or "absent field"


def masked(message, paths):
    """What a message has of some fields, and of no others."""
    left = type(message)()
    FieldMask(paths=paths).MergeMessage(message, left)
    for path in paths:
        field = message.DESCRIPTOR.fields_by_name[path.partition(".")[0]]
        if field.message_type and not field.is_repeated and message.HasField(field.name):
            getattr(left, field.name).SetInParent()
    return left


def sent(message):
    """What a message says in a request, where what is of answers alone is ignored, or left out."""
    left = type(message)()
    left.CopyFrom(message)
    for field, value in left.ListFields():
        behavior = field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
        if field_behavior_pb2.OUTPUT_ONLY in behavior:
            left.ClearField(field.name)
        elif field.message_type:
            for each in value if field.is_repeated else [value]:
                each.CopyFrom(sent(each))
    return left


def view(course, viewer, etag):
    """The View of a match for a seat, or SPECTATOR, without its ruleset."""
    header, match = course.header, course.match
    shown = game_pb2.View()
    if match is not None:
        shown.ParseFromString(wire.write_view(course.game, match.view(viewer)))
    shown.name, shown.version = f"matches/{header.match_id}", course.version
    shown.seeded, shown.hint_policy = not header.chance_id, header.hint_policy
    shown.etag = etag
    if viewer != SPECTATOR:
        shown.seat = viewer
    shown.deciders.extend(course.deciders)
    if viewer in course.deciders:
        legal = match.legal(viewer)
        shown.legal_actions.extend(wire.write_action(course.game, each) for each in legal)
    if course.over:
        shown.result.CopyFrom(course.result())
    if course.control is not None:
        _write_clocks(course, shown.clocks)
    if header.entropy_from_seats and match is None:
        shown.entropy_owed.SetInParent()
        shown.entropy_owed.hash_seats.extend(course.owed(course.hashes))
        shown.entropy_owed.entropy_seats.extend(course.owed(course.entropy))
    shown.players.extend(players(course))
    shown.takeback_count = course.takebacks
    if course.offer is not None and not course.over:
        shown.offer.seat, shown.offer.kind, shown.offer.version = course.offer
    if course.paused is not None and not course.over:
        shown.pause_end_time.FromMilliseconds(course.pause_end)
    if viewer != SPECTATOR and course.may_offer(viewer, TAKEBACK):
        shown.takeback_version = course.back_to(viewer)
    shown.forbidden_offers.extend(header.forbidden_offers)
    _write_origin(header, shown)
    return shown


def _write_origin(header, message):
    # From where a match is played on, if it is.
    if header.start:
        message.origin.CopyFrom(match_pb2.MatchStart.FromString(header.start).origin)


def players(course):
    """Who sits where."""
    for seat, bot in enumerate(course.header.bots):
        key_name, name = course.names[seat]
        player = game_pb2.Player(key_name=key_name, display_name=name)
        if bot:
            player.bot.strength = match_pb2.BotStrength.Name(bot).removeprefix("BOT_STRENGTH_")
        elif seat in course.header.invited:
            player.invited.SetInParent()
            player.invited.joined = seat in course.joined
        else:
            player.open.SetInParent()
        yield player


def _write_clocks(course, clocks):
    clocks.time.FromMilliseconds(course.time)
    clocks.time_control.CopyFrom(course.control)
    for seat, bot in enumerate(course.header.bots):
        if bot:
            continue
        owes = course.match is not None and seat in course.match.deciders
        clock = clocks.seats.add(seat=seat, default_actions=course.played[seat])
        left = course.left[seat]
        if left is not None:
            now = course.time if course.paused is None else course.paused
            used = now - course.since[seat] if owes else 0
            clock.time_left.FromMilliseconds(max(0, left - used))
        if owes and course.early is None and course.paused is None:
            clock.deadline.FromMilliseconds(course.deadline(seat))


def events(course, entry, happened, viewer):
    """The events of the version that an entry has made, if it is not the first one, in order."""
    told = []

    def add(**event):
        told.append(game_pb2.MatchEvent(version=course.version, **event))

    kind, seat = (None, None) if entry is None else entry[:2]
    if kind == EntryKind.ENTROPY_HASH:
        add(entropy_hash={"seat": seat, "entropy_hash": entry.action})
    elif kind == EntryKind.ENTROPY:
        add(entropy={"seat": seat, "entropy": entry.action})
    elif kind == EntryKind.JOIN:
        add(seat_joined={"seat": seat, "display_name": course.names[seat][1]})
    elif kind == EntryKind.DECLINE:
        add(seat_declined={"seat": seat})
    elif kind == EntryKind.ABORT:
        add(seat_aborted={"seat": seat})
    elif kind == EntryKind.TOKEN:
        add(seat_token_replaced={"seat": seat})
    elif kind == EntryKind.OFFER:
        add(offer_made={"seat": seat, "kind": entry.action[0], **_back_to(entry)})
    elif kind == EntryKind.ANSWER:
        offered, agreed = entry.action
        add(offer_answered={"seat": seat, "kind": offered, "agreed": agreed, **_back_to(entry)})
    elif kind == EntryKind.RESUME:
        add(match_resumed={} if entry.action else {"seat": seat})
    elif kind == EntryKind.EXPIRY:
        add(time_expired={"seats": course.late or [seat]})
    told += [
        wire.write_event(course.game, each, course.version)
        for each in happened
        if each.audience & (1 << viewer)
    ]
    # Held until the other seat has decided too.
    if not happened and entry is not None and entry.action and kind in _DECISIONS:
        add(seat_decided={"seat": seat})
    if course.over:
        add(match_ended={"result": course.result()})
    return told


def _back_to(entry):
    return {"takeback_version": entry.expected_version}


_DECISIONS = (EntryKind.ACTION, EntryKind.EXPIRY)


def update(course, entry):
    """The MatchUpdate of the version that an entry has made, if it is not the first one."""
    header = course.header
    told = feed_pb2.MatchUpdate(name=f"matches/{header.match_id}", version=course.version)
    told.update_time.FromMilliseconds(course.time)
    told.rematch_of = f"matches/{header.rematch_of}" if header.rematch_of else ""
    kind, told.seat = (None, 0) if entry is None else entry[:2]
    if course.over:
        told.change = feed_pb2.MATCH_CHANGE_ENDED
        told.result.CopyFrom(course.result())
        return told
    told.change = feed_pb2.MatchChange.Value(f"MATCH_CHANGE_{_CHANGES.get(kind, 'CREATED')}")
    missing = [seat for seat in header.invited if seat not in course.joined]
    told.missing_seats.extend(missing)
    owing = course.deciders
    if header.entropy_from_seats and course.match is None:
        owing = course.owed(course.hashes) or course.owed(course.entropy)
    for seat in owing:
        if not header.bots[seat] and seat not in missing:
            due = told.due_seats.add(seat=seat)
            if course.control is not None and course.match is not None:
                due.deadline.FromMilliseconds(course.deadline(seat))
    return told


def invitation(course, seat):
    """The GetInvitationResponse for a seat."""
    header = course.header
    state = "USED" if seat in course.joined else "EXPIRED" if course.over else "OPEN"
    told = match_pb2.GetInvitationResponse(
        seat=seat,
        ruleset=game_pb2.Ruleset.FromString(header.ruleset),
        players=players(course),
        hint_policy=header.hint_policy,
        entropy_from_seats=header.entropy_from_seats,
        state=f"INVITATION_STATE_{state}",
        forbidden_offers=list(header.forbidden_offers),
    )
    told.create_time.FromMilliseconds(header.created)
    if header.time_control:
        told.time_control.MergeFromString(header.time_control)
    _write_origin(header, told)
    return told


def match(course, listed=True):
    """The Match; a list does not have where it begins."""
    header = course.header
    shown = match_pb2.Match(
        name=f"matches/{header.match_id}",
        game=f"games/{header.game}",
        state="MATCH_STATE_OVER" if course.over else "MATCH_STATE_RUNNING",
        version=course.version,
        rules_version=header.rules_version,
    )
    for seat, bot in enumerate(header.bots):
        config = shown.seats.add()
        if bot:
            config.bot.strength = bot
        else:
            getattr(config, "invited" if seat in header.invited else "open").SetInParent()
    shown.create_time.FromMilliseconds(header.created)
    shown.update_time.FromMilliseconds(course.time)
    if course.over:
        shown.end_time.FromMilliseconds(course.time)
        shown.result.CopyFrom(course.result())
    if not listed:
        _write_origin(header, shown)
    return shown
