"""What is asked of a match that is over: replays of it, and matches that are played on from it."""

import wire
from croupier.v1 import game_pb2, match_pb2, review_pb2
from engine.game import SPECTATOR
from service.hosting.entries import EntryKind
from service.hosting.records import verify
from service.store import Entry
from tests.simulation import shown
from tests.simulation.clients import new_id
from tests.simulation.course import course_of, courses, etag_at
from tests.simulation.network import CallError
from tests.support.serving import OPEN, bot

REPLAY = "/croupier.v1.ReviewService/ReplayMatch"
REPLAY_SECONDS = 30.0
PASSING = ("TOO_MANY_SEARCHES", "STORE_UNAVAILABLE", "BUDGET_EXHAUSTED", "RULES_CHANGED")


async def replay(table):
    """Compares a replay with what the log and the engine say of each version."""
    rng, world = table.rng, table.world
    stored = world.stored(table.name.removeprefix("matches/"))
    request = review_pb2.ReplayMatchRequest(
        seats=rng.sample((0, 1), rng.randrange(3)),
        spectator=rng.random() < 0.5,
        legal_actions=rng.random() < 0.5,
    )
    happened = []  # By what is tried.
    end, by_record = len(stored.entries), rng.random() < 0.3
    if by_record:
        request.record.CopyFrom(table.record)
    else:
        request.match_name = table.name
    first = rng.choice((-1, rng.randint(0, end)))
    if first >= 0:
        request.after_version = first
    tried = course_of(stored, max(first, 0))
    # Where a time is up, only what the clock demands comes next.
    in_time = all(tried.deadline(seat) > tried.time for seat in tried.clocked())
    if tries := in_time and bool(tried.deciders) and rng.random() < 0.4:
        seat = rng.choice(tried.deciders)
        legal = shown.view(tried, seat, "").legal_actions
        request.tried_actions.add(seat=seat).action.CopyFrom(rng.choice(legal))
    viewers = sorted(request.seats) or ([] if request.spectator else [0, 1])
    viewers += [SPECTATOR] * request.spectator

    def views(course, etag):
        for viewer in viewers:
            view = shown.view(course, viewer, "" if tries or by_record else etag)
            # A record writes the ruleset out, and names no keys.
            view.ruleset.CopyFrom((table.record if by_record else table.request).ruleset)
            for player in view.players if by_record else ():
                player.key_name = ""
            if not request.legal_actions:
                view.ClearField("legal_actions")
            yield view

    if tries:
        action = request.tried_actions[0].action.SerializeToString(deterministic=True)
        happened = tried.add(Entry(EntryKind.ACTION, seat, tried.time, action))
        happened = [
            wire.write_event(tried.game, each, tried.version) for each in happened if each.recorded
        ]
        right = [(tried.version, tried.version, list(views(tried, "")))]
    else:
        right = [
            (course.version, end, list(views(course, etag_at(stored, course.version))))
            for course, *_ in courses(stored)
            if course.version > first
        ]
    call = table.client(key="front", web="").begin(
        REPLAY, request, table.spectator_token, REPLAY_SECONDS, streams=True
    )
    told = []
    try:
        while (data := await call.read()) is not None:
            told.append(review_pb2.ReplayMatchResponse.FromString(data))
    except CallError as error:
        silent = error.code == "DEADLINE_EXCEEDED" and world.troubles.answers(REPLAY_SECONDS)
        if silent or not (error.unanswered or error.reason in PASSING):
            world.fail(f"{table}: a replay fails: {error}")
        return
    finally:
        call.cancel()
    world.counts["replays"] += 1
    if [each[0] for each in right] != [each.version for each in told]:
        world.fail(f"{table}: a replay after {first} has {[each.version for each in told]}")
    for each, (version, last, seen) in zip(told, right, strict=True):
        wrong = [shown.wrong(*pair) for pair in zip(each.views, seen, strict=True)]
        if any(wrong) or each.end_version != last or list(each.events) != happened:
            world.fail(f"{table}: a replay shows version {version} with a wrong {wrong}: {each}")


async def play_on(table):
    """Begins another match at a moment of this one."""
    rng, world = table.rng, table.world
    stored = world.stored(table.name.removeprefix("matches/"))
    version = rng.randint(0, len(stored.entries))
    course, client = course_of(stored, version), table.client()
    request = match_pb2.CreateMatchRequest(
        ruleset=table.request.ruleset,
        seats=rng.choice(((OPEN, OPEN), (OPEN, bot("RANDOM")))),
        request_id=new_id(rng),
    )
    request.start_from.version = version
    by_record = rng.random() < 0.3
    if by_record:
        request.start_from.record.CopyFrom(table.record)
    else:
        request.start_from.match_token = table.spectator_token
    playable = course.match is not None and not course.over and bool(course.match.deciders)
    # Nobody chooses the deal of a match with another person.
    playable = playable and bool(
        not table.request.HasField("seed") or request.seats[1].bot.strength
    )
    try:
        created = await client.call("CreateMatch", request)
    except CallError as error:
        if playable or error.reason != "INVALID_FIELD":
            world.fail(f"{table}: a match played on from version {version} is refused: {error}")
        return
    if not playable:
        world.fail(f"{table}: a match is played on from version {version}")
    table.inhabitants.keyless.add(created.name)
    world.counts["matches played on"] += 1
    token = created.seat_tokens[0].token
    asked = match_pb2.GetViewRequest(name=created.name)
    view = (await client.call("GetView", asked, token)).view
    origin = game_pb2.View(origin={"name": table.name, "version": version}).origin
    origin.logged = not table.request.HasField("seed")
    game = table.request.ruleset.WhichOneof("game")
    before = shown.view(course, 0, "")
    same = view.version or course.match.held or getattr(view, game) == getattr(before, game)
    if view.origin != origin or not same:
        world.fail(f"{table}: what is played on from version {version} is shown as {view}")
    try:
        await client.call("ResignMatch", match_pb2.ResignMatchRequest(name=created.name), token)
    except CallError as error:
        if error.reason != "MATCH_OVER":  # The bot has ended it.
            raise
    asked = match_pb2.GetRecordRequest(name=created.name)
    record = (await client.call("GetRecord", asked, token)).record
    if not verify(record).over:
        world.fail(f"{table}: the record of what was played on from it is {record}")
