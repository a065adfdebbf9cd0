"""Draws Skystones: a grid of cards with a number on each edge, the player's hand below it."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from croupier import enums
from croupier.terminal import drawing
from croupier.v1 import catalog_pb2, game_pb2
from croupier.v1 import skystones_pb2 as stones

CELL, LONG_CELL = 15, 19  # Columns inside a card: as many as the longest title has,
NARROW_CELL = 12  # or fewer, so that the sides stand beside the board,
SIDES = 18  # in at least as many columns, or else below it.
ROWS = 4  # Lines inside a card,
LOW_ROWS = 3  # or where the screen is low.
OWNER = 5  # Columns of the owner in a card.
COLUMNS = "abc"
ELEMENT_STYLES = {
    stones.SKYSTONES_ELEMENT_FIRE: "red",
    stones.SKYSTONES_ELEMENT_EARTH: "green",
    stones.SKYSTONES_ELEMENT_ELECTRO: "yellow",
    stones.SKYSTONES_ELEMENT_WATER: "blue",
    stones.SKYSTONES_ELEMENT_AIR: "bright_white",
}
FIELDS = enums.words(stones.SkystonesField.DESCRIPTOR)
Cell = list[Text]


class Drawing(drawing.Drawing):
    """Draws Skystones."""

    STYLES: ClassVar = {
        "field_laid": "dim",
        "round_started": "bold",
        "picked": "dim",
        "passed": "dim",
        "round_ended": "bold",
    }
    UNTOLD = ("dealt",)

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.specs = list(game.default_ruleset.skystones.cards)
        listed = list(zip(self.specs, game.cards, strict=False))
        # Only of the default list: titles of another list have no translation.
        self.card_titles = {spec.title: card.title for spec, card in listed}
        longest = max(map(cell_len, self.card_titles.values()), default=0)
        self.cell = self.whole_cell = min(max(longest, CELL), LONG_CELL)
        self.elements = {int(spec.element): card.kind for spec, card in listed}
        self.side = game.default_ruleset.skystones.board_size or len(COLUMNS)
        self.limit = game.default_ruleset.skystones.hand_limit
        self.hand_size = game.default_ruleset.skystones.hand_size

    def scene(self, view: game_pb2.View) -> Hashable:
        state = view.skystones
        if state.phase == stones.SKYSTONES_PHASE_PICK:
            return None
        return state.round, len(state.placements), bool(view.deciders)

    def title(self, view: game_pb2.View) -> Text:
        state = view.skystones
        title = Text(self.table("round", round=state.round), style="bold")
        if state.phase:
            phase = "picking" if state.phase == stones.SKYSTONES_PHASE_PICK else "placing"
            title.append(f", {self.table(phase)}; ", style="not bold")
            title.append_text(self.seat_name(state.starter))
            title.append(f" {self.table('starts')}", style="not bold")
        return title

    def view(self, view: game_pb2.View) -> RenderableType:
        return self._table(view, ROWS)

    def views(self, view: game_pb2.View, width: int) -> Iterable[RenderableType]:
        beside, below = (room // self.side - 1 for room in (width - SIDES - 1, width - 1))
        self.cell = min(self.whole_cell, beside if beside >= NARROW_CELL else below)
        if width >= self.hand_size * (self.cell + 1) + 1:  # Else the cards in hand would be cut.
            yield self._table(view, ROWS)
        if view.skystones.phase == stones.SKYSTONES_PHASE_PLACE:
            yield self._table(view, LOW_ROWS)
            return
        # All that an empty board says is where the special fields are.
        board = enumerate(view.skystones.board)
        fields = [f"{self._name(n)} {self._field(s.field)}" for n, s in board if s.field]
        parts = [
            self.player(seat).append(
                f": {self.table('side', points=side.points, pile=side.pile_size)}"
            )
            for seat, side in ((seat, view.skystones.sides[seat]) for seat in self.order)
        ]
        hand = [self._title(card) for card in view.skystones.hand]
        lists = {self.table("fields"): fields, self.table("in_hand"): hand}
        parts += [
            Text(f"{name}: {', '.join(listed)}", style="dim")
            for name, listed in lists.items()
            if listed
        ]
        yield Group(*parts)

    def _table(self, view: game_pb2.View, rows: int) -> RenderableType:
        state = view.skystones
        table = drawing.table()
        table.show_header = False
        board, sides = self._board(state, rows), self._sides(state, rows)
        table.otherwise = Group(board, sides)
        table.add_column(no_wrap=True)
        table.add_column()
        table.add_row(board, sides)
        if rows == LOW_ROWS or not state.hand:
            return table
        hand = self._grid([[self._card(card, rows) for card in state.hand]], rows)
        return Group(table, Text(self.table("your_hand"), style="dim"), hand)

    def happened(self, what: Any) -> Text | None:
        if what.HasField("picked") and not what.picked.HasField("card"):
            return None
        line = super().happened(what)
        if line is not None and what.placed.taken:
            line.stylize("bold green")
        return line

    def question(self, view: game_pb2.View) -> str:
        if view.skystones.phase == stones.SKYSTONES_PHASE_PICK:
            hand = view.skystones.hand
            return self.table(
                "pick",
                card=len(hand) + 1,
                size=self.hand_size,
                used=sum(self._total(card) for card in hand),
                limit=self.limit,
            )
        return self.table("place_listed" if self.lists_actions else "place")

    def menu(self, view: game_pb2.View) -> RenderableType:
        if view.skystones.phase == stones.SKYSTONES_PHASE_PICK:
            return self._picks(view)
        table = drawing.table()
        table.padding = (0, 1, 0, 0)
        for heading in (self.table("your_hand"), "", self.table("edges")):
            table.add_column(heading, no_wrap=True)
        squares = range(len(view.skystones.board))
        for square in squares:
            table.add_column(self._name(square), justify="right", min_width=3)
        numbers: dict[int, dict[int, int]] = {}
        for number, action in enumerate(view.legal_actions, 1):
            place = action.skystones.place_card
            numbers.setdefault(place.card, {})[place.square] = number
        for card in dict.fromkeys((*view.skystones.hand, *numbers)):
            by_square = numbers.get(card, {})
            cells = (
                Text(str(by_square[s]), style="bold yellow") if s in by_square else Text("·", "dim")
                for s in squares
            )
            table.add_row(*self._described(card), *cells)
        return Padding(table, (0, 0, 0, 2))

    def menus(self, view: game_pb2.View) -> Iterable[RenderableType]:
        yield self.menu(view)

    # The parts of a view.

    def _name(self, square: int) -> str:
        # A column and a row, as on the page of the game.
        return f"{COLUMNS[square % self.side]}{square // self.side + 1}"

    def _board(self, state: stones.SkystonesView, rows: int) -> RenderableType:
        cells = [self._square(number, square, rows) for number, square in enumerate(state.board)]
        lines = range(0, len(cells), self.side)
        return self._grid([cells[start : start + self.side] for start in lines], rows)

    def _square(self, number: int, square: stones.SkystonesSquare, rows: int) -> Cell:
        name = self._name(number)
        if square.HasField("card"):
            style = drawing.SEAT_STYLES[square.owner % 2]
            cell = self._card(square.card, rows, style)
            owner = drawing.cropped(self.who(square.owner).split()[-1], OWNER)
            north = f"{self.specs[square.card].north}".center(self.cell)
            cell[0] = Text(name, style="dim")
            cell[0].append(north[2 : self.cell - cell_len(owner)], style="bold default not dim")
            cell[0].append(owner, style=f"{style} bold not dim")
            return cell
        blank = Text(" " * self.cell)
        cell = [Text(f"{name:<{self.cell}}", style="dim")] + [blank] * (rows - 1)
        if square.field:
            field = drawing.cropped(self._field(square.field), self.cell).center(self.cell)
        if square.field == stones.SKYSTONES_FIELD_BLOCKED:
            cell[1:] = [Text("░" * self.cell, style="dim")] * (rows - 1)
            cell[rows // 2] = Text(field, style="dim")
        elif square.field:
            # A field that takes one element has the number of that element.
            style = ELEMENT_STYLES.get(int(square.field), "")  # type: ignore[call-overload]
            cell[rows // 2] = Text(field, style=style)
        return cell

    def _card(self, card: int, rows: int, style: str = "") -> Cell:
        # North is above and south below; a low card has west and east beside south, and leaves its
        # element out, which counts no more once it lies on the board.
        spec = self.specs[card]
        title = drawing.cropped(self._title(card), self.cell).center(self.cell)
        north = Text(f"{spec.north}".center(self.cell), style="bold")
        named = Text(title, style=f"bold {style}".strip())
        if rows == LOW_ROWS:
            south = f"{spec.south}".center(self.cell - 4)
            return [north, named, Text(f" {spec.west}{south}{spec.east} ", style="bold")]
        element = self._element(spec.element).center(self.cell - 4)
        middle = Text(f" {spec.west}", style="bold")
        middle.append(element, style=f"not bold {ELEMENT_STYLES[spec.element]}")
        middle.append(f"{spec.east} ")
        total = f"={self._total(card)}" if not style else ""
        bottom = Text(f"{spec.south}".center(self.cell)[: self.cell - len(total)], style="bold")
        return [north, named, middle, bottom.append(total, style="not bold dim")]

    def _described(self, card: int) -> list[Text]:
        # The title, the element, and the edges with their sum.
        spec = self.specs[card]
        edges = f"{spec.north} {spec.east} {spec.south} {spec.west} {self._total(card):>2}"
        element = Text(self._element(spec.element), style=ELEMENT_STYLES[spec.element])
        return [Text(self._title(card)), element, Text(edges)]

    def _sides(self, state: stones.SkystonesView, rows: int) -> RenderableType:
        chips = [
            sum(s.HasField("owner") and s.owner == seat for s in state.board) for seat in (0, 1)
        ]
        parts: list[RenderableType] = []
        for seat in self.order:
            side = state.sides[seat]
            you = f" ({self.role(seat)})" if seat == self.seat else ""
            name = self.seat_name(seat).append(you, style="not bold")
            parts.append(name if rows == LOW_ROWS else self.player(seat))
            parts.append(Text(self.table("points", points=side.points)))
            parts.append(Text(self.table("chips", chips=chips[seat])))
            parts.append(Text(self.table("cards", hand=side.hand_size, pile=side.pile_size)))
        if state.unseen:
            by_element = Counter(self.specs[card].element for card in state.unseen)
            parts.append(Text(self.table("unseen", count=len(state.unseen)), style="dim"))
            parts.append(
                Text(
                    ", ".join(f"{self._element(e)} {n}" for e, n in sorted(by_element.items())),
                    style="dim",
                )
            )
        return Group(*parts)

    def _picks(self, view: game_pb2.View, *, single: bool = False) -> RenderableType:
        half = (len(view.legal_actions) + 1) // 2
        columns = 2 if half > 3 and not single else 1
        table = drawing.table()
        table.otherwise = self._picks(view, single=True) if columns == 2 else None
        table.padding = (0, 1, 0, 0)
        for _ in range(columns):
            table.add_column("", justify="right", style="bold yellow", min_width=2)
            for heading in ("card", "element", "edges"):
                table.add_column(self.table(heading), no_wrap=True)
        rows = [
            [Text(str(number)), *self._described(action.skystones.pick_card.card)]
            for number, action in enumerate(view.legal_actions, 1)
        ]
        if columns == 2:
            right = [*rows[half:], [Text()] * 4]
            rows = [rows[n] + right[n] for n in range(half)]
        for row in rows:
            table.add_row(*row)
        return table

    def read_ruleset(self, view: game_pb2.View) -> None:
        ruleset = view.ruleset.skystones
        self.specs = list(ruleset.cards) or self.specs
        self.side = ruleset.board_size if ruleset.HasField("board_size") else self.side
        self.limit = ruleset.hand_limit if ruleset.HasField("hand_limit") else self.limit
        self.hand_size = ruleset.hand_size if ruleset.HasField("hand_size") else self.hand_size
        for place in range(len(self.specs)):
            card = catalog_pb2.Card(id=str(place), title=self._title(place))
            self.words.cards[card.id] = card
        for square in range(self.side**2):
            for field in ("square", "taken"):
                self.words.phrases[f"value.{field}.{square}"] = self._name(square)

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
        return self.words.word(f"value.field.{FIELDS[field]}")

    def _grid(self, rows: list[list[Cell]], height: int) -> Text:
        # Draws cards in frames that touch.
        width = max(len(row) for row in rows)
        lines = [self._frame(width, *"┌┬┐")]
        for place, row in enumerate(rows):
            for line in range(height):
                text = Text("│", style="dim")
                for cell in row:
                    text.append_text(Text(style="not dim").append_text(cell[line])).append("│")
                lines.append(text)
            lines.append(self._frame(width, *("├┼┤" if place < len(rows) - 1 else "└┴┘")))
        return Text(style="dim").append_text(Text("\n").join(lines))

    def _frame(self, width: int, left: str, middle: str, right: str) -> Text:
        return Text(left + middle.join(["─" * self.cell] * width) + right, style="dim")
