"""Draws Skystones: a grid of cards with a number on each edge, the player's hand below it."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from croupier.terminal import drawing
from croupier.v1 import catalog_pb2, game_pb2
from croupier.v1 import skystones_pb2 as stones

CELL = 15  # Columns inside a card.
ROWS = 4  # Lines inside a card.
ELEMENT_STYLES = {
    stones.SKYSTONES_ELEMENT_FIRE: "red",
    stones.SKYSTONES_ELEMENT_EARTH: "green",
    stones.SKYSTONES_ELEMENT_ELECTRO: "yellow",
    stones.SKYSTONES_ELEMENT_WATER: "blue",
    stones.SKYSTONES_ELEMENT_AIR: "bright_white",
}
Cell = list[Text]


class Drawing(drawing.Drawing):
    """Draws Skystones."""

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.specs = list(game.default_ruleset.skystones.cards)
        listed = list(zip(self.specs, game.cards, strict=False))
        # Only of the default list: titles of another list have no translation.
        self.card_titles = {spec.title: card.title for spec, card in listed}
        self.elements = {int(spec.element): card.kind for spec, card in listed}
        self.limit = game.default_ruleset.skystones.hand_limit
        self.hand_size = game.default_ruleset.skystones.hand_size

    def scene(self, view: game_pb2.View) -> Hashable:
        state = view.skystones
        if state.phase == stones.SKYSTONES_PHASE_PICK:
            return None
        return state.round, len(state.placements), bool(view.deciders)

    def view(self, view: game_pb2.View) -> RenderableType:
        self._read_ruleset(view)
        state = view.skystones
        title = Text(f"Round {state.round}", style="bold")
        if state.phase:
            phase = "hands are picked" if state.phase == stones.SKYSTONES_PHASE_PICK else "placing"
            title.append(f", {phase}; ", style="not bold").append_text(
                self.seat_name(state.starter)
            )
            title.append(" starts", style="not bold")
        table = Table.grid(padding=(0, 4, 0, 0))
        table.add_row(self._board(state), self._sides(state))
        parts: list[RenderableType] = [title, table]
        if state.hand:
            parts += [
                Text("your hand", style="dim"),
                _grid([[self._card(card) for card in state.hand]]),
            ]
        return Group(*parts)

    def happened(self, what: Any) -> Text | None:
        kind = what.WhichOneof("event")
        done = getattr(what, kind)
        match kind:
            case "field_laid":
                return Text(f"square {done.square}: {self._field(done.field)}", style="dim")
            case "round_started":
                line = Text(f"Round {done.round}: ", style="bold")
                line.append_text(self.seat_name(done.starter))
                return line.append(" starts", style="not bold")
            case "picked" if done.HasField("card"):
                return self.line(done.seat, f"picks {self._title(done.card)}", "dim")
            case "placed":
                line = self.line(done.seat, "places ")
                line.append(self._title(done.card), style="bold default")
                line.append(f" on {done.square}", style="default")
                if done.taken:
                    squares = ", ".join(map(str, done.taken))
                    line.append(f" and takes {squares}", style="bold green")
                return line
            case "passed":
                return self.line(done.seat, "cannot place and passes", "dim")
            case "round_ended":
                chips = "-".join(map(str, done.chips))
                if not done.HasField("winner"):
                    return Text(f"Round {done.round} is tied, chips {chips}", style="bold")
                line = Text(f"Round {done.round} goes to ", style="bold")
                return line.append_text(self.seat_name(done.winner)).append(f", chips {chips}")
        return None

    def question(self, view: game_pb2.View) -> str:
        if view.skystones.phase == stones.SKYSTONES_PHASE_PICK:
            self._read_ruleset(view)
            hand = view.skystones.hand
            used = sum(self._total(card) for card in hand)
            which = f"card {len(hand) + 1} of {self.hand_size}"
            return f"Pick {which} for your hand; {used} of {self.limit} points are used:"
        return "Place a card: by the number in the table, or its name and square:"

    def action(self, action: game_pb2.MatchAction) -> str:
        what = action.skystones
        if what.WhichOneof("action") == "pick_card":
            return self._title(what.pick_card.card)
        return f"{self._title(what.place_card.card)} → {what.place_card.square}"

    def menu(self, view: game_pb2.View) -> RenderableType:
        self._read_ruleset(view)
        if view.skystones.phase == stones.SKYSTONES_PHASE_PICK:
            return self._picks(view)
        squares = range(len(view.skystones.board))
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        table.add_column("square", no_wrap=True)
        for square in squares:
            table.add_column(str(square), justify="right", min_width=2)
        numbers: dict[int, dict[int, int]] = {}
        for number, action in enumerate(view.legal_actions, 1):
            place = action.skystones.place_card
            numbers.setdefault(place.card, {})[place.square] = number
        for card, by_square in numbers.items():
            cells = (
                Text(str(by_square[s]), style="bold yellow") if s in by_square else Text("·", "dim")
                for s in squares
            )
            table.add_row(self._title(card), *cells)
        return Padding(table, (0, 0, 0, 2))

    # The parts of a view.

    def _board(self, state: stones.SkystonesView) -> RenderableType:
        side = round(len(state.board) ** 0.5)
        cells = [self._square(number, square) for number, square in enumerate(state.board)]
        return _grid([cells[row * side : (row + 1) * side] for row in range(side)])

    def _square(self, number: int, square: stones.SkystonesSquare) -> Cell:
        if square.HasField("card"):
            cell = self._card(square.card, drawing.SEAT_STYLES[square.owner % 2])
            owner = self.roles[square.owner].split()[-1]
            top = cell[0].plain
            cell[0] = Text(f"{number:<2}", style="dim")
            cell[0].append(top[2 : CELL - len(owner)], style="bold default not dim")
            cell[0].append(owner, style=drawing.SEAT_STYLES[square.owner % 2] + " bold not dim")
            return cell
        number_text = Text(f"{number:<{CELL}}", style="dim")
        if square.field == stones.SKYSTONES_FIELD_BLOCKED:
            fill = Text("░" * CELL, style="dim")
            return [number_text, fill, Text("blocked".center(CELL), style="dim"), fill]
        if square.field:
            name = self._field(square.field).center(CELL)
            # A field that takes one element has the number of that element.
            only = Text(name, style=ELEMENT_STYLES.get(int(square.field), ""))  # type: ignore[call-overload]
            return [number_text, Text(" " * CELL), only, Text(" " * CELL)]
        return [number_text] + [Text(" " * CELL)] * (ROWS - 1)

    def _card(self, card: int, style: str = "") -> Cell:
        spec = self.specs[card]
        title = self._title(card)
        title = title if len(title) <= CELL else title[: CELL - 1] + "…"
        element = Text(
            self._element(spec.element).center(CELL - 4), style=ELEMENT_STYLES[spec.element]
        )
        middle = Text(f" {spec.west}", style="bold").append_text(element).append(f"{spec.east} ")
        total = f"={self._total(card)}" if not style else ""
        bottom = Text(f"{spec.south}".center(CELL)[: CELL - len(total)], style="bold")
        return [
            Text(f"{spec.north}".center(CELL), style="bold"),
            Text(title.center(CELL), style=f"bold {style}".strip()),
            middle,
            bottom.append(total, style="not bold dim"),
        ]

    def _sides(self, state: stones.SkystonesView) -> RenderableType:
        chips = [
            sum(s.HasField("owner") and s.owner == seat for s in state.board) for seat in (0, 1)
        ]
        table = self.figures(
            {
                "rounds won": [side.points for side in state.sides],
                "chips": chips,
                "hand": [side.hand_size for side in state.sides],
                "pile": [side.pile_size for side in state.sides],
            }
        )
        parts: list[RenderableType] = [table]
        if state.unseen:
            by_element = Counter(self.specs[card].element for card in state.unseen)
            parts += [Text(), Text(f"not seen: {len(state.unseen)} cards", style="dim")]
            parts.append(
                Text(
                    ", ".join(f"{self._element(e)} {n}" for e, n in sorted(by_element.items())),
                    style="dim",
                )
            )
        return Group(*parts)

    def _picks(self, view: game_pb2.View) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        half = (len(view.legal_actions) + 1) // 2
        for _ in range(2 if half > 3 else 1):
            table.add_column("", justify="right", style="bold yellow", min_width=4)
            table.add_column("card")
            table.add_column("element")
            table.add_column("sum", justify="right")
            table.add_column("N E S W")
        rows = [
            self._pick(number, action.skystones.pick_card.card)
            for number, action in enumerate(view.legal_actions, 1)
        ]
        if half > 3:
            empty = [Text()] * 5
            right = [*rows[half:], empty]
            rows = [rows[n] + right[n] for n in range(half)]
        for row in rows:
            table.add_row(*row)
        return table

    def _pick(self, number: int, card: int) -> list[Text]:
        spec = self.specs[card]
        edges = f"{spec.north} {spec.east} {spec.south} {spec.west}"
        return [
            Text(str(number)),
            Text(self._title(card)),
            Text(self._element(spec.element), style=ELEMENT_STYLES[spec.element]),
            Text(str(self._total(card))),
            Text(edges),
        ]

    def _read_ruleset(self, view: game_pb2.View) -> None:
        ruleset = view.ruleset.skystones
        self.specs = list(ruleset.cards) or self.specs
        self.limit = ruleset.hand_limit if ruleset.HasField("hand_limit") else self.limit
        self.hand_size = ruleset.hand_size if ruleset.HasField("hand_size") else self.hand_size

    def _total(self, card: int) -> int:
        spec = self.specs[card]
        return spec.north + spec.east + spec.south + spec.west

    def _title(self, card: int) -> str:
        if card >= len(self.specs):
            return f"card {card}"
        title = self.specs[card].title
        return self.card_titles.get(title, title)

    def _element(self, element: int) -> str:
        return self.elements.get(element, f"element {element}")

    def _field(self, field: stones.SkystonesField) -> str:
        # A field that takes one element has the number of that element.
        blocked = field == stones.SKYSTONES_FIELD_BLOCKED
        return "blocked" if blocked else f"only {self._element(int(field))}"


def _grid(rows: list[list[Cell]]) -> Text:
    # Draws cards in frames that touch.
    width = max(len(row) for row in rows)
    frame = Text(style="dim")
    lines = [_frame(width, *"┌┬┐")]
    for place, row in enumerate(rows):
        for line in range(ROWS):
            text = Text("│", style="dim")
            for cell in row:
                text.append_text(Text(style="not dim").append_text(cell[line])).append("│")
            lines.append(text)
        lines.append(_frame(width, *("├┼┤" if place < len(rows) - 1 else "└┴┘")))
    return frame.append_text(Text("\n").join(lines))


def _frame(width: int, left: str, middle: str, right: str) -> Text:
    return Text(left + middle.join(["─" * CELL] * width) + right, style="dim")
