"""`croupier review`: reviews records of finished matches, and sums many up by player."""

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from google.protobuf import json_format
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

import wire
from cli import arguments
from cli.arguments import Commands
from cli.verify import add_records, verify_all
from croupier import enums
from croupier.terminal import drawing
from croupier.terminal.review import Review
from croupier.terminal.texts import LANGUAGES, Say, in_language
from croupier.v1 import match_pb2, review_pb2
from lab import workers
from service.api.catalog_service import best, in_all_languages
from service.api.review_service import DEEP_ITERATIONS, DEEPEN_ABOVE, ITERATIONS, MIN_ITERATIONS
from service.hosting.records import digest, write_record
from service.reviewing.alone import review_record
from service.reviewing.reviews import Options

ABOUT = """\
Judges each decision of finished matches by what its seat knew then, and tells luck from
skill. A decision loses what the best action would have scored more. Luck is what chance
dealt, compared with other draws of the same chance.

Prints who erred most where and how lucky they were, the decisions that lost much, what
turned the match, and what made the result, in points of a hundred.
With --json, prints each DecisionReview and MatchReview of the API as a line. With
--summary, prints for each player and part of a match what a decision has lost, and luck,
with intervals of 95 %."""

PARTS = ("opening", "middle", "ending")  # Thirds of the versions of a match.
SURE = 1.96  # Deviations.
WIDTH = 100

