"""The report of a study: its sentences and tables, as Markdown, as one page, and as JSON lines."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from lab.balance.figures import EFFECTS, Figure
from lab.balance.matches import THINKING
from lab.balance.rulesets import differences
from lab.balance.study import Study, same_deals
from lab.balance.targets import Proposal, Target, findings
from lab.elo import Interval

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
    "The intervals of differences {hold}. Both were played on the same seeds; {same:,} of "
    "{count:,} deals gave the same opening hands. In the plots A is blue and B is orange."
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
        self.arms = [study.of(arm) for arm in range(len(study.games))]
        self.figures = [study.figures(arm) for arm in range(len(study.games))]
        self.changes = study.changes() if len(study.games) > 1 else []
        self.findings = findings(self.figures[-1], targets)
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
        yield f"{text}. {_spread(of['draws'])} % are draws."
        yield (
            f"A match has {_spread(of['turns'])} turns with {of['decisions'].estimate:.0f} "
            f"decisions, {of['forced'].estimate:.0f} % of them without a choice. It takes people "
            f"about {of['minutes'].estimate:.0f} minutes, at {THINKING:.0f} s for each choice."
        )
        yield (
            f"The lead changes {_spread(of['leads'])} times, a match is decided after "
            f"{of['decided'].estimate:.0f} % of it, and {of['comeback'].estimate:.0f} % are won by "
            "a seat that had expected less than 25."
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

    def _stands_out(self) -> Iterator[str]:
        for figure, target, _ in self.findings:
            more = "more" if figure.estimate > target.high else "less"
            text = f"{_named(figure)}: {_spread(figure)} {figure.unit}"
            yield f"Stands out: {text}, {more} than {target.low:g} to {target.high:g}."
        if not self.findings:
            texts = ", ".join(f"{each.key} {each.low:g} to {each.high:g}" for each in self.targets)
            yield f"Nothing is surely outside of its target ({texts})."

    def _changed(self) -> Iterator[str]:
        sure = sorted(self.changes, key=lambda each: -self._certainty(each))
        for change in [each for each in sure if self._certainty(each) > 1][:MOST_CHANGES]:
            spread = _spread(change, self.looked, "+")
            yield f"Changed: {_named(change)} {spread} {change.unit}."
        if sure and self._certainty(sure[0]) <= 1:
            yield "Nothing has surely changed."

    def _certainty(self, change: Figure) -> float:
        half = _half(change.interval(self.looked))
        return abs(change.estimate) / half if half else math.inf if change.estimate else 0.0

    def _proposed(self) -> Iterator[str]:
        found = self.proposal
        if found is not None:
            texts = ", ".join(f"{each.path} {each.before} → {each.after}" for each in found.changes)
            all_ = "Not all" if found.findings else "All"
            yield (
                f"Proposed: {texts or 'no change'}. {all_} targets hold then, as far as so many "
                f"matches tell; {found.tried} rulesets were played."
            )

    # Tables

    def markdown(self, plots: bool = False) -> str:
        """The whole report. The plots, which need Matplotlib, are SVG in between."""
        parts = [f"# {self.title}", "## In short", "\n".join(f"- {x}" for x in self.sentences())]
        if self.changes:
            parts += ["## A against B", *self._differences()]
        for group, title in GROUPS.items():
            rows = [figure for figure in self.figures[-1] if figure.group == group]
            if rows:
                table = [(each.title, _spread(each), each.unit) for each in rows]
                parts += [
                    f"## {title}",
                    *self._plots(group, plots),
                    _table(("", "95 %", ""), table),
                ]
        cards = self._cards()
        if cards:
            parts += ["## Cards", CARDS, *self._plots("cards", plots), cards]
        origin = [("matches", f"{self.study.count:,} of each ruleset")]
        for name, value in self.study.provenance.items():
            origin.append((name, value if isinstance(value, str) else json.dumps(value)))
        parts += ["## Where this comes from", CAUTION, _table(("", ""), origin)]
        return "\n\n".join(parts) + "\n"

    def _differences(self) -> tuple[str, str]:
        changed = ", ".join(differences(*self.study.games)) or "an equal ruleset"
        hold = "hold however often somebody looks" if self.looked else "are of 95 %"
        same, count = same_deals(*self.arms), len(self.arms[0])
        text = f"B has {changed}. {DIFFERENCES.format(hold=hold, same=same, count=count)}"
        before = {each.key: each.estimate for each in self.figures[0]}
        rows = []
        for change in self.changes:
            if change.group in GROUPS or self._certainty(change) > 1:
                first = before[change.key]
                ends = (f"{value:.1f}" for value in (first, first + change.estimate))
                shown = _spread(change, self.looked, "+") + _star(change, self.looked)
                rows.append((_named(change), *ends, shown, change.unit))
        return text, _table(("", "A", "B", "B less A", ""), rows)

    def _cards(self) -> str:
        by_card: dict[str, dict[str, Figure]] = {}
        for figure in self.figures[-1]:
            if figure.group in COLUMNS:
                by_card.setdefault(figure.title, {})[figure.group] = figure
        names = [name for name in COLUMNS if any(name in each for each in by_card.values())]
        rows = [
            (title, *(_cell(found.get(name)) for name in names)) for title, found in by_card.items()
        ]
        return _table(("", *(COLUMNS[name] for name in names)), rows) if rows else ""

    def _plots(self, group: str, wanted: bool) -> Iterator[str]:
        if not wanted:
            return
        from lab.balance import plots

        if group == "course":
            yield plots.course(self.arms)
            yield plots.lengths(self.arms)
        for name in ("opening", "held") if group == "cards" else ():
            found = [each for each in self.figures[-1] if each.group == name]
            found.sort(key=lambda each: -each.estimate)
            if found:
                rows = [(each.title, each.interval()) for each in found]
                yield plots.intervals(rows, f"points of one more copy {EFFECTS[name]}")

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
        changes = [("B less A", each, self.looked) for each in self.changes]
        for arm, figure, looked in arms + changes:
            named = {"arm": arm, "group": figure.group, "key": figure.key, "title": figure.title}
            interval = figure.interval(looked)._asdict().items()
            ends = {name: value if math.isfinite(value) else None for name, value in interval}
            yield named | {"unit": figure.unit} | ends


def _half(interval: Interval) -> float:
    return interval.estimate - interval.low


def _spread(figure: Figure, looked: bool = False, sign: str = "") -> str:
    interval = figure.interval(looked)
    return f"{interval.estimate:{sign}.1f} ± {_half(interval):.1f}"


def _star(figure: Figure, looked: bool = False) -> str:
    interval = figure.interval(looked)
    return " *" if interval.low > 0 or interval.high < 0 else ""


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    return (
        _spread(figure) + " %" if figure.unit == "%" else _spread(figure, sign="+") + _star(figure)
    )


def _named(figure: Figure) -> str:
    words = COLUMNS.get(figure.group)
    return f"{figure.title}, {words}" if words else figure.title


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    line = ["---", *("---:" if name or len(head) < 3 else "---" for name in head[1:])]
    escaped = [[cell.replace("|", "\\|").replace("*", "\\*") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, line, *escaped])
