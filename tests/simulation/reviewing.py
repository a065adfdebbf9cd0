"""Those who let a match that is over be reviewed, and what they must be told.

Each report is the one that a review by itself, without a server, has of the same record. What is
known without any review is judged besides: which decisions there were, and that the sum is right.
"""

import math
from collections import Counter
from contextlib import aclosing

from croupier.v1 import game_pb2, review_pb2
from engine.model import learned
from service.api.review_service import read_options
from service.common.event_loop import finish_now
from service.hosting.records import digest
from service.observability.metrics import Metrics
from service.reviewing.reviews import Kept, Reviewer
from service.reviewing.steps import reading_steps
from service.searching.options import SearchOptions, open_pools
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import Kind, Requester
from tests.simulation import shown
from tests.simulation.callers import REVIEW, SEARCH_SECONDS
from tests.simulation.course import courses
from tests.simulation.network import CallError

MOMENT, KEY_MOMENTS = 0.03, 5  # The least change that turns a match, and the most that are told.
# What somebody may want of the reports.
MASKS = ((), (), ("progress", "decision"), ("decision.verdict", "decision.hint", "summary"))


async def review(table):
    """Asks for a review of a match that is over, or of its record, which may be wrong."""
    rng = table.rng
    request = review_pb2.ReviewMatchRequest(
        match_name=table.name,
        iterations=100,
        seats=rng.choice(((), (0,), (1,), (0, 1))),
        deepen_above=rng.choice((None, 1.0)),
        deep_iterations=200,
        seed=rng.choice((None, rng.getrandbits(63))),
        validate_only=rng.random() < 0.1,
    )
    wrong = ""
    if table.record.entries and table.rng.random() < 0.6:
        request.record.CopyFrom(table.record)
        wrong = table.rng.choice(("", "entry"))
        if wrong:
            table.rng.choice(request.record.entries).Clear()
    fields = rng.choice(MASKS)
    request.read_mask.paths.extend(fields)
    call = table.client(key="front").begin(
        REVIEW, request, table.spectator_token, 60.0, streams=True
    )
    world, first = table.world, True
    try:
        async with aclosing(_reports(table, request)) as reports:
            for _ in range(table.rng.choice((2, 4, 1000))):
                data, right = await call.read(), await anext(reports, None)
                first = False
                if wrong:
                    world.fail(f"{table}: a record with a wrong {wrong} is reviewed")
                if data is None or right is None:
                    if (data is None) != (right is None):
                        world.fail(f"{table}: a review ends with {right}, not {data}")
                    break
                told = review_pb2.ReviewMatchResponse.FromString(data)
                right = shown.masked(right, fields) if fields else right
                if told.HasField("progress") and right.HasField("progress"):
                    _check_cost(table, told.progress, right.progress)
                if told != right:
                    world.fail(f"{table}: a review tells {told}, not {right}")
                if right.HasField("summary"):
                    world.counts["reviews"] += 1
    except CallError as error:
        known = ("TOO_MANY_SEARCHES", "STORE_UNAVAILABLE", "BUDGET_EXHAUSTED")
        known = ("INVALID_FIELD",) if wrong else known
        silent = first and error.code == "DEADLINE_EXCEEDED" and world.troubles.answers(60.0)
        if silent or not (error.unanswered or error.reason in known):
            world.fail(f"{table}: a review fails: {error}")
    finally:
        call.cancel()


def _check_cost(table, told, right):
    # How long searches take is not known here; what that costs follows from it.
    left = told.remaining_search_time.ToNanoseconds() / 1e9
    if abs(told.budget_share - left / SEARCH_SECONDS) > 1e-6:
        table.world.fail(f"{table}: a review has the progress {told}")
    for each in ("search_time", "remaining_search_time", "budget_share"):
        right.ClearField(each)
        told.ClearField(each)


