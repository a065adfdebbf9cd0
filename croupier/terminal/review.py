"""Draws reviews of matches: who erred most where, how lucky they were, and what made the result."""

import math
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from croupier import enums
from croupier.terminal.drawing import Drawing, Rows
from croupier.v1 import review_pb2

VERDICTS = enums.words(review_pb2.Verdict.DESCRIPTOR)
TOLD = (
    review_pb2.VERDICT_INACCURACY,
    review_pb2.VERDICT_MISTAKE,
    review_pb2.VERDICT_BLUNDER,
)


class Review:
    """The drawing of a review, in the language of the game's description, for one of the seats."""

    def __init__(self, draw: Drawing) -> None:
        self.draw = draw
        self.say = draw.say
        self.decisions: dict[tuple[int, int], review_pb2.DecisionReview] = {}
        self.summary = review_pb2.MatchReview()

    def add(self, report: review_pb2.ReviewMatchResponse) -> None:
        """Takes a report; a later one of the same decision counts."""
        if report.HasField("decision"):
            self.decisions[report.decision.version, report.decision.seat] = report.decision
        elif report.HasField("summary"):
            self.summary = report.summary

    def progress(self, at: review_pb2.ReviewProgress) -> str:
        """Says how far the review is."""
        told, done, whole = "{} of {} decisions judged", at.decisions_judged, at.decisions
        if done == whole and at.decisions_to_deepen:
            told = "{} of {} searched longer"
            done, whole = at.decisions_deepened, at.decisions_to_deepen
        left = math.ceil(at.remaining_search_time.ToMilliseconds() / 1000)
        return self.say(told).format(done, whole) + self.say(", about {} s left").format(left)

    def shown(self, *, everything: bool = False) -> Iterator[RenderableType]:
        """Draws what was found; with `everything`, also the decisions that lost little."""
        yield from (self._worst(seat) for seat in self.draw.order)
        yield self._luck()
        listed = [each for _, each in sorted(self.decisions.items())]
        if not everything:
            listed = [each for each in listed if each.verdict in TOLD]
        if listed:
            yield Text()
            yield self._listed(listed)
        if self.summary.key_moments:
            yield Text()
            yield self._heading("What turned the match, in points of a hundred for {}")
            yield self._moments()
        yield Text()
        yield self._heading("What made the result, in points of a hundred for {}")
        yield self._terms()

    def number(self, value: float, deviation: float | None = None, *, sign: str = "+") -> str:
        """Writes a value in points of a hundred, and how far off it may be with 95 %."""
        noise = "" if deviation is None else f" ± {100 * 2 * deviation:.1f}"
        # No "-0.0".
        return f"{round(100 * value, 1) + 0.0:{sign}.1f}{noise}".replace(".", self.say("."))

    def _worst(self, seat: int) -> Text:
        own = [each for each in self.decisions.values() if each.seat == seat]
        worst = max(
            (each for each in own if each.verdict in TOLD), key=lambda each: each.loss, default=None
        )
        if worst is None:
            told = (
                "{who} made no clear error." if own else "The decisions of {who} were not judged."
            )
            return self._sentence(told, seat)
        return self._sentence(
            "{who} erred most in version {version}, for {points} points: better was {action}.",
            seat,
            version=worst.version,
            points=self.number(worst.loss, sign=""),
            action=self.draw.action(worst.best_action),
        )

    def _luck(self) -> Text:
        deal, later = self._chance()
        return self._sentence(
            "Luck was worth {points} points for {who}: {deal} in the deal, {later} later.",
            self.draw.seat,
            points=self.number(self._own(deal.luck + later.luck)),
            deal=self.number(self._own(deal.luck)),
            later=self.number(self._own(later.luck)),
        )

    def _listed(self, decisions: Sequence[review_pb2.DecisionReview]) -> Table:
        table = self._table("version", "seat", "played", "better", "loss", "")
        for each in decisions:
            table.add_row(
                str(each.version),
                self.draw.seat_name(each.seat),
                self.draw.action(each.action),
                self.draw.action(each.best_action) if each.loss else "",
                self.number(each.loss, each.deviation, sign="") if each.loss else "",
                self.say(VERDICTS[each.verdict]),
            )
        return table

    def _moments(self) -> Table:
        table = self._table("version", "", "", "")
        deal = self.summary.chance_outcomes[0].version if self.summary.chance_outcomes else None
        for each in self.summary.key_moments:
            who, what = Text(self.say("chance")), ""
            if each.HasField("seat"):
                who = self.draw.seat_name(each.seat)
                what = self.draw.action(self.decisions[each.version, each.seat].action)
            elif each.version == deal:
                who = Text(self.say("the deal"))
            table.add_row(str(each.version), who, what, self.number(self._own(each.change)))
        return table

    def _terms(self) -> Table:
        table = self._table()
        own = self.summary.seats[self.draw.seat]
        deal, later = self._chance()
        table.add_row(
            self.say("being {}").format(self.draw.seat_title(own.seat)),
            self.number(self._own(self.summary.start)),
        )
        for name, chance in (("luck of the deal", deal), ("luck of later chance", later)):
            table.add_row(self.say(name), self.number(self._own(chance.luck), chance.deviation))
        for seat in self.draw.order:
            lost = self.summary.seats[seat]
            counts = ", ".join(
                f"{each.count} {self.say(VERDICTS[each.verdict])}"
                for each in lost.verdicts
                if each.count
            )
            table.add_row(
                self.say("what {} lost").format(self.draw.seat_title(seat)),
                self.number(-lost.loss if seat == own.seat else lost.loss, lost.loss_deviation),
                counts or self.say("not judged"),
            )
        rest = self.number(self._own(self.summary.rest), self.summary.rest_deviation)
        table.add_row(self.say("the rest"), rest)
        return table

    def _chance(self) -> tuple[review_pb2.ChanceOutcome, review_pb2.ChanceOutcome]:
        # The deal, which is the first outcome, and all others together.
        deal, *later = self.summary.chance_outcomes or [review_pb2.ChanceOutcome()]
        return deal, review_pb2.ChanceOutcome(
            luck=sum(each.luck for each in later),
            deviation=math.hypot(*(each.deviation for each in later)),
        )

    def _own(self, value: float) -> float:
        # A value of seat 0 for the seat that the review is drawn for.
        return -value if self.draw.seat else value

    def _sentence(self, text: str, seat: int, **words: object) -> Text:
        return Text(self.say(text).format(who=self.draw.seat_title(seat), **words))

    def _heading(self, text: str) -> Text:
        title = self.draw.seat_title(self.draw.seat)
        return Text(self.say(text).format(title), style="bold")

    def _table(self, *headings: str) -> Table:
        table = Rows(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        table.show_header = any(headings)
        for heading in headings:
            narrow = heading in ("version", "seat", "loss")
            table.add_column(self.say(heading), no_wrap=narrow, overflow="fold")
        return table
