"""What must hold, whatever happens: the judges of a world.

They know the API, the log and the engine. They do not ask the code that they judge, where an error
of it could hide: views, clocks and who owes what are worked out anew from the entries of the log.
"""

import hashlib
import math
from collections import defaultdict

import wire
from croupier.v1 import clock_pb2, game_pb2
from engine import games
from engine.game import SPECTATOR
from service.hosting.checking import check_matches
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.hosting.records import verify
from service.store import SqliteStore, chain
from service.store.chain import Damaged
from tests.simulation import endings, shown
from tests.simulation.ahead import is_made_ahead
from tests.simulation.course import Course, course_of, courses, etag_at
from tests.support.history import ASIDE, Decision, observations, violations
from wire.errors import Refusal

MENDED_SECONDS = 10.0  # For which it may be late once the log takes entries again.
LATE_SECONDS = 4.0  # For which a server may be late with what is due, while all is well.
NEVER_SECONDS = 240.0  # So late it never is, whatever goes wrong.
LEASE_MILLISECONDS = 5000
HELD = 5  # Examples that are told.


def check_view(table, view, viewer):
    """What can be seen in a view alone; the rest is judged when the match is over."""
    world = table.world
    seat = view.seat if view.HasField("seat") else SPECTATOR
    if seat != viewer:
        world.fail(f"{table}: viewer {viewer} is shown the view of seat {seat}")
    if view.HasField("decisions_ahead") and seat == SPECTATOR:
        world.fail(f"{table}: a spectator is shown decisions ahead")
    elif seat != SPECTATOR:
        table.ahead.see(view)
    if view.ruleset != table.request.ruleset:
        world.fail(f"{table}: a view has another ruleset than the match")


async def judge_match(table):
    """A match that is over: its history, its record, its views and its clocks."""
    world = table.world
    record = table.record
    if hashlib.sha256(record.secret).digest() != table.secret_hash:
        world.fail(f"{table}: the record has another secret than was announced")
    stored = world.stored(table.name.removeprefix("matches/"))
    if stored is None:
        world.fail(f"{table}: the log does not have it")
    verified = verify(record)
    if verified.version != len(stored.entries) or not verified.over:
        world.fail(f"{table}: the record is not that of the log")
    if table.lost:
        return
    found = [
        *_of_skipping(table, stored),
        *violations(table.history, _decisions(stored)),
        *_of_heartbeats(table, stored),
        *_of_etags(table, stored),
        *_of_reading(stored),
        *_of_snapshots(stored),
        *_of_views(table, stored),
        *_of_log(table, stored),
        *table.ahead.wrong(stored),
    ]
    if found:
        world.fail(f"{table}: {'; '.join(found[:HELD])}")
    world.noted.judge(stored)


def _decisions(stored):
    # The log as `violations` takes it: what clients have decided.
    bots = stored.header.bots
    return [
        Decision(entry.seat, entry.action, is_made_ahead(entry, stored.header))
        if entry.kind == EntryKind.ACTION and not bots[entry.seat]
        else ASIDE
        if entry.kind in (EntryKind.TOKEN, EntryKind.OFFER, EntryKind.ANSWER, EntryKind.RESUME)
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
            if not version or not _is_submitted(stored.entries[version - 1], stream.viewer)
        ]
        versions = [received.version for received in stream.received]
        if versions != (right if stream.ended else right[: len(versions)]):
            yield f"a stream without the actions of seat {stream.viewer} has versions {versions}"
        for received in stream.received:
            part = stream._replace(after=received.version - 1, received=[received], ended=False)
            table.history.streams.append(part)


def _is_submitted(entry, seat):
    return entry[:2] == (EntryKind.ACTION, seat) and entry.request_id != ""


def _of_heartbeats(table, stored):
    # One names what its stream has sent last, or the own actions after it that were left out.
    for viewer, sent, version in table.heartbeats:
        left_out = stored.entries[sent:version] if sent >= 0 else [None]
        own = all(each is not None and _is_submitted(each, viewer) for each in left_out)
        if not sent <= version <= len(stored.entries) or not own:
            yield f"a stream that has sent {sent} says that {version} is the newest version"


def _of_etags(table, stored):
    # A stream tells versions apart as views do, and which of them its seat has made.
    for version, etag, viewer, own in sorted(table.etags):
        if etag != etag_at(stored, version):
            yield f"a stream has the etag {etag} at version {version}"
        elif own != bool(version and _is_submitted(stored.entries[version - 1], viewer)):
            yield f"a stream is wrong about whether viewer {viewer} has made version {version}"


