"""Whatever leaves the process is the same in pairs of matches that differ in hidden cards only.

Two servers with the same key and the same clock each play one match of a pair. The second match is
another world of the first: it differs in what one seat, the viewer, cannot know. Both are played
from the deal to the end, so that the viewer's view stays the same: the viewer decides alike in
both, and the other seat, whose cards differ, makes a decision that shows the viewer the same. The
chance of the second match is drawn again until it does, too. Where that is impossible, such as when
many cards are drawn, the second match is replaced by another world of the first.

The matches are played over gRPC, and over the web gateway in JSON. Some are played on from a moment
of another match.

All that the viewer and a spectator receive is then compared, byte by byte: responses, streams,
errors with their details and metadata, hints, beliefs, refused records, the debug log and the
metrics. Only durations are left out: those of responses, of the log and of the metrics.

A match with decisions ahead is compared in the same way with one in which each is submitted when it
is due, but for the log and the metrics, which count the calls.
"""

import os
import re
import uuid

import pytest

import wire
from croupier.v1 import clock_pb2, game_pb2, hint_pb2, match_pb2
from engine.game import SPECTATOR
from service.hosting.match_state import MatchState
from service.hosting.records import write_record
from service.hosting.views import write_update
from service.observability.logs import JsonFormatter
from tests.support.leak_pairs import any_decision, counterpart, pair_of_servers, received, shown
from tests.support.logs import logged
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import foretold, random_match, random_moment
from tests.support.serving import as_bytes, hosted_cases, ruleset_of
from tests.support.waiting import FOREVER

PAIRS = int(os.environ.get("TEST_LEAK_PAIRS", "1"))
BLOCK = 6  # Pairs of one test, so that processes share the long form.
SEED = int(os.environ.get("TEST_LEAK_SEED", "1"))
# The share of the versions at which everything is asked.
ASKED = 0.15 if PAIRS > 1 else 0.07
MOST = 10**6 if PAIRS > 1 else 60  # Versions: the short form leaves out the ends of long matches.
LIMITS = hint_pb2.SearchLimits(iterations=30)
HOUR = clock_pb2.TimeControl(per_decision={"seconds": 3600})
TAKEN_BACK = 0.3  # The share of the decisions that are taken back, where they can be.
DURATIONS = re.compile(r'"time": "[^"]+"|"duration_ms": [\d.]+|[\d.]+ ms')


@pytest.fixture
def take_log():
    """Takes the lines of the debug log since the last time, without durations.

    The end of a stream is logged when its client has gone, so the lines of streams are left out.
    """
    with logged(JsonFormatter()) as (lines,):

        def take():
            taken = [DURATIONS.sub("", line) for line in lines if "WatchMatch" not in line]
            lines.clear()
            return taken

        yield take


def asked(world, viewer, version, actions, seed):
    """What one viewer receives when it asks for all there is."""
    client, player = world.client, world.players[viewer]
    match = player.match
    matches, hints = client.matches, client.hints
    calls = [
        (matches.GetMatch, match_pb2.GetMatchRequest(name=match)),
        (matches.GetView, match_pb2.GetViewRequest(name=match)),
        (matches.GetRecord, match_pb2.GetRecordRequest(name=match)),
        (matches.Rematch, match_pb2.RematchRequest(name=match)),
        (matches.WatchMatch, match_pb2.WatchMatchRequest(name=match, after_version=version + 1)),
        (matches.ListMatches, match_pb2.ListMatchesRequest()),
        (
            matches.ContributeEntropy,
            match_pb2.ContributeEntropyRequest(name=match, entropy=bytes(16)),
        ),
    ]
    for number, action in enumerate(actions):
        name = f"illegal {version} {viewer} {number}"
        for expected in (version, version + 1):
            calls.append((matches.SubmitAction, player.request(action, expected, name)))
        calls.append(
            (
                hints.SuggestAction,
                hint_pb2.SuggestActionRequest(
                    search={"match_name": match, "limits": LIMITS, "include_actions": [action]}
                ),
            )
        )
    wanted = {"match_name": match, "limits": LIMITS, "seed": seed, "belief_worlds": 20}
    # Reports at intervals depend on the time; the final one does not.
    reports = {"report_interval": {"seconds": 60}}
    calls += [
        (hints.SuggestAction, hint_pb2.SuggestActionRequest(search=wanted)),
        (hints.AnalyzePosition, hint_pb2.AnalyzePositionRequest(search=wanted, **reports)),
    ]
    return [received(method, request, player) for method, request in calls]


