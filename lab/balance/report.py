"""The report of a study: its sentences and tables, as Markdown, as one page, and as JSON lines."""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from croupier.files import write_whole
from lab import arena
from lab.balance.figures import ALARM, EFFECTS, Figure
from lab.balance.matches import THINKING
from lab.balance.study import Study
from lab.balance.targets import CARDS, Proposal, Target, findings
from lab.rulesets import differences

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
    "opening": "{} is worth most: dealing one more adds {} points.",
    "drawn": "{} is worth most: drawing one more later adds {} points.",
    "use": "{} is played most readily: in {} % of the decisions in which it could be.",
}
MOST_CHANGES = 12  # That are told in a sentence each.
PAGE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
DIFFERENCES = (
    "{same:,} of {count:,} deals gave A and B the same opening hands. The intervals of differences "
    "{hold}. What has surely changed is bold: at most one report in a hundred has some by "
    "chance. In the plots A is blue and B is orange."
)
OF_CARDS = (
    "Points of a hundred that one more copy adds, against an average card in its place, by a "
    "regression on all cards; the intervals hold for all cards together. What is dealt or drawn is "
    "told by its luck, in playouts, the rest by results: who wins has played more. Bold: not 0."
)
CAUTION = (
    "Bots play these matches. They do not tire, hope or bluff for fun, and see at once what takes "
    "people a while: a figure says what the rules do, not how it feels."
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
        self.study, self.targets, self.proposal = study, targets, proposal
        self.title = f"Balance of {study.games[0].title}: {study.count:,} matches"
        self.figures = [study.figures(arm) for arm in range(len(study.games))]
        changes = study.changes(looked) if len(study.games) > 1 else []
        self.changes = {each.key: each for each in changes}
        # What has surely changed, not by 0.0, and how much. Groups have equal parts of the risk.
        groups = Counter(each.group for each in changes)
        sure = {each.key: each.sure(len(groups) * groups[each.group]) for each in changes}
        self.sure = {k: n for k, n in sure.items() if n > 0 and round(self.changes[k].estimate, 1)}

    # Sentences

    def sentences(self) -> list[str]:
        """The report in short."""
        if not self.figures[-1]:
            return ["There are too few matches for any figure."]
        return [*self._changed(), *self._stands_out(), *self._told()]

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
        rank, told = {group: n for n, group in enumerate(GROUPS, 1)}, dict[str, list[str]]()
        sure = [self.changes[key] for key in sorted(self.sure, key=lambda key: -self.sure[key])]
        for change in sorted(sure, key=lambda each: rank.get(each.group, 0)):
            text = f"{COLUMNS.get(change.group, '')} {_spread(change, '+')} {change.unit}".strip()
            told.setdefault(change.title, []).append(text)
        for name, texts in list(told.items())[:MOST_CHANGES]:
            yield f"Changed: {name}: {'; '.join(texts)}."
        if self.changes and not told:
            yield "Nothing has surely changed."

    def _stands_out(self) -> Iterator[str]:
        found = findings(self.figures[-1], self.targets)
        for figure, target in found:
            named = ", ".join(filter(None, [figure.title, COLUMNS.get(figure.group)]))
            text = f"{_spread(figure)} {figure.unit}, outside of {target.low:g} to {target.high:g}"
            yield f"Stands out: {named}: {text}.".replace(" -", " −")
        if not found:
            texts = ", ".join(f"{each.key} {each.low:g} to {each.high:g}" for each in self.targets)
            yield f"Nothing is surely outside of its target ({texts}).".replace(" -", " −")
        told = {each.key for each, _ in found}
        for group, text in BEST.items():
            cards = [each for each in self.figures[-1] if each.group == group]
            usual = sum(each.estimate for each in cards) / max(len(cards), 1)
            for best in sorted(cards, key=lambda each: each.estimate)[-1:]:
                if best.key not in told and best.estimate - best.half(ALARM / len(cards)) > usual:
                    yield text.format(best.title, _spread(best))
        if self.proposal is not None:
            _, left, tried, study = self.proposal
            texts = ", ".join(differences(study.games[0], study.games[-1])) or "no change"
            hold = f"{'Not all' if left else 'All'} targets hold then, as far as these matches tell"
            yield f"Proposed: {texts}. {hold}; rulesets played: {tried}."

    # Tables and plots

    def markdown(self, plots: bool = False) -> str:
        """The whole report. The plots, which need Matplotlib, are SVG in between."""
        return "\n\n".join(self._blocks(self._plots() if plots and self.figures[-1] else {})) + "\n"

    def _blocks(self, drawn: Mapping[str, Sequence[str]]) -> Iterator[str]:
        yield f"# {self.title}"
        yield "## In short"
        yield "\n".join(f"- {sentence}" for sentence in self.sentences())
        if self.changes:
            looked = any(each.looked for each in self.changes.values())
            hold = "hold however often somebody looks" if looked else "are of 95 %"
            opening = ([line["cards"]["opening"] for line in self.study.of(arm)] for arm in (0, 1))
            same = sum(a == b for a, b in zip(*opening, strict=False))
            yield DIFFERENCES.format(hold=hold, same=same, count=self.study.count)
        head = ("", "A", "B", "B less A", "") if self.changes else ("", "± 95 %", "")
        for group, title in GROUPS.items():
            rows = [self._row(each) for each in self.figures[-1] if each.group == group]
            if rows:
                yield f"## {title}"
                yield from drawn.get(group, ())
                yield _table(head, rows)
        cards: dict[str, dict[str, str]] = {}
        for figure in self.figures[-1]:
            if figure.group in COLUMNS:
                _, low, high = figure.interval
                effect = _spread(figure, "+", low > 0 or high < 0)
                shown = f"{_spread(figure)} %" if figure.unit == "%" else effect
                cards.setdefault(figure.title, dict.fromkeys(COLUMNS, "-"))[figure.group] = shown
        if cards:
            yield f"## Cards{' of B' if self.changes else ''}"
            yield OF_CARDS
            yield from drawn.get("cards", ())
            cells = [(title, *by_group.values()) for title, by_group in cards.items()]
            yield _table(("", *COLUMNS.values()), cells)
        yield "## Where this comes from"
        yield CAUTION
        default = arena.game_of(self.study.settings.game_id)
        rulesets = [", ".join(differences(default, each)) or "default" for each in self.study.games]
        said = self.study.provenance | {"rulesets": "; ".join(rulesets)}
        yield "\n".join(f"- {name}: {value}" for name, value in said.items() if value != "")

    def _row(self, figure: Figure) -> Sequence[str]:
        before = {each.key: _spread(each) for each in self.figures[0]}.get(figure.key, "-")
        change, sure = self.changes.get(figure.key), figure.key in self.sure
        less = [before, _spread(figure), _spread(change, "+", sure) if change else "-"]
        return figure.title, *(less if self.changes else less[:1]), figure.unit

    def _plots(self) -> dict[str, list[str]]:
        from lab.balance import plots

        arms = [self.study.of(arm) for arm in range(len(self.study.games))]
        ordered, cards = sorted(self.figures[-1], key=lambda each: each.estimate), []
        for group in CARDS:
            if rows := [(each.title, each.interval) for each in ordered if each.group == group]:
                cards.append(plots.intervals(rows, f"points of one more copy {EFFECTS[group]}"))
        return {"course": [plots.course(arms), *plots.lengths(arms)], "cards": cards}

    def write(self, folder: Path, plots: bool) -> list[Path]:
        """Writes figures.jsonl, report.md and report.html; returns the paths."""
        body = MarkdownIt("commonmark").enable("table").render(self.markdown(plots))
        body = body.replace(" ± ", "&nbsp;±&nbsp;").replace(" %", "&nbsp;%")
        files = {
            "figures.jsonl": "".join(json.dumps(each) + "\n" for each in self.documents()),
            "report.md": self.markdown(),
            "report.html": PAGE.replace("{title}", escape(self.title)).replace("{body}", body),
        }
        for name, text in files.items():
            write_whole(folder / name, text.encode())
        return [folder / name for name in files]

    def documents(self) -> Iterator[dict[str, Any]]:
        """What the report depends on, then each figure, as JSON."""
        yield {**self.study.provenance, "matches": self.study.count, "said": self.sentences()}
        arms = [(str(arm), each) for arm, all_ in enumerate(self.figures) for each in all_]
        for arm, figure in arms + [("B less A", each) for each in self.changes.values()]:
            named = {name: getattr(figure, name) for name in ("group", "key", "title", "unit")}
            ends = figure.interval._asdict().items()
            found = {name: value if math.isfinite(value) else None for name, value in ends}
            yield {"arm": arm} | named | found


def _spread(figure: Figure, sign: str = "", bold: bool = False) -> str:
    estimate, low, _ = figure.interval
    mark = "**" * bold
    return f"{mark}{estimate:{sign}.1f} ± {estimate - low:.1f}{mark}".replace("-", "−")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    line = ["---", *("---:" if name else "---" for name in head[1:])]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, line, *escaped])
