"""A review without a server, by one thread."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from croupier.v1 import match_pb2, review_pb2
from engine.model import learned
from service.common.event_loop import finish_now
from service.hosting.records import digest
from service.observability.metrics import Metrics
from service.reviewing.reviews import Kept, Options, Reviewer
from service.reviewing.steps import reading_steps
from service.searching.options import SearchOptions, open_pools
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import Kind, Requester


def review_record(
    record: match_pb2.MatchRecord,
    options: Options,
    tell: Callable[[review_pb2.ReviewMatchResponse], object] = lambda report: None,
) -> review_pb2.MatchReview:
    """Reviews a match, and calls `tell` with each report; raises RecordError."""
    return asyncio.run(_review(record, options, tell))


async def _review(
    record: match_pb2.MatchRecord,
    options: Options,
    tell: Callable[[review_pb2.ReviewMatchResponse], object],
) -> review_pb2.MatchReview:
    steps = finish_now(reading_steps(record))
    metrics = Metrics()
    pools = open_pools(SearchOptions(threads=1, max_seconds=0.0), metrics)
    threads = OwnThreads(pools, metrics.tasks)
    reviewer = Reviewer(
        steps,
        digest(record),
        options,
        Searches(threads),
        Requester(Kind.HINT, "review"),
        learned(steps.state.game),
        Kept(0),
        _go_on,
        lambda seconds: None,
    )
    try:
        reports: AsyncGenerator[review_pb2.ReviewMatchResponse, None]
        tell(await reviewer.plan())
        reports = reviewer.reports()
        async for report in reports:
            tell(report)
    finally:
        threads.close()
    return report.summary  # The last report has it.


async def _go_on() -> None:
    pass
