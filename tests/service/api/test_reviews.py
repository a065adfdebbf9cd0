"""Reviews: each decision is judged by what its seat knew; luck and losses make the result."""

import asyncio
import copy
import random
from types import SimpleNamespace

import grpc
import pytest

import wire
from croupier.v1 import hint_pb2, review_pb2
from engine.model import learned
from service.api import review_service
from service.reviewing.reviews import Kept, Reviewer
from service.reviewing.verdicts import derive, verdict
from tests.support.long_form import LONG_FORM
from tests.support.serving import INVITED, OPEN, Client, bot, play_on, refused, ruleset_of
from wire.errors import Refusal

QUICK = {"iterations": 100, "deep_iterations": 200}


@pytest.fixture(scope="module", params=wire.hosted_games())
def over(request, client):
    """A table at which a match of random actions is over."""
    rng = random.Random(request.param)
    table = client.create(ruleset_of(request.param), (OPEN, OPEN), seed=7)
    play_on(table, rng)
    return table


@pytest.fixture(scope="module")
def chess(client):
    table = client.create(ruleset_of("champion_chess"), (OPEN, OPEN), seed=7)
    play_on(table, random.Random(1))
    return table


def reports_of(stream):
    """The decisions in the order in which they were reported, and the summary."""
    responses = list(stream)
    assert [each.WhichOneof("report") for each in responses[:1]] == [None]
    assert [each.WhichOneof("report") for each in responses[-1:]] == ["summary"]
    return [each.decision for each in responses[1:-1]], responses[-1].summary


def reported(stream):
    """All that a review reports but its progress, as bytes."""
    found = [(each.WhichOneof("report"), each) for each in stream]
    return [
        getattr(each, kind).SerializeToString(deterministic=True) for kind, each in found if kind
    ]


def review_of(client, record, **fields):
    request = review_pb2.ReviewMatchRequest(record=record, **fields)
    return client.reviews.ReviewMatch(request)


@pytest.fixture(scope="module")
def reviewed(over):
    """The decisions and the summary of a review of the match."""
    return reports_of(over.players[1].review(**QUICK))


def test_each_decision_is_judged_and_the_terms_add_up_exactly(over, reviewed):
    record = over.spectator.record()
    made = [(e.version - 1, e.action.seat) for e in record.entries if e.HasField("action")]
    decisions, summary = reviewed
    quick = [each for each in decisions if not each.deep]
    assert [(each.version, each.seat) for each in quick] == made
    last = {(each.version, each.seat): each for each in decisions}
    assert set(last) == set(made)
    # Exactly those that may have lost much are searched again, the worst first.
    deep = [(each.version, each.seat) for each in decisions if each.deep]
    losses = {(each.version, each.seat): each.loss for each in quick}
    deviations = {(each.version, each.seat): each.deviation for each in quick}
    assert deep == sorted(
        (key for key in losses if losses[key] + deviations[key] > 0.03),
        key=lambda key: -losses[key],
    )
    for each in last.values():
        assert 0 <= each.loss <= 1
        assert each.verdict != review_pb2.VERDICT_UNSPECIFIED
        if each.loss:
            assert each.best_action != each.action
            assert each.HasField("hindsight")
        if each.verdict == review_pb2.VERDICT_FORCED:
            assert each.best_action == each.action
        else:
            assert each.action in [one.action for one in each.hint.actions]
            assert each.hint.model == summary.model
    seats = summary.seats
    for seat in (0, 1):
        own = [each for each in last.values() if each.seat == seat]
        assert seats[seat].loss == sum(each.loss for each in own)
        assert sum(each.count for each in seats[seat].verdicts) == len(own)
        for count in seats[seat].verdicts:
            assert count.count == sum(each.verdict == count.verdict for each in own)
    luck = sum(each.luck for each in summary.chance_outcomes)
    assert (seats[0].luck, seats[1].luck) == (luck, -luck)
    # In any order, and to the last digit.
    terms = [summary.start, *(each.luck for each in summary.chance_outcomes)]
    terms += [-seats[0].loss, seats[1].loss, summary.rest]
    random.Random(3).shuffle(terms)
    assert sum(terms) == summary.result.scores[0] - 0.5
    assert summary.result == record.result
    model = learned(wire.hosted_games()[summary.game.removeprefix("games/")]())
    assert summary.model == (model.name if model else "")


def test_a_review_takes_a_bot_for_as_strong_as_it_is(client):
    table = client.create(ruleset_of("skystones"), (OPEN, bot("RANDOM")), seed=7)
    player, chance, views = table.players[0], random.Random(2), {}
    for _ in player.watch():
        view = player.view()
        if 0 in view.deciders and view.version not in views:
            views[view.version] = view
            player.submit(chance.choice(view.legal_actions), view.version)
    decisions, _ = reports_of(player.review(iterations=100, deepen_above=1, seats=[0], seed=3))

    def score(view):
        search = {"view": view, "limits": {"iterations": 100}}
        seed = derive(3, view.version, 0, 100, 1)
        return client.hint_later(**search, seed=seed).result().hint.expected_score

    judged = [each for each in decisions if each.verdict != review_pb2.VERDICT_FORCED]
    of_review = [each.expected_score for each in judged]
    assert of_review == [score(views[each.version]) for each in judged]
    for view in views.values():
        view.players[1].open.SetInParent()
    assert of_review != [score(views[each.version]) for each in judged]