def _of_reading(stored):
    # A server must refuse a log that lacks its end, and one of rules that led elsewhere.
    *entries, last = stored.entries
    if not _is_refused(stored._replace(entries=entries), Damaged):
        yield "a log without its last entry is taken for whole"
    game = MatchState.begin(stored.header).game
    if game.rules_version == games()[game.id].rules_version:
        course = bytes(byte ^ 1 for byte in last.course)
        before = entries[-1].digest if entries else chain.first_digest(stored.header)
        digest = chain.next_digest(before, last, course)
        entries = [*entries, last._replace(course=course, digest=digest)]
        head = stored.head._replace(digest=digest)
        if not _is_refused(stored._replace(entries=entries, head=head), Refusal):
            yield "a log of rules that led elsewhere is played on by those of today"


def _of_snapshots(stored):
    # What is stored of another branch, in which a seat has decided otherwise, changes nothing.
    state = MatchState.begin(stored.header)
    for entry in stored.entries:
        legal = state.match.legal(entry.seat) if entry.kind == EntryKind.ACTION else ()
        for action in (wire.serialize_action(state.game, each) for each in legal):
            if action != entry.action:
                other = state.after(entry._replace(action=action, course=b"", digest=b""))
                forked = stored._replace(snapshot=other.snapshot())
                right = bytes(MatchState.load(stored).dealt())
                if _is_refused(forked, Refusal) or bytes(MatchState.load(forked).dealt()) != right:
                    yield "a snapshot of another branch takes the place of what the log has"
                return
        state = state.after(entry)


def _is_refused(stored, error):
    try:
        MatchState.load(stored)
    except error:
        return True
    return False


def _of_views(table, stored):
    # What somebody was shown is what the log and the engine say, field by field.
    seen = defaultdict(set)
    for what, viewer, version, data in observations(table.history):
        seen[version].add((what, viewer, data))
    for course, entry, happened in courses(stored):
        version = course.version
        for search in table.world.search.bots.searched.pop((stored.header.match_id, version), ()):
            sent = search.view
            right = shown.view(course, sent.seat, etag_at(stored, version))
            if sent.deciders != right.deciders or sent.ruleset != table.request.ruleset:
                yield f"a bot decides in version {version} by other deciders or another ruleset"
            if search.seed != course.seed_of_bot(sent.seat):
                yield f"a bot decides in version {version} by another seed"
        for what, viewer, data in sorted(seen.pop(version, ())):
            if what == "views":
                view = game_pb2.View.FromString(data)
                if wrong := shown.wrong(view, shown.view(course, viewer, etag_at(stored, version))):
                    yield f"version {version} shows viewer {viewer} a wrong {wrong}"
            else:
                right = shown.events(course, entry, happened, viewer)
                if data != b"".join(each.SerializeToString(deterministic=True) for each in right):
                    yield f"version {version} tells viewer {viewer} other events than {right}"
    for version in seen:
        yield f"version {version} was shown, but the log ends before"


def _of_log(table, stored):
    # The log of a match: times, clocks and limits, worked out anew.
    course = Course(stored.header)
    ahead, perhaps_ahead = table.ahead.due(stored)
    limit = 0 if course.control is None else course.control.max_default_actions
    for version, entry in enumerate(stored.entries, 1):
        if entry.at < course.time:
            yield f"version {version} is older than the one before"
        idle = endings.wrong_idle(course, entry, course.time, table.world.end_idle)
        yield from filter(None, (idle, course.wrong(entry)))
        if entry.kind == EntryKind.EXPIRY:
            away = limit and course.played[entry.seat] >= limit
            if entry.action and away:
                yield f"version {version} is a default action beyond the limit of {limit}"
            forfeits = course.control.on_expiry != clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
            if not (entry.action or forfeits or away):
                yield f"version {version} ends the match though its seat was not absent"
        course.add(entry)
        right = {_due(course, ahead=course.version in ahead)}
        if course.version in perhaps_ahead:
            right.add(_due(course, ahead=True))
        due = table.world.log.dues.get(entry.digest)
        if due not in right:
            yield f"version {version} is logged as due at {due}, and not at {right}"
    if not course.over:
        yield "the log does not have its end"
    yield from table.world.search.bots.wrong(stored.header)
    yield from _late(table.world, stored)


def _due(course, *, ahead=False):
    # When a server must act after the newest entry. A lease to decide ends before a deadline.
    deadline = min((course.deadline(seat) for seat in course.clocked()), default=math.inf)
    if course.paused is not None and not course.over:
        return course.pause_end
    if ahead or any(course.header.bots[seat] for seat in course.deciders):
        return min(course.time + LEASE_MILLISECONDS, deadline - 1)
    return None if math.isinf(deadline) else deadline


