"""What must hold, whatever happens: the judges of a world.

They know the API, the log and the engine. They do not ask the code that they judge, where an error
of it could hide: views, clocks and who owes what are worked out anew from the entries of the log.
"""

import hashlib

from croupier.v1 import clock_pb2, game_pb2
from engine.game import SPECTATOR
from engine.match import Match
from service import wire
from service.hosting.match_state import MatchState
from service.hosting.records import verify
from service.store import EntryKind
from tests.simulation import endings
from tests.support.history import ASIDE, Decision, observations, view_bytes, violations
from tests.support.serving import events_of, view_of

LATE_SECONDS = 4.0  # For which a server may be late with what is due, while all is well.
NEVER_SECONDS = 240.0  # So late it never is, whatever goes wrong.
HELD = 5  # Examples that are told.


def check_view(table, view, viewer):
    """What can be seen in a view alone."""
    world = table.world
    if view.name != table.name:
        world.fail(f"{table}: a view is of {view.name}")
    shown = view.seat if view.HasField("seat") else SPECTATOR
    if shown != viewer:
        world.fail(f"{table}: viewer {viewer} is shown the view of seat {shown}")
    if view.legal_actions and viewer not in view.deciders:
        world.fail(f"{table}: viewer {viewer} has actions, but owes no decision")


async def judge_match(table):
    """A match that is over: its history, its record, its views and its clocks."""
    world = table.world
    record = table.record
    if hashlib.sha256(record.secret).digest() != table.secret_hash:
        world.fail(f"{table}: the record has another secret than was announced")
    stored = _stored(world, table.name.removeprefix("matches/"))
    if stored is None:
        world.fail(f"{table}: the log does not have it")
    stored = stored._replace(snapshot=None)
    verified = verify(record)
    if verified.version != len(stored.entries) or not verified.over:
        world.fail(f"{table}: the record is not that of the log")
    if table.lost:
        return
    found = [
        *_of_skipping(table, stored),
        *violations(table.history, _decisions(stored)),
        *_of_views(table, stored),
        *_of_log(table, stored),
    ]
    if found:
        world.fail(f"{table}: {'; '.join(found[:HELD])}")


def _decisions(stored):
    # The log as `violations` takes it: what clients have decided.
    bots = stored.header.bots
    return [
        Decision(entry.seat, entry.action)
        if entry.kind == EntryKind.ACTION and not bots[entry.seat]
        else ASIDE
        if entry.kind == EntryKind.TOKEN
        else None
        for entry in stored.entries
    ]


def _of_skipping(table, stored):
    # Streams without the actions of their own seat have all the rest. What is between two of these
    # is a part of a stream that has each version.
    for stream in table.skipping:
        right = [
            version
            for version in range(stream.after + 1, len(stored.entries) + 1)
            if not version or stored.entries[version - 1][:2] != (EntryKind.ACTION, stream.viewer)
        ]
        versions = [received.version for received in stream.received]
        if versions != (right if stream.ended else right[: len(versions)]):
            yield f"a stream without the actions of seat {stream.viewer} has versions {versions}"
        for received in stream.received:
            part = stream._replace(after=received.version - 1, received=[received], ended=False)
            table.history.streams.append(part)


def _of_views(table, stored):
    # What somebody was shown is what the log says, and each view has exactly the cards that the
    # engine shows this viewer.
    state = MatchState.begin(stored.header)
    course = _Course(stored.header, state.game, state.start)
    dealt = list(course.match.events) if course.match is not None else None
    states, matches, audible = [state], [course.match], [dealt]
    for version, entry in enumerate(stored.entries, 1):
        states.append(states[-1].after(entry))
        audible.append(course.add(version, entry))
        matches.append(course.match)
    game = state.game
    for what, viewer, version, data in sorted(set(observations(table.history))):
        if version >= len(states):
            yield f"version {version} was shown, but the log ends before"
        elif what == "views":
            if data != view_bytes(view_of(states[version], viewer)):
                yield f"the view of version {version} for viewer {viewer} is not that of the log"
            view, match = game_pb2.View.FromString(data), matches[version]
            if match is None:
                if view.HasField(game.id):
                    yield f"version {version} shows cards, but none are dealt"
                continue
            right = game_pb2.View.FromString(wire.write_view(game, match.view(viewer)))
            if getattr(view, game.id) != getattr(right, game.id):
                yield f"version {version} shows viewer {viewer} other cards than it may see"
        else:
            events = events_of(states[version], version, viewer)
            told = b"".join(event.SerializeToString(deterministic=True) for event in events)
            if data != told:
                yield f"the events of version {version} for viewer {viewer} are not the log's"
            wrong = _wrong_events(game, data, version, viewer, audible[version])
            if wrong:
                yield wrong


def _shown(history):
    for read in history.reads:
        yield read.viewer, read.version, read.view
    for write in history.writes:
        if write.returned is not None:
            yield write.decision.seat, write.version, write.view
    for stream in history.streams:
        for received in stream.received:
            if received.view is not None:
                yield stream.viewer, received.version, received.view