def random_start(game_id, name, rng):
    """A moment of another match, to play on from."""
    source = random_match(game_id, name, rng)
    version, record = random_moment(source, rng).version, write_record(source)
    needed = [each for each in record.entries if not each.HasField("event")][:version]
    del record.entries[:]
    record.entries.extend(needed)
    return match_pb2.StartFrom(record=record, version=version)


def play_pair(pair, take_log, game_id, name, rng, played_on):
    """Play a pair of matches; return how often the second was replaced, and how many versions."""
    first, second = pair
    viewer = rng.randrange(2)
    viewers = (viewer, SPECTATOR)
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(game_id, name),
        seed=rng.getrandbits(63),
        request_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        time_control=HOUR if rng.random() < 0.5 else None,
        start_from=random_start(game_id, name, rng) if played_on else None,
    )
    assert first.create(request) == second.create(request)
    second.turn_into_another_world(first, viewer, rng)
    take_log()
    replaced, turned, taken_back = 0, 0, 0
    actions = []  # Of earlier positions: most are not legal later.
    for world in pair:
        world.watch(viewers)
    while not first.state.over and first.state.version < MOST:
        version = first.state.version
        compare = rng.random() < ASKED
        if compare and actions:
            legal = first.state.match.legal(viewer)
            illegal = [a for a in rng.sample(actions, min(6, len(actions))) if a not in legal][:2]
            messages = [wire.write_action(first.state.game, action) for action in illegal]
            seed = rng.getrandbits(64)
            for each in viewers:
                results, logs = [], []
                for world in pair:
                    results.append(asked(world, each, version, messages, seed))
                    logs.append(take_log())
                assert results[0] == results[1]
                assert logs[0] == logs[1]
                assert logs[0]
        seat = rng.choice(first.state.deciders)
        legal = first.state.match.legal(seat)
        actions = list({*actions, *rng.sample(legal, min(8, len(legal)))})
        action = rng.choice(legal)
        wanted = shown(first.state, seat, action, viewer)
        found = counterpart(second.state, seat, action, wanted, viewer, rng)
        milliseconds = rng.choice((0, 1, 2500))
        for world in pair:
            world.clock.drift(milliseconds)
        shows_the_same = found is not None
        if not shows_the_same:
            for world in pair:
                world.unwatch()
            found = any_decision(second.state, seat, action, wanted, viewer, rng)
            if found is None:
                break
        second.state, choice = found
        answers = []
        for world, chosen in zip(pair, (action, choice), strict=True):
            message = wire.write_action(world.state.game, chosen)
            submit = world.players[seat].request(message, version, f"{version}")
            answers.append(received(world.client.matches.SubmitAction, submit, world.players[seat]))
        assert len(take_log()) == 2
        # What was counted stays, so the short form looks at some of the versions.
        if PAIRS > 1 or compare or first.state.over:
            assert first.metrics() == second.metrics()
        if not shows_the_same:
            replaced += 1
            if first.state.over:
                break
            second.turn_into_another_world(first, viewer, rng)
            turned = first.state.version
            for world in pair:
                world.watch(viewers)
        else:
            if seat == viewer:
                assert answers[0] == answers[1]
            assert first.streamed() == second.streamed()
            assert write_update(first.state) == write_update(second.state)
            if rng.random() < TAKEN_BACK and take_back(pair, viewer, turned, rng):
                taken_back += 1
                take_log()
    for world in pair:
        world.unwatch()
    return replaced, first.state.version, taken_back