def _late(world, stored):
    # While nothing went wrong, a server may be late by some seconds, and no more.
    quiet = world.troubles.quiet_times()
    course = Course(stored.header)
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
            mended = world.troubles.mended_after(begin, end)
            if mended is not None and end - mended > MENDED_SECONDS:
                yield f"version {version} comes {end - mended:.1f} s after the log takes it again"
        course.add(entry)
        before = entry.at


def check_match(world, match):
    """A Match, as a list has it or GetMatch, is what the log had at its version."""
    stored = world.stored(match.name.removeprefix("matches/"))
    if match.name.removeprefix("matches/") in world.unreadable:
        return
    if stored is None or match.version > len(stored.entries):
        if match.name not in world.lost:
            world.fail(f"{match.name} is told of at {match.version}, but the log ends before")
        return
    course = course_of(stored, match.version)
    right = shown.match(course)
    if (wrong := shown.wrong(match, right)) and match.name not in world.lost:
        world.fail(f"{match.name} is told of at version {match.version} with a wrong {wrong}")


async def judge_log(world):
    """The log when all have left: every match is over, or is due, or waits for a seat."""
    world.search.bots.judge()
    now = int(1000 * (world.epoch + world.now))
    all_stored = {each.header.match_id: each for each in world.all_stored()}
    due, rematches = world.due(), set()
    for match_id, stored in all_stored.items():
        world.noted.judge(stored)
        header, course = stored.header, course_of(stored)
        if header.rematch_of:
            if header.rematch_of in rematches:
                world.fail(f"matches/{header.rematch_of} has two rematches")
            rematches.add(header.rematch_of)
            _judge_rematch(world, header, all_stored[header.rematch_of].header)
        if course.over != (world.ended_at(match_id) is not None):
            world.fail(f"matches/{match_id}: the log is wrong about whether it is over")
        if course.over:
            if match_id in due:
                world.fail(f"matches/{match_id} is over, and still due")
            continue
        bots_owe = any(header.bots[seat] for seat in course.deciders)
        deadline = min((course.deadline(seat) for seat in course.clocked()), default=None)
        if bots_owe and not header.bots[0] * header.bots[1] and now - course.time > 60_000:
            waited = (now - course.time) / 1000
            world.fail(f"matches/{match_id} waits for a bot since {waited:.0f} s")
        if deadline is not None and now - deadline > 60_000:
            world.fail(f"matches/{match_id} is not ended, though a time was up long ago")
        idle = world.end_idle * 1.1 + 60  # A sweep comes ten times in the time of an idle match.
        waited = (now - course.time) / 1000
        if deadline is None and not bots_owe and waited > idle and world.troubles.is_well(idle):
            world.fail(f"matches/{match_id} has not ended, {waited:.0f} s after its last entry")
        late = deadline is not None and deadline > now + 10_000 and not bots_owe
        if late and due.get(match_id) != deadline:
            world.fail(f"matches/{match_id} is due at {due.get(match_id)}, and not at {deadline}")
        if (deadline is not None or bots_owe) != (match_id in due):
            world.fail(f"matches/{match_id}: the schedule is wrong about whether it is due")
    if world.store == "sqlite":
        await _verify_all(world)


async def _verify_all(world):
    # All that the log tells of its matches, as `croupier verify --data` does it, in a copy.
    copy = world.directory / "copy.db"
    copy.write_bytes(world.disk.back_up())
    store = SqliteStore(copy)
    await store.open_to_check()
    found = await store.check()
    async for each in check_matches(store, world.machines[0].clock):
        found += [f"matches/{each.match_id}: {each.damage}"] if each.damage else []
    await store.close()
    if found:
        world.fail(f"the log is damaged: {'; '.join(found[:HELD])}")


def _judge_rematch(world, header, before):
    # All is as before but for what each match has of its own, and the seats are exchanged.
    asked = before.invited  # Whoever was not invited then is now.
    right = before._replace(
        bots=before.bots[::-1],
        invited=asked and tuple(seat for seat in (0, 1) if not before.bots[1 - seat]),
        key_names=("", "") if asked else before.key_names[::-1],
        display_names=("", "") if asked else before.display_names[::-1],
        rematch_of=before.match_id,
        chance_id=header.match_id,
    )
    own = {*_OWN, *(("key_names", "display_names") if before.erased or header.erased else ())}
    for name in header._fields:
        if name not in own and getattr(header, name) != getattr(right, name):
            world.fail(
                f"matches/{header.match_id}, a rematch, has the {name} {getattr(header, name)}, "
                f"not {getattr(right, name)}"
            )
    if header.secret == before.secret:
        world.fail(f"matches/{header.match_id}, a rematch, is dealt by the secret of the match")


_OWN = ("match_id", "secret", "created", "creator", "salt", "names_hash", "course", "erased")