async def _reports(table, request):
    # What a review is to tell.
    record, requester = table.record, Requester(Kind.HINT, "review")
    steps, metrics = finish_now(reading_steps(record)), Metrics()
    options = read_options(request, digest(record))
    pools = open_pools(SearchOptions(threads=1, max_seconds=0.0), metrics)
    threads = OwnThreads(pools, metrics.tasks)
    model = learned(steps.state.game)
    reviewer = Reviewer(
        *(steps, digest(record), options, Searches(threads), requester, model, Kept(0)),
        _go_on,
        lambda seconds: None,
    )
    decided = [each for each in _decided(record) if each[1] in options.seats]
    found = {}  # What was told of each decision last.
    try:
        yield review_pb2.ReviewMatchResponse(progress={"decisions": len(decided)})
        if request.validate_only:
            return
        async with aclosing(reviewer.reports()) as reports:
            async for report in reports:
                if report.HasField("decision"):
                    found[report.decision.version, report.decision.seat] = report.decision
                if wrong := _wrong(table, report, decided, found.values()):
                    table.world.fail(f"{table}: a review has a wrong {wrong}: {report}")
                yield report
    finally:
        threads.close()


async def _go_on():
    pass


def _wrong(table, report, decided, found):
    # `decided` has what is still to be reviewed, and `found` what was.
    review, summary = report.decision, report.summary
    if report.HasField("decision") and not review.deep:
        return (review.version, review.seat, review.action) != decided.pop(0) and "decision"
    if not report.HasField("summary"):
        return ""
    stored = table.world.stored(table.name.removeprefix("matches/"))
    dealt = next((each.version for each, *_ in courses(stored) if each.match), None)
    parts = [summary.start, summary.rest, *(each.luck for each in summary.chance_outcomes)]
    parts += (each.loss if each.seat else -each.loss for each in summary.seats)
    first = next((each.version for each in summary.chance_outcomes), None)
    if summary.result != table.record.result or decided:
        return "result"
    if abs(sum(parts) - ((*summary.result.scores, 0.5)[0] - 0.5)) > 1e-6:
        return "sum"
    return "deal" if dealt != first else _wrong_seat(summary, found)


def _wrong_seat(summary, found):
    # What is told of a seat follows from its decisions, and from chance.
    chance, forced = summary.chance_outcomes, review_pb2.VERDICT_FORCED
    for each in summary.seats:
        own = [every for every in found if every.seat == each.seat]
        counts = Counter(every.verdict for every in own)
        told = {every.verdict: every.count for every in each.verdicts if every.count}
        right = {
            "loss": sum(every.loss for every in own),
            "loss_deviation": math.hypot(*(every.deviation for every in own)),
            "luck": (1 - 2 * each.seat) * sum(every.luck for every in chance),
            "luck_deviation": math.hypot(*(every.deviation for every in chance)),
            "counted_decisions": len(own) - counts[forced],
        }
        if told != counts or any(abs(getattr(each, name) - right[name]) > 1e-6 for name in right):
            return f"seat {each.seat}, not {right} and {counts}"
    moments = {(each.version, each.luck) for each in chance}
    moments |= {(each.version, (2 * each.seat - 1) * each.loss) for each in found}
    told = [(each.version, each.change) for each in summary.key_moments]
    large = sorted((abs(change) for _, change in moments if abs(change) >= MOMENT), reverse=True)
    right = [abs(change) for _, change in told] == large[:KEY_MOMENTS] and moments >= {*told}
    return "" if right else "key moment"


def _decided(record):
    # The decisions of a record that stand: their versions, seats and actions.
    made = []
    for each in record.entries:
        told = each.offer_answered if each.HasField("offer_answered") else each.offer_made
        if each.HasField("action"):
            made.append((each.version - 1, each.action.seat, each.action.action))
        elif told.kind == game_pb2.OFFER_KIND_TAKEBACK and (
            each.offer_answered.agreed or record.seats[1 - told.seat].HasField("bot")
        ):
            made = [each for each in made if each[0] < told.takeback_version]
    return made