OPTIONS = f"""
--iterations N [{ITERATIONS}]
    of each search in the pass over all decisions
--deep-iterations N [{DEEP_ITERATIONS}]
    of each search in the pass over those that may have lost much
--deepen-above LOSS [{DEEPEN_ABOVE}]
    the loss above which, with one deviation, a decision is searched again
--seat 0|1
    judge the decisions of this seat only
--seed N
    of the searches
--all
    print all decisions, not only those that lost much
--json
    print lines of JSON
--summary
    sum up all records by player
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "review",
        help="say where the players of finished matches erred, and how lucky they were",
        description=ABOUT,
        epilog="Exit status: 0, or 1 if a record is not true or cannot be read.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_records(parser)
    whole = arguments.whole(MIN_ITERATIONS, arguments.MAX_ITERATIONS)
    types = {"N": whole, "--seed": arguments.whole(0), "--seat": int, "LOSS": _loss}
    arguments.declare(parser, OPTIONS, types)
    arguments.add_language(parser)
    workers.add_options(parser)
    parser.set_defaults(run=run)


def _loss(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("must be a number from 0 to 1; 1: none is searched again")
    return value


class _Task(NamedTuple):
    record: bytes
    options: Options


class _Found(NamedTuple):
    """The decisions of a match, each as it was judged last, and the summary."""

    decisions: list[bytes]
    summary: bytes


def _review(task: _Task) -> _Found:
    # The messages are serialized, since this runs in another process.
    record = match_pb2.MatchRecord.FromString(task.record)
    decisions: dict[tuple[int, int], bytes] = {}

    def note(report: review_pb2.ReviewMatchResponse) -> None:
        if report.HasField("decision"):
            decision = report.decision
            decisions[decision.version, decision.seat] = decision.SerializeToString()

    summary = review_record(record, task.options, note)
    return _Found(list(decisions.values()), summary.SerializeToString())


def run(chosen: argparse.Namespace) -> int:
    """Reviews the records, and prints what was found."""
    verified, wrong = verify_all(chosen.records)
    records = [write_record(state) for state in verified]
    tasks = [_Task(each.SerializeToString(), _options(chosen, each)) for each in records]
    console = Console(
        width=None if sys.stdout.isatty() else WIDTH, highlight=False, markup=False, emoji=False
    )
    players = Players()
    with workers.in_order(_review, tasks, chosen.workers) as results:
        for number, (record, found) in enumerate(zip(records, results, strict=True), 1):
            decisions = [review_pb2.DecisionReview.FromString(each) for each in found.decisions]
            summary = review_pb2.MatchReview.FromString(found.summary)
            if chosen.summary:
                players.add(record, decisions, summary)
                print(f"{number} of {len(records)}: {record.name}", file=sys.stderr)
            elif chosen.json:
                for message in (*decisions, summary):
                    print(json_format.MessageToJson(message, indent=None))
            else:
                _print(console, record, decisions, summary, chosen)
    if chosen.summary and chosen.json:
        for line in players.lines():
            print(json.dumps(line))
    elif chosen.summary:
        players.print(console, in_language(best(chosen.language, LANGUAGES)))
    return int(wrong)


def _options(chosen: argparse.Namespace, record: match_pb2.MatchRecord) -> Options:
    own = int.from_bytes(digest(record)[:8], "big")
    return Options(
        iterations=chosen.iterations,
        deep_iterations=chosen.deep_iterations,
        deepen_above=chosen.deepen_above,
        seats=frozenset((0, 1) if chosen.seat is None else (chosen.seat,)),
        seed=own if chosen.seed is None else chosen.seed,
    )


# One match


def _print(
    console: Console,
    record: match_pb2.MatchRecord,
    decisions: Iterable[review_pb2.DecisionReview],
    summary: review_pb2.MatchReview,
    chosen: argparse.Namespace,
) -> None:
    catalogs = in_all_languages(wire.read_ruleset(record.ruleset, "ruleset"))
    catalog = catalogs[best(chosen.language, catalogs)]
    review = Review(drawing.find(catalog, chosen.seat or 0, "opponent"))
    for decision in decisions:
        review.add(review_pb2.ReviewMatchResponse(decision=decision))
    review.add(review_pb2.ReviewMatchResponse(summary=summary))
    names = " - ".join(
        f"{title} ({review.say(_player(seat.player))})"
        for title, seat in zip(catalog.seat_titles, summary.seats, strict=True)
    )
    score = "-".join(f"{each:g}" for each in summary.result.scores).replace(".", review.say("."))
    heading = Text(catalog.title, style="bold")
    console.print(heading.append(f", {record.name}: {names}, {score}", style="not bold"))
    console.print(Group(*review.shown(everything=chosen.all), Text()))


def _player(player: match_pb2.SeatConfig) -> str:
    if player.HasField("bot"):
        return enums.words(match_pb2.BotStrength.DESCRIPTOR)[player.bot.strength] + " bot"
    return drawing.printable(player.display_name) or "no name"


# Many matches


class Players:
    """What the players of many matches lost, and how lucky they were."""

    def __init__(self) -> None:
        self._losses: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._scores: dict[str, list[float]] = defaultdict(list)
        self._luck: dict[str, list[float]] = defaultdict(list)

    def add(
        self,
        record: match_pb2.MatchRecord,
        decisions: Iterable[review_pb2.DecisionReview],
        summary: review_pb2.MatchReview,
    ) -> None:
        """Adds a match."""
        names = [_player(seat.player) for seat in summary.seats]
        end = record.entries[-1].version + 1
        for each in decisions:
            if each.verdict != review_pb2.VERDICT_FORCED:
                part = PARTS[min(len(PARTS) * each.version // end, len(PARTS) - 1)]
                for name in (part, "all"):
                    self._losses[names[each.seat], name].append(each.loss)
        for seat, name in enumerate(names):
            self._scores[name] += summary.result.scores[seat : seat + 1]
            self._luck[name].append(summary.seats[seat].luck)

    def lines(self) -> Iterator[dict[str, Any]]:
        """For each player and part of a match: means, and half the width of their intervals."""
        for name in sorted(self._scores):
            for part in ("all", *PARTS):
                losses = self._losses.get((name, part), [])
                yield {
                    "player": name,
                    "part": part,
                    "matches": len(self._scores[name]),
                    "score": _estimate(self._scores[name]),
                    "luck": _estimate(self._luck[name]),
                    "decisions": len(losses),
                    "loss": _estimate(losses),
                }

    def print(self, console: Console, say: Say) -> None:
        """Prints a table, in points of a hundred."""
        headings = ("player", "matches", "score", "luck a match", "part", "decisions")
        table = Table(*map(say, (*headings, "loss a decision")))
        for line in self.lines():
            whole = [""] * 4
            if line["part"] == "all":
                shown = (_shown(line[each], 1, say) for each in ("score", "luck"))
                whole = [say(line["player"]), str(line["matches"]), *shown]
            loss = _shown(line["loss"], 2, say)
            table.add_row(*whole, say(line["part"]), str(line["decisions"]), loss)
        console.print(table)


def _estimate(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    estimate = {"mean": statistics.fmean(values)}
    if len(values) > 1:
        estimate["margin"] = SURE * statistics.stdev(values) / math.sqrt(len(values))
    return estimate


def _shown(estimate: dict[str, float] | None, digits: int, say: Say) -> str:
    if estimate is None:
        return "-"
    shown = " ± ".join(f"{100 * each:.{digits}f}" for each in estimate.values())
    return shown.replace(".", say("."))
