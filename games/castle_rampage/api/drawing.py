"""Draws Castle Rampage: both sides with what is known of their structures, and the player's hand.

A turn can have hundreds of actions, most of which pay for the same card in different ways. So the
menu has a line for each card, and the player names what to pay: "dragon spy archer".
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from croupier import enums
from croupier.terminal import drawing
from croupier.v1 import castle_rampage_pb2 as castle
from croupier.v1 import catalog_pb2, game_pb2

NUMBERS = ("attack", "gate", "castle", "cost")
Ways = list[tuple[int, game_pb2.MatchAction]]  # Actions that differ in their discards, by number.


class Drawing(drawing.Drawing):
    """Draws Castle Rampage."""

    STYLES: ClassVar = {
        "shuffled": "dim",
        "drawn": "dim",
        "cards_set_up": "dim",
        "turn_started": "bold",
        "played": "bold",
        "held": "green",
        "destroyed": "red",
    }

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.specs = {spec.card: spec for spec in game.default_ruleset.castle_rampage.cards}
        self.names = self.enum_titles(castle.CastleRampageCard.DESCRIPTOR)
        self.structures = {
            number: self.words.word(f"value.structure.{word}")
            for number, word in enums.words(castle.CastleRampageStructure.DESCRIPTOR).items()
        }

    def scene(self, view: game_pb2.View) -> Hashable:
        state = view.castle_rampage
        return state.set_ups, state.turn, bool(view.deciders)

    def title(self, view: game_pb2.View) -> Text:
        state = view.castle_rampage
        if state.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP:
            title = Text(self.table("set_up", set_up=state.set_ups + 1), style="bold").append("; ")
            title.append_text(self.seat_name(state.active))
            title.append(f" {self.table('starts')}", style="not bold")
        else:
            title = Text(self.table("turn", turn=state.turn), style="bold").append(", ")
            title.append_text(self.seat_name(state.active))
        piles = self.table("piles", draw=state.draw_size, discards=len(state.discards))
        return title.append(f"; {piles}", style="not bold")

    def view(self, view: game_pb2.View) -> RenderableType:
        state = view.castle_rampage
        parts: list[RenderableType] = [self._sides(state)]
        lists = {self.table("discards"): state.discards, self.table("unseen"): state.unseen}
        piles_table = drawing.Rows.grid(padding=(0, 2, 0, 0))
        piles_table.add_column(style="dim", no_wrap=True, min_width=9)
        for name, cards in lists.items():
            if cards:
                piles_table.add_row(name, Text(self.listed(cards), style="dim"))
        parts.append(piles_table)
        if state.hand:
            parts.append(Padding(self._hand(state), (1, 0, 0, 0)))
        return Group(*parts)

    def screens(
        self, view: game_pb2.View, width: int
    ) -> Iterable[tuple[RenderableType, RenderableType]]:
        menu = self.menu(view) if view.legal_actions else Text()
        yield self.view(view), menu
        state = view.castle_rampage
        if state.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP or not view.legal_actions:
            sides, hand = self._sides(state, fallen=False), self._hand(state, texts=False)
            yield Group(sides, hand), menu
            return
        # The menu says what is in hand, once for equal cards.
        menu = self._hand_menu(view)
        yield self._sides(state), menu
        yield self._sides(state, fallen=False), menu

    def question(self, view: game_pb2.View) -> str:
        if view.castle_rampage.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP:
            return self.table("share_out")
        return self.table("your_turn")

    def menu(self, view: game_pb2.View) -> RenderableType:
        if view.castle_rampage.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP:
            given = {"example": self.example(view), "choices": len(view.legal_actions)}
            return Text(self.table("how_to_share_out", **given), style="dim")
        groups = self._groups(view)
        under = [group for _, group in groups if group[0][1].castle_rampage.HasField("strengthen")]
        parts: list[RenderableType] = [self._under(under)] if under else []
        parts.append(self._plays(groups[len(under) :]))
        if any(len(group) > 1 for _, group in groups):
            hint = self.table("how_to_discard", example=self._example(groups))
            parts.append(Text(f"      {hint}", style="dim"))
        return Group(*parts)

    def _under(self, groups: Sequence[Ways]) -> RenderableType:
        # A row for each card; the numbers are those of its actions, by structure.
        table = drawing.table()
        table.padding = (0, 2, 0, 4)
        table.add_column(self.table("under"), no_wrap=True)
        for title in self.structures.values():
            table.add_column(title, justify="right", style="bold yellow")
        table.add_column("", style="dim")
        for gate, tower in zip(groups[::2], groups[1::2], strict=True):
            card = gate[0][1].castle_rampage.strengthen.card
            table.add_row(self.names[card], _numbers(gate), _numbers(tower), self._ways(gate))
        return table

    def _plays(self, groups: Sequence[tuple[str, Ways]]) -> RenderableType:
        table = drawing.table()
        table.show_header = False
        table.add_column(justify="right", style="bold yellow", no_wrap=True, min_width=4)
        table.add_column()
        table.add_column(style="dim")
        for label, group in groups:
            action = group[0][1]
            shown = label if len(group) > 1 else self.action(action)
            notes = filter(None, (self._strength(action), self._ways(group)))
            table.add_row(_numbers(group), shown, ", ".join(notes))
        return table

    def _hand_menu(self, view: game_pb2.View) -> RenderableType:
        # A row for each card in hand: its numbers, and the actions with it.
        under: dict[castle.CastleRampageCard, list[str]] = {}
        plays: dict[castle.CastleRampageCard, list[str]] = {}
        end = ""
        groups = self._groups(view)
        for said, ways in groups:
            what = ways[0][1].castle_rampage
            match what.WhichOneof("action"):
                case "strengthen":
                    under.setdefault(what.strengthen.card, []).append(_numbers(ways))
                case "play":
                    how = said.removeprefix(self.names[what.play.card]).strip(" ,")
                    plays.setdefault(what.play.card, []).append(f"{how} {_numbers(ways)}".strip())
                case _:
                    end = _numbers(ways)
        table = self._cards_table(numbered=False)
        table.add_column(self.table("under"), style="bold yellow", no_wrap=True)
        table.add_column(self.table("play"), style="bold yellow")
        for card, count in Counter(view.castle_rampage.hand).items():
            name = self.names[card] + (f"×{count}" if count > 1 else "")
            table.add_row(
                Text(name, style="bold"),
                *self._card_numbers(card),
                "/".join(under.get(card, ())),
                ", ".join(plays.get(card, ())),
            )
        hint = Text(f"{self.table('under')} {'/'.join(self.structures.values())}; ", style="dim")
        hint.append(end, style="bold yellow not dim").append(": ")
        several = next((_numbers(ways) for _, ways in groups if len(ways) > 1), "")
        if several:
            example = self._example(groups)
            hint.append(self.table("how_to_end", numbers=several, example=example))
        else:
            hint.append(self.table("how_to_end_only"))
        return Group(table, hint)

    def _example(self, groups: Sequence[tuple[str, Ways]]) -> str:
        # What to type for one of the ways to pay: the card and its discards, in lower case.
        several = [ways for _, ways in groups if len(ways) > 1]
        plays = (ways for ways in several if ways[0][1].castle_rampage.HasField("play"))
        ways = next(plays, several[0])
        return " ".join(self.words.names(ways[-1][1].castle_rampage)).lower()

    def _ways(self, group: Ways) -> str:
        return self.table("ways", ways=len(group)) if len(group) > 1 else ""

    def _groups(self, view: game_pb2.View) -> list[tuple[str, Ways]]:
        grouped = groupby(enumerate(view.legal_actions, 1), lambda item: self._unpaid(item[1]))
        return [(label, list(group)) for label, group in grouped]

    def _unpaid(self, action: game_pb2.MatchAction) -> str:
        # Describes an action without its discards. Actions that differ only in these are adjacent.
        bare = game_pb2.MatchAction()
        bare.CopyFrom(action)
        what = bare.castle_rampage
        kind = what.WhichOneof("action")
        if kind in ("strengthen", "play"):
            getattr(what, kind).ClearField("discards")
        return self.action(bare)

    def _strength(self, action: game_pb2.MatchAction) -> str:
        play = action.castle_rampage.play
        if play.card not in self.specs or not self.specs[play.card].attack:
            return ""
        spec = self.specs[play.card]
        return f"{self.table('attack')} {spec.attack + spec.bonus * play.extra}"

    def example(self, view: game_pb2.View) -> str:
        if not self.numbers_are_cards(view):
            return super().example(view)
        return self.numbers_in_hand(view.castle_rampage.hand, _order(view.legal_actions[-1]))

    def numbers_are_cards(self, view: game_pb2.View) -> bool:
        return (
            not self.lists_actions
            and view.castle_rampage.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP
        )

    def read_cards(self, view: game_pb2.View, words: Sequence[str]) -> list[int]:
        cards = self.cards_in_hand(view.castle_rampage.hand, words)
        found = [
            place
            for place, action in enumerate(view.legal_actions)
            if _order(action)[: len(cards)] == cards
        ]
        if not found:
            raise drawing.Unclear(self.table("not_five"))
        return found

    # The parts of a view.

    def _sides(self, state: castle.CastleRampageView, *, fallen: bool = True) -> RenderableType:
        sides = [state.sides[seat] for seat in self.order]
        rows: dict[str, list[RenderableType]] = {
            self.table("hand"): [self.words.count(side.hand_size) for side in sides]
        }
        permanents = [self._permanents(side) for side in sides]
        if any(permanents):
            rows[self.table("permanent")] = [cards or "-" for cards in permanents]
        for structure, title in self.structures.items():
            rows[title] = [self._stack(state, seat, structure, fallen) for seat in self.order]
        table = self.side_by_side(rows)
        own = state.sides[self.seat]
        if any(card.known for stack in (own.gate, own.castle) for card in stack.standing):
            legend = Text(f"* {self.table('known')}", style="dim")
            return Group(table, Padding(legend, (0, 0, 0, 11)))
        return table

    def _permanents(self, side: castle.CastleRampageSide) -> str:
        return self.listed(
            [castle.CASTLE_RAMPAGE_CARD_CATAPULT] * side.catapults
            + [castle.CASTLE_RAMPAGE_CARD_GRANARY] * side.granaries
        )

    def _stack(
        self, state: castle.CastleRampageView, seat: int, structure: int, fallen: bool
    ) -> Text:
        # From the top: known cards with their defence. A mark means that the opponent knows one of
        # the player's cards.
        gate = structure == castle.CASTLE_RAMPAGE_STRUCTURE_GATE
        stack = state.sides[seat].gate if gate else state.sides[seat].castle
        text = Text()
        names = []
        for card in stack.standing:
            if not card.card:
                names.append("?")
                continue
            spec = self.specs[card.card]
            mark = "*" if card.known and seat == self.seat else ""
            names.append(f"{self.names[card.card]} {spec.gate if gate else spec.castle}{mark}")
        for n, (name, same) in enumerate(groupby(names)):
            count = len(list(same))
            text.append(", " if n else "")
            text.append(
                f"{name}×{count}" if count > 1 else name, style="" if name == "?" else "bold"
            )
        if not names:
            text.append("-")
        if stack.fallen and not fallen:
            text.append(f"; {self.table('fallen')} {len(stack.fallen)}", style="dim")
        elif stack.fallen:
            text.append(f"\n{self.table('fallen')} {self.listed(stack.fallen)}", style="dim")
        return text

    def _hand(self, state: castle.CastleRampageView, *, texts: bool = True) -> RenderableType:
        table = self._cards_table(numbered=True)
        table.add_column("")
        effects = {card.title: card.text for card in self.game.cards} if texts else {}
        for n, card in enumerate(state.hand, 1):
            text = Text(effects.get(self.names[card], ""), style="dim")
            name = Text(self.names[card], style="bold")
            number = "" if self.lists_actions else str(n)
            table.add_row(number, name, *self._card_numbers(card), text)
        if state.kept:
            table.add_row(self.table("kept"), Text(self.names[state.kept], style="bold"))
        return table

    def _cards_table(self, *, numbered: bool) -> drawing.Rows:
        table = drawing.table()
        if numbered:
            table.add_column("", style="dim", justify="right", min_width=9)
        table.add_column(self.table("your_hand"), no_wrap=True)
        for name in NUMBERS:
            structure = {"gate": 1, "castle": 2}.get(name)
            title = self.structures[structure] if structure else self.table(name)
            table.add_column(title, justify="right", no_wrap=True)
        return table

    def _card_numbers(self, card: castle.CastleRampageCard) -> list[str]:
        return [str(getattr(self.specs[card], name) or "·") for name in NUMBERS]

    def read_ruleset(self, view: game_pb2.View) -> None:
        # A number that a card list leaves out is that of the default list.
        given = {}
        for spec in view.ruleset.castle_rampage.cards:
            given[spec.card] = castle.CastleRampageCardSpec()
            given[spec.card].CopyFrom(self.specs.get(spec.card, spec))
            given[spec.card].MergeFrom(spec)
        self.specs.update(given)


def _order(action: game_pb2.MatchAction) -> list[int]:
    set_up = action.castle_rampage.set_up
    return [*set_up.gate, *set_up.castle, set_up.keep]


def _numbers(group: Ways) -> str:
    first, last = group[0][0], group[-1][0]
    return f"{first}" if first == last else f"{first}-{last}"
