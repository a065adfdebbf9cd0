"""Draws Castle Rampage: both sides with what is known of their structures, and the player's hand.

A turn can have hundreds of actions, most of which pay for the same card in different ways. So the
menu has a line for each card, and the player names what to pay: "dragon spy archer".
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from croupier.terminal import drawing
from croupier.v1 import castle_rampage_pb2 as castle
from croupier.v1 import catalog_pb2, game_pb2

NUMBERS = ("attack", "gate", "castle", "cost")
UNIT_CARDS = {
    castle.CASTLE_RAMPAGE_UNIT_KNIGHT: castle.CASTLE_RAMPAGE_CARD_KNIGHT,
    castle.CASTLE_RAMPAGE_UNIT_ARCHER: castle.CASTLE_RAMPAGE_CARD_ARCHER,
    castle.CASTLE_RAMPAGE_UNIT_AXE_MAN: castle.CASTLE_RAMPAGE_CARD_AXE_MAN,
}
Ways = list[tuple[int, game_pb2.MatchAction]]  # Actions that differ in their discards, by number.
Play = castle.CastleRampageAction.Play | castle.CastleRampageEvent.Played


class Drawing(drawing.Drawing):
    """Draws Castle Rampage."""

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.specs = {spec.card: spec for spec in game.default_ruleset.castle_rampage.cards}
        self.names = self.enum_titles(castle.CastleRampageCard.DESCRIPTOR)
        # The catalog has their titles as headings of the two defences of each card.
        numbers = game.cards[0].numbers if game.cards else ()
        titles = [number.title for number in numbers[:2]]
        self.structures = dict(enumerate(titles or ["Gate", "Castle"], 1))

    def scene(self, view: game_pb2.View) -> Hashable:
        state = view.castle_rampage
        return state.set_ups, state.turn, bool(view.deciders)

    def title(self, view: game_pb2.View) -> Text:
        state = view.castle_rampage
        if state.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP:
            title = Text(f"Set-up {state.set_ups + 1}; ", style="bold")
            title.append_text(self.seat_name(state.active)).append(" will start", style="not bold")
        else:
            title = Text(f"Turn {state.turn}, ", style="bold")
            title.append_text(self.seat_name(state.active))
        piles = f"; draw pile {state.draw_size}, discard pile {len(state.discards)}"
        return title.append(piles, style="not bold")

    def view(self, view: game_pb2.View) -> RenderableType:
        state = view.castle_rampage
        parts: list[RenderableType] = [self._sides(state)]
        lists = {"discards": state.discards, "not seen": state.unseen}
        piles_table = Table.grid(padding=(0, 2, 0, 0))
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
        yield self.view(view), self.menu(view)
        state = view.castle_rampage
        if state.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP or not view.legal_actions:
            sides, hand = self._sides(state, fallen=False), self._hand(state, texts=False)
            yield Group(sides, hand), self.menu(view)
            return
        # The menu says what is in hand, once for equal cards.
        menu = self._hand_menu(view)
        yield self._sides(state), menu
        yield self._sides(state, fallen=False), menu

    def question(self, view: game_pb2.View) -> str:
        if view.castle_rampage.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP:
            gate, tower = self.structures.values()
            return f"Share out five cards: two for the {gate}, two for the {tower}, one to keep:"
        return "Your turn: play cards, put one under a structure, or end it:"

    # Events.

    def happened(self, what: Any) -> Text | None:
        kind = what.WhichOneof("event")
        if kind == "shuffled":
            cards = drawing.number_of_cards(what.shuffled.count)
            return Text(f"the draw pile is shuffled: {cards}", style="dim")
        if kind == "turn_started":
            line = Text(f"Turn {what.turn_started.turn}, ", style="bold")
            return line.append_text(self.seat_name(what.seat))
        told = self._told(what)
        return self.line(what.seat, *told) if told else None

    def _told(self, what: castle.CastleRampageEvent) -> tuple[str, str] | None:
        # Returns what a seat did, and the style of the text.
        match what.WhichOneof("event"):
            case "drawn":
                cards = self.listed(what.drawn.cards) or drawing.number_of_cards(what.drawn.count)
                return f"draws {cards}", "dim"
            case "cards_set_up" if what.cards_set_up.keep:
                return f"sets up {self._set_up(what.cards_set_up)}", "dim"
            case "strengthened":
                done = what.strengthened
                card = self.names[done.card] if done.card else "a card"
                return f"puts {card} under the {self.structures[done.structure]}", "default"
            case "played":
                return f"plays {self._played(what.played)}", "bold default"
            case "discarded":
                at_random = what.discarded.reason == castle.CASTLE_RAMPAGE_DISCARD_REASON_RANDOM
                how = " at random" if at_random else ""
                return f"discards {self.listed(what.discarded.cards)}{how}", "default"
            case "revealed":
                shown = what.revealed
                where = self.structures[shown.structure]
                return (
                    f"reveals {self.names[shown.card]} in the {where}:"
                    f" defence {shown.defence} against {shown.strength}",
                    "default",
                )
            case "held":
                return f"holds: {self.names[what.held.card]} goes back face down", "green"
            case "destroyed":
                lost = what.destroyed
                where = f" of the {self.structures[lost.structure]}" if lost.structure else ""
                return f"loses {self.names[lost.card]}{where}", "red"
            case "returned":
                return f"takes {self.names[what.returned.card]} back", "default"
            case "looked":
                return self._looked(what.looked), "default"
            case "hand_shown":
                return f"shows the hand: {self.listed(what.hand_shown.cards) or 'empty'}", "default"
            case "turn_cut":
                return "has made as many decisions as a turn can have", "default"
        return None

    def _looked(self, looked: castle.CastleRampageEvent.Looked) -> str:
        seen = [
            f"{self.names[card]} on the {where}"
            for card, where in zip(
                (looked.gate, looked.castle), self.structures.values(), strict=True
            )
            if card
        ]
        return f"looks at {', '.join(seen) or 'the top cards of both structures'}"

    # Actions.

    def action(self, action: game_pb2.MatchAction) -> str:
        what = action.castle_rampage
        match what.WhichOneof("action"):
            case "set_up":
                return self._set_up(what.set_up)
            case "strengthen":
                where = self.structures[what.strengthen.structure]
                done = self.say("{} under the {}").format(self.names[what.strengthen.card], where)
                return self._paid(done, what.strengthen.discards)
            case "play":
                return self._paid(self._played(what.play), what.play.discards)
        return self.say("end the turn")

    def _set_up(
        self, cards: castle.CastleRampageAction.SetUp | castle.CastleRampageEvent.CardsSetUp
    ) -> str:
        gate, tower = self.structures.values()
        return (
            f"{gate} {self._row(cards.gate)}; {tower} {self._row(cards.castle)};"
            f" {self.say('keep {}').format(self.names[cards.keep])}"
        )

    def _played(self, play: Play) -> str:
        name = self.names[play.card]
        match play.WhichOneof("choice"):
            case "extra" if play.extra:
                return self.say("{} with bonus").format(name)
            case "unit":
                return self.say("{} against {}").format(name, self.names[UNIT_CARDS[play.unit]])
            case "permanent":
                return self.say("{} against {}").format(name, self.names[play.permanent])
        return name

    def _paid(self, done: str, discards: Iterable[int]) -> str:
        cards = self._row(discards)
        return self.say("{}, discarding {}").format(done, cards) if cards else done

    def menu(self, view: game_pb2.View) -> RenderableType:
        if view.castle_rampage.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP:
            return Text(
                'Type all five in this order, by number or name ("1 3 2 2 5"), the upper one of two'
                f' first; "list" with words shows some of the {len(view.legal_actions)} choices.',
                style="dim",
            )
        groups = self._groups(view)
        under = [group for _, group in groups if group[0][1].castle_rampage.HasField("strengthen")]
        parts: list[RenderableType] = [self._under(under)] if under else []
        parts.append(self._plays(groups[len(under) :]))
        if any(len(group) > 1 for _, group in groups):
            hint = (
                'Name what to discard too ("dragon spy archer"); "list" with words shows the ways.'
            )
            parts.append(Text(f"      {hint}", style="dim"))
        return Group(*parts)

    def _under(self, groups: Sequence[Ways]) -> RenderableType:
        # A row for each card; the numbers are those of its actions, by structure.
        table = Table(box=None, padding=(0, 2, 0, 4), show_edge=False, header_style="dim")
        table.add_column("under", no_wrap=True)
        for title in self.structures.values():
            table.add_column(title, justify="right", style="bold yellow")
        table.add_column("", style="dim")
        for gate, tower in zip(groups[::2], groups[1::2], strict=True):
            card = gate[0][1].castle_rampage.strengthen.card
            table.add_row(self.names[card], _numbers(gate), _numbers(tower), _ways(gate))
        return table

    def _plays(self, groups: Sequence[tuple[str, Ways]]) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
        table.add_column(justify="right", style="bold yellow", no_wrap=True, min_width=4)
        table.add_column(no_wrap=True)
        table.add_column(style="dim")
        for label, group in groups:
            action = group[0][1]
            shown = label if len(group) > 1 else self.action(action)
            notes = filter(None, (self._strength(action), _ways(group)))
            table.add_row(_numbers(group), shown, ", ".join(notes))
        return table

    def _hand_menu(self, view: game_pb2.View) -> RenderableType:
        # A row for each card in hand: its numbers, and the actions with it.
        under: dict[castle.CastleRampageCard, list[str]] = {}
        plays: dict[castle.CastleRampageCard, list[str]] = {}
        end = ""
        for _, ways in self._groups(view):
            what = ways[0][1].castle_rampage
            match what.WhichOneof("action"):
                case "strengthen":
                    under.setdefault(what.strengthen.card, []).append(_numbers(ways))
                case "play":
                    how = self._played(what.play).removeprefix(self.names[what.play.card]).strip()
                    plays.setdefault(what.play.card, []).append(f"{how} {_numbers(ways)}".strip())
                case _:
                    end = _numbers(ways)
        table = self._cards_table(numbered=False)
        table.add_column("under", style="bold yellow", no_wrap=True)
        table.add_column("play", style="bold yellow")
        for card, count in Counter(view.castle_rampage.hand).items():
            name = self.names[card] + (f"×{count}" if count > 1 else "")
            table.add_row(
                Text(name, style="bold"),
                *self._card_numbers(card),
                "/".join(under.get(card, ())),
                ", ".join(plays.get(card, ())),
            )
        hint = Text(f"under {'/'.join(self.structures.values())}; ", style="dim")
        hint.append(end, style="bold yellow not dim").append(": end the turn; ")
        hint.append('7-9: add discards ("dragon spy"); c: effects')
        return Group(table, hint)

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
        return f"attack {spec.attack + spec.bonus * play.extra}"

    def numbers_are_cards(self, view: game_pb2.View) -> bool:
        return view.castle_rampage.phase == castle.CASTLE_RAMPAGE_PHASE_SET_UP

    def read_cards(self, view: game_pb2.View, words: Sequence[str]) -> list[int]:
        cards = self.cards_in_hand(view.castle_rampage.hand, words)
        found = [
            place
            for place, action in enumerate(view.legal_actions)
            if _order(action)[: len(cards)] == cards
        ]
        if not found:
            raise drawing.Unclear("These are not five of your cards, each as often as you have it.")
        return found

    def words(self, action: game_pb2.MatchAction) -> list[str]:
        # Only the words that distinguish actions: "knight" means to play one.
        return [word for word in super().words(action) if word not in ("the", "discarding")]

    # The parts of a view.

    def _sides(self, state: castle.CastleRampageView, *, fallen: bool = True) -> RenderableType:
        sides = [state.sides[seat] for seat in self.order]
        rows: dict[str, list[RenderableType]] = {
            "hand": [drawing.number_of_cards(side.hand_size) for side in sides]
        }
        permanents = [self._permanents(side) for side in sides]
        if any(permanents):
            rows["permanent"] = [cards or "-" for cards in permanents]
        for structure, title in self.structures.items():
            rows[title] = [self._stack(state, seat, structure, fallen) for seat in self.order]
        table = self.side_by_side(rows)
        own = state.sides[self.seat]
        if any(card.known for stack in (own.gate, own.castle) for card in stack.standing):
            legend = Text("* your opponent knows it too", style="dim")
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
            text.append(f"; lost {len(stack.fallen)}", style="dim")
        elif stack.fallen:
            text.append(f"\nlost {self.listed(stack.fallen)}", style="dim")
        return text

    def _hand(self, state: castle.CastleRampageView, *, texts: bool = True) -> RenderableType:
        table = self._cards_table(numbered=True)
        table.add_column("")
        effects = {card.title: card.text for card in self.game.cards} if texts else {}
        for n, card in enumerate(state.hand, 1):
            text = Text(effects.get(self.names[card], ""), style="dim")
            name = Text(self.names[card], style="bold")
            table.add_row(str(n), name, *self._card_numbers(card), text)
        if state.kept:
            table.add_row("kept", Text(self.names[state.kept], style="bold"))
        return table

    def _cards_table(self, *, numbered: bool) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        if numbered:
            table.add_column("", style="dim", justify="right", min_width=9)
        table.add_column("your hand", no_wrap=True)
        for name in NUMBERS:
            structure = {"gate": 1, "castle": 2}.get(name)
            title = self.structures[structure] if structure else name
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

    def _row(self, cards: Iterable[int]) -> str:
        return ", ".join(self.names[card] for card in cards)


def _order(action: game_pb2.MatchAction) -> list[int]:
    set_up = action.castle_rampage.set_up
    return [*set_up.gate, *set_up.castle, set_up.keep]


def _numbers(group: Ways) -> str:
    first, last = group[0][0], group[-1][0]
    return f"{first}" if first == last else f"{first}-{last}"


def _ways(group: Ways) -> str:
    return f"{len(group)} ways to discard" if len(group) > 1 else ""