# The short form has one game in which seats decide in turn, and one in which both decide at once.
SOME_GAMES = wire.hosted_games() if LONG_FORM else ("champion_chess", "skystones")


@pytest.mark.parametrize("over", SOME_GAMES, indirect=True)
def test_the_same_review_has_the_same_bytes_from_a_record_and_at_another_server(over, start_client):
    asked = {**QUICK, "seats": [1]}
    here = reported(over.players[0].review(**asked, seed=3))
    record = over.players[0].record()
    assert reported(review_of(start_client(), record, **asked, seed=3)) == here
    assert reported(over.spectator.review(**asked, seed=4)) != here


def test_search_servers_give_the_same_review(servers, start_client, chess):
    _, address = servers.start_search_server(threads=1)
    record = chess.players[0].record()
    asked = {**QUICK, "seed": 3}
    alone = reported(chess.players[0].review(**asked))
    assert reported(review_of(start_client(search_at=address), record, **asked)) == alone


def test_revealed_cards_are_those_that_lay_there(reviewed):
    # Summed up over the hidden places, a seat's own count of the opponent's cards is met.
    decisions, _ = reviewed
    judged = [each for each in decisions if each.verdict != review_pb2.VERDICT_FORCED]
    assert judged
    for each in judged:
        expected = sum(one.belief.expected_copies for one in each.revealed_cards)
        assert sum(one.copies for one in each.revealed_cards) == pytest.approx(expected)


def test_a_running_match_is_not_reviewed_for_anybody(client):
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN))
    for player in table.everyone():
        refusal = refused(lambda player=player: list(player.review(**QUICK)))
        assert refusal[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "MATCH_NOT_OVER")
    stranger = table.players[0]
    stranger.token = ""
    assert refused(lambda: list(stranger.review(**QUICK))).reason == "TOKEN_MISSING"


def test_a_match_that_was_never_dealt_has_nothing_to_judge(client):
    table = client.create(ruleset_of("skystones"), (OPEN, INVITED))
    table.players[0].resign()
    responses = list(table.players[0].review(**QUICK))
    assert [each.WhichOneof("report") for each in responses] == [None, "summary"]
    summary = responses[-1].summary
    assert not summary.chance_outcomes
    assert summary.rest == summary.result.scores[0] - 0.5


@pytest.mark.parametrize("method", ["ReviewMatch", "ReplayMatch"])
def test_a_record_that_is_none_is_refused_with_its_field(client, chess, method):
    whole = chess.players[0].record()
    cut, illegal = copy.deepcopy(whole), copy.deepcopy(whole)
    del cut.entries[len(cut.entries) // 2 :]
    first = next(n for n, each in enumerate(whole.entries) if each.HasField("action"))
    illegal.entries.insert(first + 1, whole.entries[first])  # Decided twice.
    other, early, told, later = (copy.deepcopy(whole) for _ in range(4))
    later.entries[0].time.seconds += 1
    other.result.scores[0] += 0.25
    early.result.reason += 1
    told.result.ending.id = "another"
    for record, field in (
        (cut, "record.entries"),
        (other, "record.result.scores[0]"),
        (early, "record.result.reason"),
        (told, "record.result.ending.id"),
        (later, "record.digest"),
        (illegal, f"record.entries[{first + 1}].action"),
    ):
        request = getattr(review_pb2, f"{method}Request")(record=record)
        refusal = refused(lambda request=request: list(getattr(client.reviews, method)(request)))
        assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
        assert refusal.fields == [field]


def test_few_iterations_are_refused(chess):
    for field in ("iterations", "deep_iterations"):
        refusal = refused(lambda field=field: list(chess.players[0].review(**{field: 99})))
        assert refusal.fields == [field]


def test_a_plan_says_what_a_review_would_take(chess):
    planned = list(chess.players[0].review(validate_only=True))
    assert [each.WhichOneof("report") for each in planned] == [None]
    progress = planned[0].progress
    record = chess.players[0].record()
    assert progress.decisions == sum(each.HasField("action") for each in record.entries)
    assert progress.remaining_search_time.ToNanoseconds() > 0
    assert not progress.search_time.ToNanoseconds()


def test_only_the_seats_and_fields_that_are_asked_for(chess):
    responses = list(
        chess.players[0].review(
            **QUICK, seats=[1], read_mask={"paths": ["decision.verdict", "decision.seat"]}
        )
    )
    found = [each.decision for each in responses if each.HasField("decision")]
    assert found
    for each in found:
        assert {field.name for field, _ in each.ListFields()} <= {"verdict", "seat"}
        assert each.seat == 1
    assert not any(each.HasField("progress") or each.HasField("summary") for each in responses)


def test_a_review_that_is_asked_for_again_goes_on(start_client):
    client = start_client()
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN))
    play_on(table, random.Random(2))
    stream = table.players[0].review(iterations=3000, deepen_above=1)
    begun = []
    for response in stream:
        if response.HasField("decision"):
            begun.append(response.decision)
        if len(begun) == 8:
            stream.cancel()
            break
    again = table.players[0].review(iterations=3000, deepen_above=1)
    known = []
    for response in again:
        if response.HasField("decision"):
            known.append(response.decision)
        if len(known) == len(begun):
            # None of them was searched again.
            assert response.progress.search_time.ToNanoseconds() == 0
            again.cancel()
            break
    assert known == begun


