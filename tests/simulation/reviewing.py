"""Those who let a match that is over be reviewed, and what they must be told."""

from collections import Counter

from croupier.v1 import game_pb2, review_pb2
from tests.simulation import shown
from tests.simulation.callers import REVIEW, SEARCH_SECONDS
from tests.simulation.course import courses
from tests.simulation.network import CallError

DEEP_ITERATIONS = 30_000  # Of a review that names none.


async def review(table):
    """Asks for a review of a match that is over, or of its record, which may be wrong."""
    rng = table.rng
    request = review_pb2.ReviewMatchRequest(
        match_name=table.name,
        iterations=100,
        seats=rng.choice(((), (0,), (1,), (0, 1))),
        deepen_above=rng.choice((None, 1.0)),
        deep_iterations=rng.choice((0, 200)),
        seed=rng.choice((None, rng.getrandbits(63))),
        validate_only=rng.random() < 0.1,
    )
    wrong = ""
    if table.record.entries and table.rng.random() < 0.6:
        request.record.CopyFrom(table.record)
        wrong = table.rng.choice(("", "entry"))
        if wrong:
            table.rng.choice(request.record.entries).Clear()
    call = table.client(key="front").begin(
        REVIEW, request, table.spectator_token, 60.0, streams=True
    )
    try:
        wanted = request.seats or (0, 1)
        decided = [each for each in _decided(table.record) if each[1] in wanted]
        number, reviews = len(decided), {}
        for _ in range(table.rng.choice((2, 4, 1000))):
            data = await call.read()
            if wrong:
                table.world.fail(f"{table}: a record with a wrong {wrong} is reviewed")
            if data is None:
                break
            response = review_pb2.ReviewMatchResponse.FromString(data)
            _judge(table, response, decided, request, reviews)
            progress = response.progress
            judged = progress.decisions, progress.decisions_judged
            if judged != (number, number - len(decided)):
                table.world.fail(f"{table}: a review of {number} decisions has {progress}")
            left = progress.remaining_search_time.ToNanoseconds() / 1e9
            if abs(progress.budget_share - left / SEARCH_SECONDS) > 1e-6:
                table.world.fail(f"{table}: a review has the progress {progress}")
    except CallError as error:
        known = ("TOO_MANY_SEARCHES", "STORE_UNAVAILABLE", "BUDGET_EXHAUSTED")
        known = ("INVALID_FIELD",) if wrong else known
        if not error.unanswered and error.reason not in known:
            table.world.fail(f"{table}: a review fails: {error}")
    finally:
        call.cancel()


def _judge(table, response, decided, request, reviews):
    # `decided` has what is still to be reviewed, `reviews` what was found.
    review, summary, wrong = response.decision, response.summary, ""
    if response.HasField("decision"):
        reviews[review.version, review.seat] = review
    if request.validate_only and response.WhichOneof("report"):
        wrong = "report"
    elif review.deep:
        wrong = "depth" if request.deepen_above == 1.0 else ""
    elif response.HasField("decision"):
        told = review.version, review.seat, review.action
        wrong = told != decided.pop(0) and "decision"
    elif response.HasField("summary"):
        table.world.counts["reviews"] += 1
        stored = table.world.stored(table.name.removeprefix("matches/"))
        dealt = next((each.version for each, *_ in courses(stored) if each.match), None)
        parts = [summary.start, summary.rest, *(each.luck for each in summary.chance_outcomes)]
        parts += (each.loss if each.seat else -each.loss for each in summary.seats)
        first = next((each.version for each in summary.chance_outcomes), None)
        wrong = shown.wrong(summary, _summed_up(table, summary, request, reviews.values()))
        if wrong:
            pass
        elif summary.result != table.record.result or decided:
            wrong = "result"
        elif abs(sum(parts) - (summary.result.scores[0] - 0.5)) > 1e-6:
            wrong = "sum"
        elif dealt != first:
            wrong = "deal"
    if wrong:
        table.world.fail(f"{table}: a review has a wrong {wrong}: {response}")


def _summed_up(table, told, request, reviews):
    # What follows from what was asked for and from the reviews of the decisions.
    right = review_pb2.MatchReview()
    right.CopyFrom(told)
    right.name, right.game = table.name, f"games/{table.request.ruleset.WhichOneof('game')}"
    right.result.CopyFrom(table.record.result)
    right.iterations = request.iterations
    right.deep_iterations = request.deep_iterations or DEEP_ITERATIONS
    right.seed = request.seed if request.HasField("seed") else told.seed
    for seat, summed in enumerate(right.seats):
        own = [each for each in reviews if each.seat == seat]
        counts = Counter(each.verdict for each in own)
        summed.seat, summed.loss = seat, sum(each.loss for each in own)
        summed.counted_decisions = len(own) - counts[review_pb2.VERDICT_FORCED]
        for each in summed.verdicts:
            each.count = counts[each.verdict]
        summed.player.CopyFrom(table.record.seats[seat])
    return right


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