def _wrong_events(game, told, version, viewer, happened):
    # Whether a viewer was told what another one saw, or not told what it saw itself.
    own, hidden = [], []
    for each in happened or ():
        event = wire.write_event(game, each, version).SerializeToString(deterministic=True)
        (own if each.audience & (1 << viewer) else hidden).append(event)
    if any(event in told for event in hidden if event not in own):
        return f"version {version} tells viewer {viewer} what another one saw"
    if any(event not in told for event in own):
        return f"version {version} leaves out what viewer {viewer} saw"
    return ""


class _Course:
    # A match played again with the engine alone, and with clocks that are worked out anew.

    def __init__(self, header, game, start=None):
        self.header, self.game, self.start = header, game, start
        self.joined, self.entropy, self.replaced = set(), {}, 0
        self.match = None
        self.over = False
        self.played = [0, 0]  # Default actions in a row.
        control = clock_pb2.TimeControl.FromString(header.time_control)
        self.control = control if header.time_control else None
        limit = control.per_match.ToMilliseconds() if control.HasField("per_match") else None
        self.left = [limit, limit]
        self.since = [header.created, header.created]
        self.known = [None, None]
        open_seats = [seat for seat in (0, 1) if not header.bots[seat]]
        self.contributors = open_seats if header.entropy_from_seats else []
        if not header.invited and not self.contributors:
            self._deal(header.secret, 0)
            self.known = list(self.match.since)

    def _deal(self, secret, version):
        header = self.header
        self.match = Match(self.game, secret, header.chance_id, version, self.start)

    def clocked(self):
        if self.control is None or self.match is None or self.over:
            return []
        return [seat for seat in self.match.deciders if not self.header.bots[seat]]

    def deadline(self, seat):
        limits = []
        if self.control.HasField("per_decision"):
            limits.append(self.control.per_decision.ToMilliseconds())
        if self.left[seat] is not None:
            limits.append(self.left[seat])
        return self.since[seat] + min(limits)

    def wrong(self, version, entry):
        """What is wrong with the time of an entry, in a word."""
        deadlines = {seat: self.deadline(seat) for seat in self.clocked()}
        first = min(deadlines.values(), default=None)
        if entry.kind == EntryKind.EXPIRY:
            if first is None or entry.at < first or deadlines.get(entry.seat) != first:
                return f"version {version} says that a time is up which is not"
        elif first is not None and entry.at >= first:
            return f"version {version} was made {entry.at - first} ms after a time was up"
        return ""

    def add(self, version, entry):
        """Plays an entry; returns the events of the engine."""
        header, events = self.header, None
        if entry.kind == EntryKind.TOKEN:
            self.replaced += 1
        elif entry.kind == EntryKind.JOIN:
            self.joined.add(entry.seat)
            if self.joined == set(header.invited) and not self.contributors:
                self._deal(header.secret, version - self.replaced)
                self._restart(entry)
                events = list(self.match.events)
        elif entry.kind == EntryKind.ENTROPY:
            self.entropy[entry.seat] = entry.action
            if set(self.entropy) == set(self.contributors):
                mixed = hashlib.shake_256(b"croupier/entropy/v1\0" + header.secret)
                for seat, data in sorted(self.entropy.items()):
                    mixed.update(bytes([seat, len(data)]) + data)
                self._deal(mixed.digest(32), version - self.replaced)
                self._restart(entry)
                events = list(self.match.events)
        elif entry.kind in (EntryKind.ACTION, EntryKind.EXPIRY) and entry.action:
            number = wire.parse_action(self.game, entry.action)
            if self.left[entry.seat] is not None:
                used = entry.at - self.since[entry.seat]
                increment = self.control.increment.ToMilliseconds()
                self.left[entry.seat] = max(0, self.left[entry.seat] - used) + increment
            self.match = self.match.copy()
            events = list(self.match.apply(entry.seat, number))
            self._restart(entry)
            default = entry.kind == EntryKind.EXPIRY
            self.played[entry.seat] = self.played[entry.seat] + 1 if default else 0
        early = entry.kind in (EntryKind.RESIGNATION, EntryKind.IDLE, EntryKind.DECLINE)
        forfeited = entry.kind == EntryKind.EXPIRY and not entry.action
        ended = self.match is not None and self.match.over
        self.over = self.over or early or forfeited or ended
        return events

    def _restart(self, entry):
        for seat in (0, 1):
            if self.match.since[seat] != self.known[seat]:
                self.known[seat] = self.match.since[seat]
                self.since[seat] = entry.at