def test_a_server_that_stops_says_so_and_reports_nothing_by_halves(servers, start, monkeypatch):
    server, client = start(allow_seeds=True)
    address = client.address
    table = client.create(ruleset_of("champion_chess"), (OPEN, OPEN), seed=7)
    play_on(table, random.Random(1))
    record = table.players[0].record()
    fields = {"iterations": 1_000, "deepen_above": 1, "seed": 5}
    judged, begun = Reviewer._judged, []

    async def judge_on(self, decision, iterations):
        begun.append(decision)
        # The server stops in the middle of the fourth.
        return await judged(self, decision, iterations if len(begun) <= 3 else 10**8)

    monkeypatch.setattr(Reviewer, "_judged", judge_on)
    stream = table.players[0].review(**fields)
    found = []

    def read():
        for response in stream:
            if response.HasField("decision"):
                found.append(response.decision)
            if len(found) == 3 and not stopping:
                stopping.append(asyncio.run_coroutine_threadsafe(server.stop(1.0), servers.loop))

    stopping = []
    refusal = refused(read)
    assert refusal[:2] == (grpc.StatusCode.UNAVAILABLE, "SHUTTING_DOWN")
    stopping[0].result()
    monkeypatch.undo()
    servers.forget(server)
    client.close()
    other, address = servers.start()
    client = Client(address)
    whole = review_of(client, record, **fields)
    same = (each.decision for each in whole if each.HasField("decision"))
    assert [next(same) for _ in found] == found
    whole.cancel()
    client.close()
    servers.stop(other)


async def test_a_search_that_a_stop_has_cut_short_judges_nothing():
    class Stopping:
        async def report(self, task):
            return hint_pb2.AnalyzePositionResponse(
                hint={"stop_reason": hint_pb2.STOP_REASON_SHUTDOWN}
            )

        async def compute(self, requester, limits, work, charge, game):
            return work(SimpleNamespace(shutting_down=True))

    async def wait():
        """Nobody has to."""

    steps = SimpleNamespace(decisions=[])
    reviewer = Reviewer(steps, b"", None, Stopping(), None, None, Kept(), wait, None)
    task, game = SimpleNamespace(_replace=lambda **_: None), SimpleNamespace(id="")
    for asked in (reviewer.search(task), reviewer.compute(game, None, lambda job: "half")):
        with pytest.raises(Refusal, match="shutting down"):
            await asked


@pytest.mark.parametrize("whose", ["person", "address", "server"])
def test_a_caller_has_at_most_a_few_reviews_at_a_time(start, whose, monkeypatch):
    most = 2
    monkeypatch.setattr(review_service, "MAX_REVIEWS", most if whose == "server" else most + 1)
    few = f"[budgets.{whose}]\nreviews = {most}\n" if whose != "server" else ""
    _, client = start(callers=few, allow_seeds=True)
    table = client.create(ruleset_of("champion_chess"), (OPEN, OPEN), seed=7)
    play_on(table, random.Random(1))
    asked = {"iterations": 1_000_000, "deepen_above": 1}
    streams = [table.players[0].review(**asked, seed=seed) for seed in range(most)]
    for stream in streams:
        next(stream)
    refusal = refused(lambda: next(table.players[0].review(**asked)))
    assert refusal.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    if whose == "server":
        assert refusal.reason == "TOO_MANY_SEARCHES"
    else:
        assert (refusal.metadata["budget"], refusal.metadata["limit"]) == ("reviews", str(most))
    assert refusal.retry_seconds > 0
    # A place is free as soon as a review is cancelled, which the server hears of in a moment.
    streams[0].cancel()
    while True:
        try:
            next(table.players[0].review(**asked, validate_only=True))
            break
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    for stream in streams:
        stream.cancel()


@pytest.mark.parametrize(
    ("loss", "deviation", "expected"),
    [
        (0.0, 0.01, "GOOD"),
        (0.02, 0.014, "GOOD"),
        (0.02, 0.02, "UNCLEAR"),
        (0.045, 0.02, "GOOD"),
        (0.05, 0.02, "INACCURACY"),
        (0.09, 0.045, "UNCLEAR"),
        (0.1, 0.01, "MISTAKE"),
        (0.15, 0.01, "BLUNDER"),
        (0.9, 0.45, "UNCLEAR"),
        (-0.1, 0.01, "GOOD"),
    ],
)
def test_verdicts(loss, deviation, expected):
    assert verdict(loss, deviation) == getattr(review_pb2, f"VERDICT_{expected}")
