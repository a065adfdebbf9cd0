"""The report of a study: its sentences and tables, as Markdown, as one page, and as JSON lines."""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from markdown_it import MarkdownIt

from lab import arena
from lab.balance.figures import ALARM, EFFECTS, Figure
from lab.balance.matches import THINKING
from lab.balance.rulesets import differences
from lab.balance.study import Study
from lab.balance.targets import Proposal, Target, findings

GROUPS = {
    "fairness": "Fairness",
    "course": "Course and length",
    "luck": "Luck and decisions",
    "endings": "Endings",
}
COLUMNS = EFFECTS | {"use": "played when it could be"}
# What is told in short, of the figures that there are.
TOLD = (
    "The first seat scores {first_seat} of 100; {draws} % are draws.",
    "Whoever decides alone first scores {starter} of 100.",
    "A match has {turns} turns with {decisions} decisions, {forced} % of them without a choice. It "
    f"takes people {{minutes}} minutes, at {THINKING:.0f} s for each choice.",
    "The lead changes {leads} times, and a match is decided after {decided} % of it.",
    "Of the result, the luck of the deal makes {luck_deal} %, later luck {luck_later} %, decisions "
    "and what was hidden {luck_none} %.",
    "{who} scores {stronger} against {whom}.",
)
BEST = {
    "held": "{} is worth most: one more ever in hand adds {} points.",
    "use": "{} is played most readily: in {} % of the decisions in which it could be.",
}
MOST_CHANGES = 12  # That are told in a sentence each.
PAGE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
DIFFERENCES = (
    "The intervals of differences {hold}. A star marks what has surely changed: at most one report "
    "in a hundred has a star by chance. Both were played on the same seeds; {same:,} of {count:,} "
    "deals gave the same opening hands. In the plots A is blue and B is orange."
)
CARDS = (
    "Points of a hundred that one more copy adds, against an average card in its place, corrected "
    "for the other cards by a regression. The intervals hold for all cards together. What is held "
    "late, played or left is not drawn by chance alone: who wins has played more. A star marks "
    "what is surely not 0."
)
CAUTION = (
    "Bots play these matches. They do not tire, hope or bluff for fun, and they see at once what "
    "takes people a while: a figure says what the rules do, not how it feels."
)