def take_back(pair, viewer, turned, rng):
    """Take a decision back in both matches, made since a version; return whether there is one."""
    undo = [[each and each.version for each in world.state.undo] for world in pair]
    # Whether there is one, the viewer sees.
    assert undo[0][viewer] == undo[1][viewer]
    takers = [seat for seat in (0, 1) if undo[0][seat] == undo[1][seat] is not None]
    takers = [seat for seat in takers if undo[0][seat] >= turned]
    if not takers:
        return False
    taker, name = rng.choice(takers), pair[0].players[0].match
    offer = match_pb2.MakeOfferRequest(name=name, kind=game_pb2.OFFER_KIND_TAKEBACK)
    version = pair[0].state.version + 1
    answer = match_pb2.AnswerOfferRequest(name=name, offer_version=version, agree=True)
    for seat, method, request in (taker, "MakeOffer", offer), (1 - taker, "AnswerOffer", answer):
        answers = [
            received(getattr(world.client.matches, method), request, world.players[seat])
            for world in pair
        ]
        assert seat != viewer or answers[0] == answers[1]
        assert pair[0].streamed() == pair[1].streamed()
    assert pair[0].state.version == version + 1
    assert pair[0].state.match.view(viewer) == pair[1].state.match.view(viewer)
    return True


def play_ahead(pair, game_id, rng):
    """Play a match twice, the second time with decisions ahead of one seat.

    Return at how many versions some waited.
    """
    by_hand, kept = pair
    viewer = rng.randrange(2)
    viewers = (viewer, SPECTATOR)
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(game_id),
        seed=rng.getrandbits(63),
        request_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        time_control=HOUR,
    )
    assert by_hand.create(request) == kept.create(request)
    (left, _), ahead, waited = foretold(by_hand.state, rng), 0, 0
    while not by_hand.state.over and by_hand.state.version < MOST:
        version, deciders = by_hand.state.version, by_hand.state.deciders
        due = ahead > 0 and 1 - viewer in deciders
        seat = 1 - viewer if due else rng.choice(deciders)
        if ahead and not due:
            waited += 1
            if rng.random() < ASKED:
                seed = rng.getrandbits(64)
                one, other = (
                    [asked(world, each, version, (), seed) for each in viewers] for world in pair
                )
                assert one == other
        action = left[seat].pop(0)
        answers, streams = [], []
        for world in pair:
            world.clock.drift(0 if due else 1000)
            streams.append([world.players[each].watch(version) for each in viewers])
            submit = world.players[seat].request(action, version, f"{version}")
            if world is kept and due:
                continue
            if world is kept and seat != viewer:
                submit.then_actions.extend(left[seat][: rng.randrange(17)])
                submit.then_unless = game_pb2.THEN_UNLESS_ILLEGAL
                ahead = len(submit.then_actions)
            answers.append(world.players[seat].send(submit))
        if seat == viewer:
            assert answers[0] == answers[1]
        ahead -= due
        for each in zip(*streams, strict=True):
            told = [next(stream) for stream in each]
            # A slow reader gets the newest view alone.
            if not all(response.HasField("view") for response in told):
                for response in told:
                    response.ClearField("view")
            assert told[0].version == version + 1
            assert as_bytes(told[0]) == as_bytes(told[1])
            for stream in each:
                stream.cancel()
    return waited


