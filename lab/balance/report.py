"""The report of a study: its sentences and tables, as Markdown, as one page, and as JSON lines."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from lab import arena
from lab.balance.figures import EFFECTS, Figure
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
        self.study = study
        self.looked = looked
        self.title = f"Balance of {study.games[0].title}"
        self.figures = [study.figures(arm) for arm in range(len(study.games))]
        changes = study.changes() if len(study.games) > 1 else []
        # Each group has an equal part of the risk.
        groups = Counter(each.group for each in changes)
        self.changes = [
            (each, each.sure(len(groups) * groups[each.group], looked)) for each in changes
        ]
        self.targets = targets
        self.proposal = proposal

    # Sentences

    def sentences(self) -> list[str]:
        """The report in short."""
        if not self.figures[-1]:
            return ["There are too few matches for any figure."]
        said = [*self._changed(), *self._stands_out(), *self._proposed()]
        return said + list(self._told({f.key: f for f in [*self.figures[0], *self.figures[-1]]}))

    def _told(self, of: Mapping[str, Figure]) -> Iterator[str]:
        text = f"The first seat scores {_spread(of['first_seat'])} of 100"
        if "starter" in of:
            text += f"; whoever decides alone first scores {_spread(of['starter'])}"
        yield f"{text}; {_spread(of['draws'])} % are draws."
        yield (
            f"A match has {_spread(of['turns'])} turns with {of['decisions'].estimate:.0f} "
            f"decisions, {of['forced'].estimate:.0f} % of them without a choice. It takes people "
            f"about {of['minutes'].estimate:.0f} minutes, at {THINKING:.0f} s for each choice."
        )
        yield (
            f"The lead changes {_spread(of['leads'])} times, and a match is decided after "
            f"{of['decided'].estimate:.0f} % of it."
        )
        if "luck_deal" in of:
            yield (
                f"Of the result, the luck of the deal makes {_spread(of['luck_deal'])} %, later "
                f"luck {_spread(of['luck_later'])} %, decisions and what was hidden "
                f"{_spread(of['luck_none'])} %."
            )
        if "stronger" in of:
            settings = self.study.settings
            yield f"{settings.stronger} scores {_spread(of['stronger'])} against {settings.player}."

    def _changed(self) -> Iterator[str]:
        if self.changes and self.proposal is None:
            yield f"B has {', '.join(differences(*self.study.games)) or 'an equal ruleset'}."
        # The cause before what follows from it: cards, by how much surely, then what is no card.
        sure = sorted((each for each in self.changes if each[1] > 0), key=lambda each: -each[1])
        told: dict[str, list[str]] = {}
        for change, _ in sure:
            spread = f"{_spread(change, self.looked, '+')} {change.unit}"
            if change.group in COLUMNS:
                told.setdefault(change.title, []).append(f"{COLUMNS[change.group]} {spread}")
        others = [each for group in GROUPS for each, _ in sure if each.group == group]
        told |= {each.title: [f"{_spread(each, self.looked, '+')} {each.unit}"] for each in others}
        for name, texts in list(told.items())[:MOST_CHANGES]:
            yield f"Changed: {name}: {'; '.join(texts)}."
        if self.changes and not told:
            yield "Nothing has surely changed."

    def _stands_out(self) -> Iterator[str]:
        found = findings(self.figures[-1], self.targets)
        for figure, target in found:
            more = "more" if figure.estimate > target.high else "less"
            text = f"{_named(figure)}: {_spread(figure)} {figure.unit}"
            yield f"Stands out: {text}, {more} than {target.low:g} to {target.high:g}."
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

    # Tables

    def markdown(self, plots: bool = False) -> str:
        """The whole report. The plots, which need Matplotlib, are SVG in between."""
        drawn, of_b = (
            self._plots() if plots and self.figures[-1] else {},
            " of B" if self.changes else "",
        )
        parts = [f"# {self.title}", "## In short", _list(self.sentences())]
        if self.changes:
            parts += ["## A against B", *self._differences()]
        for group, title in GROUPS.items():
            of_group = [each for each in self.figures[-1] if each.group == group]
            if of_group:
                rows = [(each.title, _spread(each), each.unit) for each in of_group]
                parts += [
                    f"## {title}{of_b}",
                    *drawn.get(group, ()),
                    _table(("", "95 %", ""), rows),
                ]
        cards = self._cards()
        if cards:
            parts += [f"## Cards{of_b}", CARDS, *drawn.get("cards", ()), cards]
        default = arena.game_of(self.study.settings.game_id)
        rulesets = [", ".join(differences(default, each)) or "default" for each in self.study.games]
        said = {"matches": f"{self.study.count:,}", "rulesets": "; ".join(rulesets)}
        told = _list(f"{key}: {value}" for key, value in (self.study.provenance | said).items())
        return "\n\n".join([*parts, "## Where this comes from", CAUTION, told]) + "\n"

    def _differences(self) -> tuple[str, str]:
        hold = "hold however often somebody looks" if self.looked else "are of 95 %"
        same, count = self.study.same_deals(), self.study.count
        text = DIFFERENCES.format(hold=hold, same=same, count=count)
        before = {each.key: each.estimate for each in self.figures[0]}
        rows = []
        for change, sure in self.changes:
            if change.group in GROUPS or sure > 0:
                first = before[change.key]
                ends = (f"{value:.1f}" for value in (first, first + change.estimate))
                shown = _spread(change, self.looked, "+") + (" *" if sure > 0 else "")
                rows.append((_named(change), *ends, shown, change.unit))
        return text, _table(("", "A", "B", "B less A", ""), rows)

    def _cards(self) -> str:
        by_card: dict[str, dict[str, str]] = {}
        for figure in self.figures[-1]:
            if figure.group in COLUMNS:
                _, low, high = figure.interval()
                shown = _spread(figure, sign="+") + (" *" if low > 0 or high < 0 else "")
                if figure.unit == "%":
                    shown = f"{_spread(figure)} %"
                by_card.setdefault(figure.title, {})[figure.group] = shown
        names = [name for name in COLUMNS if any(name in each for each in by_card.values())]
        rows = [
            (title, *(found.get(name, "-") for name in names)) for title, found in by_card.items()
        ]
        return _table(("", *(COLUMNS[name] for name in names)), rows) if rows else ""

    def _plots(self) -> dict[str, list[str]]:
        from lab.balance import plots

        arms = [self.study.of(arm) for arm in range(len(self.study.games))]
        opening = [each for each in self.figures[-1] if each.group == "opening"]
        opening.sort(key=lambda each: each.estimate)
        rows = [(each.title, each.interval()) for each in opening]
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
        arms = [(str(arm), each, False) for arm, all_ in enumerate(self.figures) for each in all_]
        changes = [("B less A", each, self.looked) for each, _ in self.changes]
        for arm, figure, looked in arms + changes:
            named = {"arm": arm, "group": figure.group, "key": figure.key, "title": figure.title}
            interval = figure.interval(looked)._asdict().items()
            ends = {name: value if math.isfinite(value) else None for name, value in interval}
            yield named | {"unit": figure.unit} | ends


def _spread(figure: Figure, looked: bool = False, sign: str = "") -> str:
    estimate, low, _ = figure.interval(looked)
    return f"{estimate:{sign}.1f} ± {estimate - low:.1f}".replace("-", "−")


def _named(figure: Figure) -> str:
    words = COLUMNS.get(figure.group)
    return f"{figure.title}, {words}" if words else figure.title


def _list(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    line = ["---", *("---:" if name else "---" for name in head[1:])]
    escaped = [[cell.replace("|", "\\|").replace("*", "\\*") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, line, *escaped])
