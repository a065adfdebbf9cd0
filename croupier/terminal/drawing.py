"""Draws games. `Drawing` draws any game from its messages alone.

A game that deserves better has a subclass of it, which a distribution names by the id of the game
among its entry points, in the group `croupier.drawings`.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from rich.cells import cell_len, set_cell_size
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from croupier import enums
from croupier.messages import GameMessages
from croupier.phrases import over_sentence, pieces
from croupier.terminal import texts
from croupier.v1 import catalog_pb2, game_pb2

GROUP = "croupier.drawings"
SEAT_STYLES = ("cyan", "magenta")
LONG_LIST = 64  # Actions that are listed at once, and fewer where they do not fit the screen.
SHORT_LISTS = (32, 16, 8)
LONG_NAME = 14  # Columns of a player's name in a heading.
MAX_DIGITS = 9  # Of a number that somebody types.
LABELS = 9  # The width of the column of labels left of the sides.
_CARDS = re.compile(r"(.*_)?cards?")  # The names of fields that hold the ids of cards.
_QUIET_AT_ZERO = (FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_ENUM)


def number_of(typed: str) -> int | None:
    """Returns the number that somebody has typed; None if it is none, or one of no use."""
    return int(typed) if typed.isdecimal() and len(typed) <= MAX_DIGITS else None


class Unclear(ValueError):
    """The typed text does not name an action; the message says why."""


class Drawing:
    """Draws one game, as one seat sees it against one opponent."""

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        self.game = game
        self.messages = GameMessages(game)
        self.name = self.messages.name
        self.seat = seat
        self.order = (seat, 1 - seat)
        self.say: texts.Say = str  # The words of actions; in English, in which they are typed.
        self.roles = {seat: "you", 1 - seat: opponent}
        self.titles = {card.id: card.title for card in game.cards}
        self.names: Mapping[int, str] = {}  # Of the cards, by number, where they are an enum.
        self.width = max(len(self.seat_title(s)) for s in self.order)

    # Methods that a subclass overrides.

    def read_ruleset(self, view: game_pb2.View) -> None:
        """Takes from the first view what the rest needs to know of the ruleset."""

    def title(self, view: game_pb2.View) -> Text:
        """Says in a line where the match is."""
        return Text(self.game.title, style="bold")

    def scene(self, view: game_pb2.View) -> Hashable:
        """Returns a key: with --auto, the view is drawn again when it has changed; None: never."""
        scene: bytes = self.inner(view).SerializeToString(deterministic=True)
        return scene

    def view(self, view: game_pb2.View) -> RenderableType:
        """Draws the whole view, without its title."""
        return Group(*self._fields(self.inner(view)))

    def views(self, view: game_pb2.View, width: int) -> Iterable[RenderableType]:
        """Draws the view for a screen of `width` columns: first the whole view, then ever less."""
        yield self.view(view)

    def event(self, event: game_pb2.MatchEvent) -> Text | None:
        """Tells an event in a line; None if it is not worth one."""
        if not self.messages.is_event(event):
            return None
        return self.happened(self.inner(event, "event"))

    def happened(self, what: Any) -> Text | None:
        """Tells an event of this game in a line; None if it is not worth one."""
        return self._said("event", what)

    def over(self, view: game_pb2.View) -> str:
        """Says why a match is over, in the language of the description of the game."""
        names = [printable(each.display_name or each.key_name) for each in view.players]
        return over_sentence(self.game, view, names)

    def question(self, view: game_pb2.View) -> str:
        """Asks what the seat has to decide."""
        return f"Choose one of {len(view.legal_actions)}:"

    def action(self, action: game_pb2.MatchAction) -> str:
        """Describes an action in a few words."""
        return self._said("action", self.inner(action)).plain

    def menu(self, view: game_pb2.View) -> RenderableType:
        """Shows the legal actions in a form from which one is easily named."""
        return self.numbered(view, range(len(view.legal_actions)))

    def menus(self, view: game_pb2.View) -> Iterable[RenderableType]:
        """Draws the menu: first the whole menu, then ever less."""
        yield self.menu(view)
        for most in SHORT_LISTS:
            if len(view.legal_actions) > most:
                yield self.numbered(view, range(len(view.legal_actions)), most)

    def screens(
        self, view: game_pb2.View, width: int
    ) -> Iterable[tuple[RenderableType, RenderableType]]:
        """Draws the view and the menu: first all of both, then ever less of them."""
        views, menus = list(self.views(view, width)), list(self.menus(view))
        yield from ((each, menus[0]) for each in views)
        yield from ((views[-1], each) for each in menus[1:])

    def read(self, view: game_pb2.View, typed: str) -> list[int]:
        """Returns the places of the legal actions that the typed text can mean; raises Unclear.

        A number is a place in the list, counted from 1. Words are the beginnings of words of an
        action; they mean the actions that have all of them, or only the one that has no others.
        """
        if self.numbers_are_cards(view) and not typed.startswith("#"):
            return self.read_cards(view, re.findall(r"[^\s,+]+", typed.lower()))
        number = number_of(typed.removeprefix("#"))
        if number is not None:
            return [number - 1] if number - 1 in range(len(view.legal_actions)) else []
        wanted = _words(typed)
        labels = [self.words(action) for action in view.legal_actions]
        found = [place for place, words in enumerate(labels) if _begin(wanted, words)]
        whole = [place for place in found if len(labels[place]) == len(wanted)]
        return whole if len(whole) == 1 else found

    def words(self, action: game_pb2.MatchAction) -> list[str]:
        """Returns the words by which an action can be named."""
        return _words(self.action(action))

    def numbers_are_cards(self, view: game_pb2.View) -> bool:
        """Returns whether a number that is typed means a card in hand; then #1 means an action."""
        return False

    def read_cards(self, view: game_pb2.View, words: Sequence[str]) -> list[int]:
        """Returns the places of the legal actions with the cards that are named; raises Unclear."""
        raise NotImplementedError

    # Methods that subclasses use.

    def inner(self, message: Message, oneof: str = "game") -> Any:
        """Returns the game's own part of a view, an action, an event or a ruleset."""
        return self.messages.read(message, oneof)

    def seat_title(self, seat: int) -> str:
        """Returns the name of a seat in this game."""
        titles = self.game.seat_titles
        return titles[seat] if seat < len(titles) else f"Seat {seat}"

    def seat_name(self, seat: int, *, width: int = 0) -> Text:
        """Returns the name of a seat, in its colour."""
        return Text(self.seat_title(seat).ljust(width), style=SEAT_STYLES[seat % 2])

    def player(self, seat: int) -> Text:
        """Returns the name of a seat and its player."""
        role = cropped(self.roles.get(seat, ""), LONG_NAME)
        return self.seat_name(seat).append(f" ({role})", style="not bold")

    def line(self, seat: int, text: str, style: str = "default") -> Text:
        """Returns a line about a seat."""
        return self.seat_name(seat, width=self.width + 2).append(text, style=style)

    def listed(self, cards: Iterable[int]) -> str:
        """Returns the names of cards, equal ones counted."""
        return counted(self.names[card] for card in cards)

    def enum_titles(self, enum: EnumDescriptor) -> dict[int, str]:
        """Returns the title of each value of an enum, cards by their titles in the catalog."""
        return {value.number: self._enum(enum, value.number) for value in enum.values}

    def cards_in_hand(self, hand: Sequence[int], words: Iterable[str]) -> list[int]:
        """Returns the cards that are named by number or by the beginning of a name; raises Unclear.

        A name means any card of that name, a number one certain card.
        """
        cards = []
        places: set[int] = set()
        for word in words:
            number = number_of(word)
            if number is not None:
                if number - 1 not in range(len(hand)) or number in places:
                    raise Unclear(f"{word}: number your cards 1 to {len(hand)}, each once.")
                places.add(number)
                cards.append(hand[number - 1])
                continue
            meant = [card for card in dict.fromkeys(hand) if has_words(self.names[card], word)]
            if len(meant) != 1:
                which = " or ".join(self.names[card] for card in meant)
                raise Unclear(f"{word}: {which}?" if meant else f"{word}: not in your hand.")
            cards.append(meant[0])
        return cards

    def side_by_side(self, rows: Mapping[str, Sequence[RenderableType]]) -> Table:
        """Draws what both sides have, in the order of `order`, by label."""
        grid = Table(box=None, padding=(0, 2, 0, 0), expand=True, show_edge=False)
        grid.add_column(no_wrap=True, style="dim", min_width=LABELS)
        for seat in self.order:
            grid.add_column(self.player(seat), ratio=1)
        for label, cells in rows.items():
            grid.add_row(label, *cells)
        return grid

    def numbered(
        self, view: game_pb2.View, places: Sequence[int], most: int = LONG_LIST
    ) -> RenderableType:
        """Lists some of the legal actions, with the numbers by which they can be chosen."""
        mark = "#" if self.numbers_are_cards(view) else ""
        shown = [
            Text(f"{mark}{place + 1}".rjust(4) + "  ", style="bold yellow").append(
                self.action(view.legal_actions[place]), style="not bold default"
            )
            for place in places[:most]
        ]
        columns = Columns(shown, padding=(0, 3), column_first=True)
        if len(places) <= most:
            return columns
        more = f'      and {len(places) - most} more: "list", or with words "list rook", shows them'
        return Group(columns, Text(more, style="dim"))

    # The drawing of any message.

    def _said(self, part: str, what: Any) -> Text:
        # Says an action or an event by the phrase of the game, or else by its fields.
        chosen: Any = [each for each in what.ListFields() if each[0].message_type]
        phrase = self.game.phrases.get(f"{part}.{chosen[0][0].name}") if chosen else None
        line = Text()
        if not phrase:
            self._phrase(line, what)
            return line
        field, inner = chosen[0]
        seats: Any = (each for each in (inner, what) if "seat" in each.DESCRIPTOR.fields_by_name)
        for text, name in pieces(phrase):
            line.append(text)
            if name == "seat":
                line.append_text(self.seat_name(next(seats, what).seat))
            elif name:
                found = field.message_type.fields_by_name[name]
                value = getattr(inner, name)
                if found.is_repeated and not value and hasattr(inner, "count"):
                    line.append(number_of_cards(inner.count))  # Cards that the reader does not see.
                else:
                    line.append_text(self._value(found, value))
        return line

    def _fields(self, message: Message) -> Iterable[RenderableType]:
        plain = Table.grid(padding=(0, 2))
        plain.add_column(style="dim", no_wrap=True)
        plain.add_column()
        nested: list[RenderableType] = []
        for field in message.DESCRIPTOR.fields:
            value = getattr(message, field.name)
            if field.message_type is None:
                if _says_something(message, field, value):
                    plain.add_row(self._label(field.name), self._value(field, value))
            elif field.is_repeated and value:
                nested.append(Text(self._label(field.name), style="dim"))
                nested.append(Padding(self._items(field, value), (0, 0, 0, 2)))
            elif not field.is_repeated and message.HasField(field.name):
                nested.append(Text(self._label(field.name), style="dim"))
                nested.append(Padding(Group(*self._fields(value)), (0, 0, 0, 2)))
        if plain.row_count:
            yield plain
        yield from nested

    def _label(self, field: str) -> str:
        return self.game.phrases.get(f"view.{field}") or _spaced(field)

    def _items(self, field: Any, items: Sequence[Message]) -> RenderableType:
        columns = field.message_type.fields
        if any(column.message_type for column in columns):
            sides = field.name == "sides"
            return Group(
                *(
                    Group(
                        self.player(place) if sides else Text(f"{place}", style="dim"),
                        Padding(Group(*self._fields(item)), (0, 0, 0, 2)),
                    )
                    for place, item in enumerate(items)
                )
            )
        grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for column in columns:
            grid.add_column(_spaced(column.name))
        for item in items:
            values = (
                self._value(column, getattr(item, column.name))
                if not column.has_presence or item.HasField(column.name)
                else Text("-")
                for column in columns
            )
            grid.add_row(*values)
        return grid

    def _phrase(self, line: Text, message: Message) -> None:
        # Appends the fields of a message; a field of a oneof with its name and its own fields.
        for field in message.DESCRIPTOR.fields:
            value = getattr(message, field.name)
            if not _says_something(message, field, value):
                continue
            if line.plain and not line.plain.endswith(" "):
                line.append(" ")
            if field.name not in ("card", "cards"):  # Not "place card card Ember".
                line.append(f"{_spaced(field.name)} ")
            if field.message_type is None:
                line.append_text(self._value(field, value))
            elif not field.is_repeated:
                self._phrase(line, value)
            line.rstrip()

    def _value(self, field: Any, value: Any) -> Text:
        if field.is_repeated:
            names = [self._value_of(field, item) for item in value]
            return Text(counted(names)) if names else Text("-", style="dim")
        if field.name == "seat" and not field.enum_type:
            return self.seat_name(value)
        return Text(self._value_of(field, value))

    def _value_of(self, field: Any, value: Any) -> str:
        if field.enum_type is not None:
            return self._enum(field.enum_type, value)
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return "yes" if value else "no"
        if _CARDS.fullmatch(field.name):
            return self.titles.get(str(value), str(value))
        return f"{value:g}" if isinstance(value, float) else str(value)

    def _enum(self, kind: EnumDescriptor, value: int) -> str:
        word = enums.words(kind).get(value)
        if word is None:
            return "-"
        for card_id in (kind.values_by_number[value].name, word.upper()):
            if card_id in self.titles:
                return self.titles[card_id]
        return _spaced(word).capitalize()