def _of_log(table, stored):
    # The log of a match: times, clocks and limits, worked out anew; and the clocks of views.
    state = MatchState.begin(stored.header)
    course = _Course(stored.header, state.game, state.start)
    last = stored.header.created
    times, limit, end = {}, 0, None
    if course.control is not None:
        limit = course.control.max_default_actions
    for version, entry in enumerate(stored.entries, 1):
        if entry.at < last:
            yield f"version {version} is older than the one before"
        idle = endings.wrong_idle(course, entry, last, table.world.end_idle)
        if idle:
            yield idle
        last, end = entry.at, endings.result_after(course, entry)
        wrong = course.wrong(version, entry)
        if wrong:
            yield wrong
        if (
            entry.kind == EntryKind.EXPIRY
            and entry.action
            and limit
            and course.played[entry.seat] >= limit
        ):
            yield f"version {version} is a default action beyond the limit of {limit}"
        if entry.kind == EntryKind.EXPIRY and not entry.action:
            forfeits = course.control.on_expiry != clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
            if not forfeits and not (limit and course.played[entry.seat] >= limit):
                yield f"version {version} ends the match though its seat was not absent"
        course.add(version, entry)
        times[version] = (
            entry.at,
            dict(enumerate(course.left)),
            [(seat, course.deadline(seat)) for seat in course.clocked()],
        )
    if not course.over:
        yield "the log does not have its end"
    views = (game_pb2.View.FromString(data) for _, _, data in _shown(table.history))
    last_views = (view for view in views if view.version == len(stored.entries))
    yield from endings.wrong_results(course, end, last_views)
    for version, seat in sorted(table.decided):
        if stored.entries[version - 1].seat != seat:
            yield f"version {version} says that seat {seat} has decided"
    for _, version, data in _shown(table.history):
        view = game_pb2.View.FromString(data)
        if version not in times or not view.HasField("clocks"):
            continue
        deadlines = dict(times[version][2])
        for clock in view.clocks.seats:
            if clock.HasField("deadline") and clock.deadline.ToMilliseconds() != deadlines.get(
                clock.seat
            ):
                yield f"version {version} shows a wrong deadline for seat {clock.seat}"
    yield from _late(table.world, stored, state)


def _late(world, stored, state):
    # While nothing went wrong, a server may be late by some seconds, and no more.
    quiet = world.quiet_times()
    course = _Course(stored.header, state.game, state.start)
    before = stored.header.created
    for version, entry in enumerate(stored.entries, 1):
        due = None
        if entry.kind == EntryKind.EXPIRY:
            due = min((course.deadline(seat) for seat in course.clocked()), default=None)
        elif entry.kind == EntryKind.ACTION and stored.header.bots[entry.seat]:
            due = before
            since, made = (each / 1000 - world.epoch for each in (before, entry.at))
            for what in world.search.bots.late(stored.header.match_id, since, made):
                yield f"version {version}, a decision of a bot, {what}"
        if due is not None and entry.at - due > 1000 * NEVER_SECONDS:
            yield f"version {version} comes {(entry.at - due) / 1000:.0f} s after it was due"
        if entry.kind == EntryKind.EXPIRY and entry.at - due > 1000 * LATE_SECONDS:
            begin, end = (each / 1000 - world.epoch for each in (due, entry.at))
            if any(first <= begin and end <= last for first, last in quiet):
                yield f"version {version} comes {(entry.at - due) / 1000:.1f} s after it was due"
        course.add(version, entry)
        before = entry.at


def _stored(world, match_id):
    if world.store == "postgresql":
        return (
            world.database.stored(match_id) if match_id in world.database.primary.matches else None
        )
    import sqlite3

    from service.store import sqlite_tables

    connection = sqlite3.connect(world.disk.directory / "croupier.db")
    try:
        return sqlite_tables.read_match(connection, match_id)
    finally:
        connection.close()


def stored_matches(world):
    """All matches of the log."""
    return [_stored(world, match_id) for match_id in world.match_ids()]


async def judge_log(world):
    """The log when all have left: every match is over, or is due, or waits for a seat."""
    world.search.bots.judge()
    ids = world.match_ids()
    now = int(1000 * (world.epoch + world.now))
    live = 0
    for match_id in ids:
        state = MatchState.load(_stored(world, match_id)._replace(snapshot=None))
        header = state.header
        if state.over != (world.ended_at(match_id) is not None):
            world.fail(f"{match_id}: the log is wrong about whether it is over")
        if state.over:
            if world.is_due(match_id):
                world.fail(f"{match_id} is over, and still due")
            continue
        live += bool(header.creator)
        course = _Course(header, state.game, state.start)
        for version, entry in enumerate(state.entries, 1):
            course.add(version, entry)
        waits = course.match is None or course.clocked() or not course.match.deciders
        bots_owe = course.match is not None and any(header.bots[s] for s in course.match.deciders)
        deadline = min((course.deadline(seat) for seat in course.clocked()), default=None)
        if bots_owe and not header.bots[0] * header.bots[1] and now - state.time > 60_000:
            world.fail(f"{match_id} waits for a bot since {(now - state.time) / 1000:.0f} s")
        if deadline is not None and now - deadline > 60_000:
            world.fail(f"{match_id} is not ended, though a time was up long ago")
        idle = world.end_idle * 1.1 + 60  # A sweep comes ten times in the time of an idle match.
        waited = (now - state.time) / 1000
        if deadline is None and not bots_owe and waited > idle and world.is_well(idle):
            world.fail(f"{match_id} has not ended, though nothing has happened for {waited:.0f} s")
        if (deadline is not None or bots_owe) != world.is_due(match_id):
            world.fail(f"{match_id}: the schedule is wrong about whether it is due")
        assert waits is not None