class Report:
    """What is to be said of a study."""

    def __init__(
        self,
        study: Study,
        targets: Sequence[Target],
        looked: bool = False,
        proposal: Proposal | None = None,
    ) -> None:
        """`looked`: differences were looked at as they came, so that their intervals are wider."""
        self.study, self.targets, self.proposal, self.looked = study, targets, proposal, looked
        self.title = f"Balance of {study.games[0].title}"
        self.figures = [study.figures(arm) for arm in range(len(study.games))]
        changes = study.changes(looked) if len(study.games) > 1 else []
        # Each group has an equal part of the risk.
        groups = Counter(each.group for each in changes)
        self.changes = [(each, each.sure(len(groups) * groups[each.group])) for each in changes]

    # Sentences

    def sentences(self) -> list[str]:
        """The report in short."""
        if not self.figures[-1]:
            return ["There are too few matches for any figure."]
        return [*self._changed(), *self._stands_out(), *self._proposed(), *self._told()]

    def _told(self) -> Iterator[str]:
        said = {"who": self.study.settings.stronger, "whom": self.study.settings.player}
        said |= {each.key: _spread(each) for all_ in self.figures for each in all_}
        for text in TOLD:
            with contextlib.suppress(KeyError):
                yield text.format_map(said)

    def _changed(self) -> Iterator[str]:
        if self.changes and self.proposal is None:
            yield f"B has {', '.join(differences(*self.study.games)) or 'an equal ruleset'}."
        # The cause before what follows from it: cards, by how much surely, then what is no card.
        order, told = list(GROUPS), dict[str, list[str]]()
        sure = sorted((each for each in self.changes if each[1] > 0), key=lambda each: -each[1])
        sure.sort(key=lambda each: order.index(each[0].group) if each[0].group in order else -1)
        for change, _ in sure:
            text = f"{_spread(change, '+')} {change.unit}"
            told.setdefault(change.title, []).append(" ".join([*_column(change), text]))
        for name, texts in list(told.items())[:MOST_CHANGES]:
            yield f"Changed: {name}: {'; '.join(texts)}."
        if self.changes and not told:
            yield "Nothing has surely changed."

    def _stands_out(self) -> Iterator[str]:
        found = findings(self.figures[-1], self.targets)
        for figure, target in found:
            more = "more" if figure.estimate > target.high else "less"
            named = ", ".join([figure.title, *_column(figure)])
            text = f"{named}: {_spread(figure)} {figure.unit}"
            yield f"Stands out: {text}, {more} than {target.low:g} to {target.high:g}."
        for group, text in BEST.items():
            cards = [each for each in self.figures[-1] if each.group == group]
            best = max(cards, key=lambda each: each.estimate, default=None)
            usual = fmean(each.estimate for each in cards) if cards else 0.0
            if best and best.estimate - best.half(ALARM / len(cards)) > usual:
                yield text.format(best.title, _spread(best, "+"))
        if not found:
            texts = ", ".join(f"{each.key} {each.low:g} to {each.high:g}" for each in self.targets)
            yield f"Nothing is surely outside of its target ({texts})."

    def _proposed(self) -> Iterator[str]:
        if self.proposal is not None:
            _, left, tried, study = self.proposal
            texts = ", ".join(differences(study.games[0], study.games[-1]))
            yield (
                f"Proposed: {texts or 'no change'}. {'Not all' if left else 'All'} targets hold "
                f"then, as far as so many matches tell; {tried} rulesets were played."
            )

    # Tables and plots

    def markdown(self, plots: bool = False) -> str:
        """The whole report. The plots, which need Matplotlib, are SVG in between."""
        return "\n\n".join(self._blocks(self._plots() if plots and self.figures[-1] else {})) + "\n"

    def _blocks(self, drawn: Mapping[str, Sequence[str]]) -> Iterator[str]:
        yield f"# {self.title}"
        yield "## In short"
        yield _list(self.sentences())
        if self.changes:
            yield "## A against B"
            hold = "hold however often somebody looks" if self.looked else "are of 95 %"
            same = self.study.same_deals()
            yield DIFFERENCES.format(hold=hold, same=same, count=self.study.count)
            yield _table(("", "A", "B", "B less A", ""), self._differences())
        of_b = " of B" if self.changes else ""
        for group, title in GROUPS.items():
            rows = [(f.title, _spread(f), f.unit) for f in self.figures[-1] if f.group == group]
            if rows:
                yield f"## {title}{of_b}"
                yield from drawn.get(group, ())
                yield _table(("", "95 %", ""), rows)
        cards: dict[str, dict[str, str]] = {}
        for figure in self.figures[-1]:
            if figure.group in COLUMNS:
                _, low, high = figure.interval
                effect = _spread(figure, "+") + " *" * (low > 0 or high < 0)
                shown = f"{_spread(figure)} %" if figure.unit == "%" else effect
                cards.setdefault(figure.title, dict.fromkeys(COLUMNS, "-"))[figure.group] = shown
        if cards:
            yield f"## Cards{of_b}"
            yield CARDS
            yield from drawn.get("cards", ())
            cells = [(title, *by_group.values()) for title, by_group in cards.items()]
            yield _table(("", *COLUMNS.values()), cells)
        yield "## Where this comes from"
        yield CAUTION
        default = arena.game_of(self.study.settings.game_id)
        rulesets = [", ".join(differences(default, each)) or "default" for each in self.study.games]
        said = {"matches": f"{self.study.count:,}", "rulesets": "; ".join(rulesets)}
        yield _list(f"{key}: {value}" for key, value in (self.study.provenance | said).items())

    def _differences(self) -> Iterator[Sequence[str]]:
        before = {each.key: each.estimate for each in self.figures[0]}
        for change, sure in self.changes:
            if change.group in GROUPS or sure > 0:
                first, shown = before[change.key], _spread(change, "+")
                named = ", ".join([change.title, *_column(change)])
                ends = f"{first:.1f}", f"{first + change.estimate:.1f}"
                yield named, *ends, shown + " *" * (sure > 0), change.unit

    def _plots(self) -> dict[str, list[str]]:
        from lab.balance import plots

        arms = [self.study.of(arm) for arm in range(len(self.study.games))]
        opening = [each for each in self.figures[-1] if each.group == "opening"]
        opening.sort(key=lambda each: each.estimate)
        rows = [(each.title, each.interval) for each in opening]
        title = f"points of one more copy {EFFECTS['opening']}"
        return {
            "course": [plots.course(arms), *plots.lengths(arms)],
            "cards": [plots.intervals(rows, title)] if rows else [],
        }

    # Files

    def write(self, folder: Path, plots: bool) -> list[Path]:
        """Writes figures.jsonl, report.md and report.html; returns the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        body = MarkdownIt("commonmark").enable("table").render(self.markdown(plots))
        files = {
            "figures.jsonl": "".join(json.dumps(each) + "\n" for each in self.documents()),
            "report.md": self.markdown(),
            "report.html": PAGE.replace("{title}", escape(self.title)).replace("{body}", body),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in files]

    def documents(self) -> Iterator[dict[str, Any]]:
        """What the report depends on, then each figure, as JSON."""
        yield {**self.study.provenance, "matches": self.study.count, "said": self.sentences()}
        arms = [(str(arm), each) for arm, all_ in enumerate(self.figures) for each in all_]
        for arm, figure in arms + [("B less A", each) for each, _ in self.changes]:
            named = {name: getattr(figure, name) for name in ("group", "key", "title", "unit")}
            ends = figure.interval._asdict().items()
            found = {name: value if math.isfinite(value) else None for name, value in ends}
            yield {"arm": arm} | named | found


def _spread(figure: Figure, sign: str = "") -> str:
    estimate, low, _ = figure.interval
    return f"{estimate:{sign}.1f} ± {estimate - low:.1f}".replace("-", "−")


def _column(figure: Figure) -> list[str]:
    return [COLUMNS[figure.group]] if figure.group in COLUMNS else []


def _list(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    line = ["---", *("---:" if name else "---" for name in head[1:])]
    escaped = [[cell.replace("|", "\\|").replace("*", "\\*") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, line, *escaped])