LISTENERS = ("grpc", "web")
# The short form plays each game through one listener.
OVER_GRPC = ("powershot_soccer", "skystones")
PLAYED = [
    ("grpc" if (game_id in OVER_GRPC) != played_on else "web", game_id, played_on)
    for game_id in wire.hosted_games()
    for played_on in (False, True)
]
ALL = [
    (gateway, game_id, played_on)
    for gateway in LISTENERS
    for game_id in wire.hosted_games()
    for played_on in (False, True)
]


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("gateway", LISTENERS if PAIRS > 1 else LISTENERS[:1])
def test_what_a_seat_decides_ahead_is_told_to_nobody_else(
    servers, tmp_path, game_id, gateway, monkeypatch
):
    # As below: what a client has called itself enters it.
    monkeypatch.setattr(MatchState, "etag", lambda state, version: f"{version:016x}")
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    with note_on_failure(game=game_id, seed=SEED):
        rng = seeded("ahead", SEED, game_id)
        with pair_of_servers(servers, key, gateway) as pair:
            assert play_ahead(pair, game_id, rng)


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("gateway", LISTENERS)
def test_a_spectator_who_waits_is_told_the_same_whatever_has_happened_since(
    servers, tmp_path, game_id, gateway
):
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    delay = 100_000
    with note_on_failure(game=game_id, seed=SEED):
        rng = seeded("delay", SEED, game_id, gateway)
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset_of(game_id),
            seed=rng.getrandbits(63),
            request_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            time_control=HOUR,
            spectator_delay={"seconds": delay // 1000},
        )
        with pair_of_servers(servers, key, gateway) as pair:
            one, other = pair
            assert one.create(request) == other.create(request)
            # At the beginning not even the deal is told; later some versions, and never the last.
            for before in (0, *(rng.randrange(1, 6) for _ in range(2))):
                for _ in range(before):
                    choices = [rng.randrange(10**6)] * 2
                    decide_each(pair, choices)
                told = one.state.version if before else -1
                for world in pair:
                    world.clock.drift(delay if before else 0)
                for _ in range(rng.randrange(1, 5)):
                    decide_each(pair, [rng.randrange(10**6), rng.randrange(10**6)])
                if one.state.over or other.state.over:
                    break
                seen = []
                for world in pair:
                    illegal = [wire.write_action(one.state.game, 0)]
                    player = world.players[SPECTATOR]
                    view = world.client.matches.GetView(
                        match_pb2.GetViewRequest(name=player.match), metadata=player.metadata
                    )
                    assert view.view.version == max(told, 0)
                    seen.append(asked(world, SPECTATOR, 9999, illegal, 5))
                    stream = world.client.matches.WatchMatch(
                        match_pb2.WatchMatchRequest(name=player.match),
                        metadata=player.metadata,
                        timeout=FOREVER,
                    )
                    seen[-1] += [as_bytes(next(stream)) for _ in range(told + 1)]
                    stream.cancel()
                assert seen[0] == seen[1]
                # From here on both are one match again.
                assert one.create(anew := renewed(request, rng)) == other.create(anew)


def decide_each(pair, choices):
    """Lets a seat of each match decide that must: by a number, which may differ."""
    for world, choice in zip(pair, choices, strict=True):
        world.clock.drift(7)
        state = world.state
        if not state.over:
            seat = state.deciders[0]
            legal = state.match.legal(seat)
            action = wire.write_action(state.game, legal[choice % len(legal)])
            world.players[seat].submit(action, state.version, f"{state.version}")


def renewed(request, rng):
    """As a request, for another match."""
    anew = match_pb2.CreateMatchRequest()
    anew.CopyFrom(request)
    anew.request_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    return anew


@pytest.mark.parametrize("first", range(0, PAIRS, BLOCK))
@pytest.mark.parametrize(("gateway", "game_id", "played_on"), ALL if PAIRS > 1 else PLAYED)
def test_pairs_of_matches_tell_the_same(
    servers, tmp_path, take_log, game_id, first, gateway, played_on, monkeypatch
):
    # By design it differs, and tells nothing to those who do not know the secret of the match.
    monkeypatch.setattr(MatchState, "etag", lambda state, version: f"{version:016x}")
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    names = [case.values[1] for case in hosted_cases() if case.values[0] == game_id]
    replaced = versions = taken_back = 0
    numbers = range(first, min(first + BLOCK, PAIRS))
    for number in numbers:
        name = names[number % len(names)] if PAIRS > 1 else "default"
        with note_on_failure(game=game_id, ruleset=name, seed=SEED, pair=number):
            rng = seeded("pairs", SEED, game_id, number, *(["played on"] if played_on else []))
            with pair_of_servers(servers, key, gateway) as pair:
                more = play_pair(pair, take_log, game_id, name, rng, played_on)
            replaced += more[0]
            versions += more[1]
            taken_back += more[2]
    assert replaced < versions or played_on  # A match can be played on from its end.
    counted = f"{len(numbers)} pairs, {versions} versions, replaced {replaced} times"
    kind = "played on" if played_on else "whole"
    what = f"{game_id}, {kind}, over {gateway} from {first}: {counted}, {taken_back} taken back"
    print(f"{what}, seed {SEED}", flush=True)