def find(game: catalog_pb2.Game, seat: int, opponent: str) -> Drawing:
    """Returns the drawing made for a game, or the one for any game."""
    return _kind(game.name.removeprefix("games/"))(game, seat, opponent)


@cache
def _kind(game_id: str) -> type[Drawing]:
    # To look through all distributions takes 10 ms.
    found = entry_points(group=GROUP, name=game_id)
    kind: type[Drawing] = next(iter(found)).load() if found else Drawing
    return kind


def table(*headings: str, right: Iterable[str] = ()) -> Table:
    """Returns an empty table without lines; the columns of `right` are aligned to the right."""
    made = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right else "left")
    return made


def printable(text: str) -> str:
    """Returns a stranger's text without what could act on a terminal, on one line.

    Left out is what is not printed: control characters, marks that turn the direction of writing.
    The joiners of Persian and emoji stay.
    """
    kept = "\u200c\u200d"
    return " ".join("".join(c if c.isprintable() or c in kept else " " for c in text).split())


def cropped(text: str, width: int) -> str:
    """Returns a text of at most `width` columns."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def number_of_cards(count: int) -> str:
    """Returns "1 card" or "2 cards"."""
    return "1 card" if count == 1 else f"{count} cards"


def counted(names: Iterable[str]) -> str:
    """Returns names in their order, equal ones counted: "Pawn×2, Sword"."""
    return ", ".join(f"{name}×{n}" if n > 1 else name for name, n in Counter(names).items())


def has_words(text: str, typed: str) -> bool:
    """Returns whether each typed word is the beginning of a word of the text."""
    return _begin(_words(typed), _words(text))


def _says_something(message: Message, field: Any, value: Any) -> bool:
    # A number that is 0 says something, unless it can be absent; an empty list, the first value of
    # an enum and a flag that is off do not.
    if field.is_repeated:
        return bool(value)
    if field.has_presence:
        return message.HasField(field.name)
    return bool(value) or field.cpp_type not in _QUIET_AT_ZERO


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def _begin(wanted: list[str], words: list[str]) -> bool:
    # Whether each wanted word is the beginning of a different word; longest first, since the
    # shortest fit most words.
    left = list(words)
    for prefix in sorted(wanted, key=len, reverse=True):
        match = next((word for word in left if word.startswith(prefix)), None)
        if match is None:
            return False
        left.remove(match)
    return True
