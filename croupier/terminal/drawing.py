"""Draws games. `Drawing` draws any game from its messages alone.

A game that deserves better has a subclass of it: the class `Drawing` of the module `api.drawing` in
the package of the game. Where that package is not installed, the game is drawn like any other.
"""

import re
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from itertools import groupby
from typing import Any, ClassVar

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from rich.cells import cell_len, set_cell_size
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from croupier.messages import GameMessages
from croupier.phrases import Told, Words, capital, kind_of, over_sentence
from croupier.terminal import texts
from croupier.v1 import catalog_pb2, game_pb2

GAMES = "croupier.games"  # The entry points of the packages of games.
SEAT_STYLES = ("cyan", "magenta")
LONG_LIST = 64  # Actions that are listed at once, and fewer where they do not fit the screen.
SHORT_LISTS = (32, 16, 8)
LONG_NAME = 14  # Columns of a player's name in a heading.
MAX_DIGITS = 9  # Of a number that somebody types.
LABELS = 9  # The width of the column of labels left of the sides.
FRIEND = "friend"  # An opponent who has given no name.
_SIDES = ("sides", "seats", "players")
_HIDDEN = re.compile("unseen.*|.*history|.*memory")  # Of what was seen; as the page leaves out.
_QUIET_AT_ZERO = (FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_ENUM)


def number_of(typed: str) -> int | None:
    """Returns the number that somebody has typed; None if it is none, or one of no use."""
    return int(typed) if typed.isdecimal() and len(typed) <= MAX_DIGITS else None


class Unclear(ValueError):
    """The typed text does not name an action; the message says why."""


class Rows(Table):
    """A table that is told row by row, each value after its heading, where it would be cut."""

    otherwise: RenderableType | None = None  # What is drawn there instead.

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        padding = len(self.columns) * (self.padding[1] + self.padding[3])
        sizes = [self._size(column, console, options) for column in self.columns]
        spare = options.max_width - padding - sum(size.minimum for size in sizes)
        if spare >= 0:
            widths = [size.minimum for size in sizes]
            while spare and (low := [n for n, most in enumerate(sizes) if widths[n] < most[1]]):
                widths[min(low, key=widths.__getitem__)] += 1
                spare -= 1
            for column, width in zip(self.columns, widths, strict=True):
                column.width = width
            yield from super().__rich_console__(console, options)
        elif self.otherwise is not None:
            yield self.otherwise
        else:
            for row in zip(*(column.cells for column in self.columns), strict=True):
                yield from self._told(row, options.max_width)

    def _size(self, column: Column, console: Console, options: ConsoleOptions) -> Measurement:
        # How wide a column is at least, so that no word is cut, and at most.
        cells = [*column.cells, *([column.header] if self.show_header else [])]
        free = options.update(max_width=1000)
        sizes = [Measurement.get(console, free, cell) for cell in cells]
        most = max(column.min_width or 0, *(size.maximum for size in sizes), 0)
        if column.no_wrap:
            return Measurement(most, most)
        least = max(column.min_width or 0, *(size.minimum for size in sizes), 0)
        return Measurement(least, options.max_width if self.expand else most)

    def _told(self, row: Sequence[RenderableType], width: int) -> Iterable[RenderableType]:
        lines = [Text()]
        for column, cell in zip(self.columns, row, strict=True):
            value = cell.copy() if isinstance(cell, Text) else Text(str(cell))
            if value.plain.strip() in ("", "·"):
                continue
            value = Text("; ").join(value.split())
            value.stylize_before(column.style)
            # What is no number says itself what it is, unless it is that of one of two sides.
            named = column.header and (self.expand or value.plain[0].isdigit())
            part = Text.assemble((f"{column.header}: " if named else "", "dim"), value)
            if lines[-1] and lines[-1].cell_len + 2 + part.cell_len > width:
                lines.append(Text("  "))
            lines[-1].append("  " if lines[-1].plain.strip() else "").append_text(part)
        return lines


class Drawing:
    """Draws one game, as one seat sees it against one opponent.

    What is said are the phrases of the game, in the language of its description; `opponent` is a
    name, `FRIEND`, or such as "casual bot".
    """

    STYLES: ClassVar[Mapping[str, str]] = {}  # Of what kinds of events tell.
    UNTOLD: ClassVar[Container[str]] = ()  # Kinds of events that are not worth a line.
    # Whether whoever draws lists all legal actions by number: then nothing else is numbered.
    lists_actions = False

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        self.game = game
        self.messages = GameMessages(game)
        self.name = self.messages.name
        self.seat = seat
        self.order = (seat, 1 - seat)
        self.opponent = opponent
        self.say = texts.in_language(game.language_code)
        self.words = Words(game, self.who, seat)
        self.names: Mapping[int, str] = {}  # Of the cards, by number, where they are an enum.

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
        kind = kind_of(what)
        if kind is None or kind.name in self.UNTOLD:
            return None
        return self.line(self.words.tell("event", what), self.STYLES.get(kind.name, "default"))

    def over(self, view: game_pb2.View) -> str:
        """Says why a match is over, in the language of the description of the game."""
        return over_sentence(self.words, view)

    def result(self, view: game_pb2.View) -> str:
        """Says who has won a match, in a sentence, the winner's score first."""
        scores = list(view.result.scores)
        if not scores:
            return self.say("The match has no result.")
        best = scores.index(max(scores))
        shown = [f"{score:g}".replace(".", self.say(".")) for score in sorted(scores, reverse=True)]
        if scores[best] == scores[1 - best]:
            return self.say("A draw: {} each.").format(shown[0])
        told = "You win, {1} to {2}." if best == self.seat else "{0} wins, {1} to {2}."
        return self.say(told).format(capital(self.who(best)), *shown)

    def question(self, view: game_pb2.View) -> str:
        """Asks what the seat has to decide."""
        return self.say("Choose one of {}:").format(len(view.legal_actions))

    def action(self, action: game_pb2.MatchAction) -> str:
        """Describes an action in a few words."""
        return self.words.sentence("action", self.inner(action))

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
        views = list(self.views(view, width))
        menus = list(self.menus(view)) if view.legal_actions else [Text()]
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
        found = []
        whole = []
        for place, action in enumerate(view.legal_actions):
            names = _words(" ".join(self.words.names(self.inner(action))))
            others = [word for word in _words(self.action(action)) if word not in names]
            if _begin(wanted, names + others):
                found.append(place)
                whole += [place] if len(names) == len(wanted) else []
        return whole if len(whole) == 1 else found

    def example(self, view: game_pb2.View) -> str:
        """Returns what can be typed for one of the legal actions."""
        action = view.legal_actions[-1]
        return " ".join(self.words.names(self.inner(action)) or [self.action(action)]).lower()

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

    def table(self, name: str, **given: object) -> str:
        """Returns words of the drawing, the phrase "table." and their name."""
        return self.words.word(f"table.{name}", **given)

    def who(self, seat: int) -> str:
        """Returns how the player calls a seat within a sentence: "you", "the bot", or a name."""
        if seat == self.seat:
            return self.words.word("word.you")
        if self.opponent == FRIEND:
            return self.words.word("word.friend")
        return self.words.word("word.bot") if self.is_bot else cropped(self.opponent, LONG_NAME)

    @property
    def is_bot(self) -> bool:
        """Whether the opponent is a bot."""
        return self.opponent.endswith(" bot")

    def role(self, seat: int) -> str:
        """Returns who plays a seat, such as "you" or "casual bot"."""
        if seat == self.seat:
            return self.words.word("word.you")
        return self.say(self.opponent) if self.is_bot or self.opponent == FRIEND else self.opponent

    @property
    def opponent_said(self) -> str:
        """The opponent in the heading, such as "a casual bot"."""
        role = self.role(1 - self.seat)
        return self.say("a {}").format(role) if self.is_bot or self.opponent == FRIEND else role

    def seat_title(self, seat: int) -> str:
        """Returns the name of a seat in this game."""
        return self.words.seat_title(seat)

    def seat_name(self, seat: int) -> Text:
        """Returns the name of a seat, in its colour."""
        return Text(self.seat_title(seat), style=SEAT_STYLES[seat % 2])

    def player(self, seat: int) -> Text:
        """Returns the name of a seat and its player."""
        role = cropped(self.role(seat), LONG_NAME)
        return self.seat_name(seat).append(f" ({role})", style="not bold")

    def line(self, told: Told, style: str = "default") -> Text:
        """Returns a sentence, which begins with the seat that it is about, in its colour."""
        line = Text()
        if told.seat is not None:
            line.append(capital(self.who(told.seat)), style=SEAT_STYLES[told.seat % 2]).append(" ")
        return line.append(told.text, style=style)

    def listed(self, cards: Iterable[int]) -> str:
        """Returns the names of cards, equal ones counted."""
        return counted(self.names[card] for card in cards)

    def enum_titles(self, enum: EnumDescriptor) -> dict[int, str]:
        """Returns the title of each value of an enum, cards by their titles in the catalog."""
        return {value.number: self.words.enum(enum, value.number) for value in enum.values}

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
                    told = self.say("{}: number your cards 1 to {}, each once.")
                    raise Unclear(told.format(word, len(hand)))
                places.add(number)
                cards.append(hand[number - 1])
                continue
            meant = [card for card in dict.fromkeys(hand) if has_words(self.names[card], word)]
            if len(meant) != 1:
                which = self.say(" or ").join(self.names[card] for card in meant)
                told = f"{{}}: {which}?" if meant else self.say("{}: not in your hand.")
                raise Unclear(told.format(word))
            cards.append(meant[0])
        return cards

    def numbers_in_hand(self, hand: Sequence[int], cards: Iterable[int]) -> str:
        """Returns cards by their numbers in hand, as `cards_in_hand` reads them."""
        left = list(enumerate(hand, 1))
        numbers = []
        for card in cards:
            place = next(each for each in left if each[1] == card)
            left.remove(place)
            numbers.append(str(place[0]))
        return " ".join(numbers)

    def side_by_side(self, rows: Mapping[str, Sequence[RenderableType]]) -> Table:
        """Draws what both sides have, in the order of `order`, by label."""
        grid = table()
        grid.expand = True
        grid.add_column(no_wrap=True, style="dim", min_width=LABELS)
        for seat in self.order:
            grid.add_column(self.player(seat))
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
        more = self.say('and {} more: "list", or with words "list {}", shows them')
        said = [self.action(each) for each in view.legal_actions]
        words = filter(str.isalpha, _words(said[places[-1]]))
        # The word that tells most.
        word = min(words, key=lambda each: sum(has_words(text, each) for text in said), default="1")
        return Group(columns, Text(f"      {more.format(len(places) - most, word)}", style="dim"))

    # The drawing of any message.

    def _fields(self, message: Message, path: str = "") -> Iterable[RenderableType]:
        plain = Rows.grid(padding=(0, 2))
        plain.add_column(style="dim", no_wrap=True)
        plain.add_column()
        nested: list[RenderableType] = []
        for field in message.DESCRIPTOR.fields:
            if self._is_left_out(path, field):
                continue
            value = getattr(message, field.name)
            own = self._own_words(path, field)
            if _is_sentence(own):
                if field.message_type or _says_something(message, field, value):
                    said = {
                        each.name: self.words.field(message, each)
                        for each in message.DESCRIPTOR.fields
                        if not each.message_type
                    }
                    nested.append(Text(self.words.fill(own, said)))
            elif field.message_type is None:
                if _says_something(message, field, value):
                    plain.add_row(self._label(path, field), self._value(field, value))
            elif field.is_repeated and value:
                nested.append(Text(self._label(path, field), style="dim"))
                nested.append(Padding(self._items(field, value, path), (0, 0, 0, 2)))
            elif not field.is_repeated and message.HasField(field.name):
                nested.append(Text(self._label(path, field), style="dim"))
                inner = self._fields(value, f"{path}{field.name}.")
                nested.append(Padding(Group(*inner), (0, 0, 0, 2)))
        if plain.row_count:
            yield plain
        yield from nested

    def _is_left_out(self, path: str, field: Any) -> bool:
        # What nobody would look at; a game says so of its own fields by an empty phrase.
        hidden = self.words.phrases.get(f"view.{path}{field.name}") == ""
        return hidden or field.type == field.TYPE_BYTES or bool(_HIDDEN.fullmatch(field.name))

    def _own_words(self, path: str, field: Any) -> str:
        phrases = self.words.phrases
        return phrases.get(f"view.{path}{field.name}") or phrases.get(f"view.{field.name}", "")

    def _label(self, path: str, field: Any) -> str:
        own = self._own_words(path, field)
        return field.name.replace("_", " ") if not own or _is_sentence(own) else own

    def _items(self, field: Any, items: Sequence[Message], path: str) -> RenderableType:
        path = f"{path}{field.name}."
        columns = [
            each
            for each in field.message_type.fields
            if not self._is_left_out(path, each)
            and any(_says_something(item, each, getattr(item, each.name)) for item in items)
        ]
        sides = field.name in _SIDES and len(items) == 2
        if any(column.message_type for column in columns):
            return Group(
                *(
                    Group(
                        self.player(place) if sides else Text(f"{place}", style="dim"),
                        Padding(Group(*self._fields(item, path)), (0, 0, 0, 2)),
                    )
                    for place, item in enumerate(items)
                )
            )
        grid = table(*[""][not sides :], *(self._label(path, column) for column in columns))
        for place, item in enumerate(items):
            values = (
                self._value(column, getattr(item, column.name))
                if not column.has_presence or item.HasField(column.name)
                else Text("-")
                for column in columns
            )
            grid.add_row(*[self.player(place)][not sides :], *values)
        return grid

    def _value(self, field: Any, value: Any) -> Text:
        values = value if field.is_repeated else [value]
        if not field.is_repeated and self.words.names_seat(field):
            return self.seat_name(value)
        # A list may be in an order that says something.
        runs = groupby(self.words.value(field, each).text for each in values)
        said = ", ".join(filter(None, (counted(same) for _, same in runs)))
        return Text(said) if said else Text("-", style="dim")


def _is_sentence(phrase: str) -> bool:
    # Whether it says the value of a field too, or else only what the field is called.
    return "{" in phrase


def find(game: catalog_pb2.Game, seat: int, opponent: str) -> Drawing:
    """Returns the drawing made for a game, or the one for any game."""
    return _kind(game.name.removeprefix("games/"))(game, seat, opponent)


@cache
def _kind(game_id: str) -> type[Drawing]:
    # To look through all distributions takes 10 ms.
    for entry in entry_points(group=GAMES, name=game_id):
        if (files(entry.value) / "api/drawing.py").is_file():
            kind: type[Drawing] = import_module(f"{entry.value}.api.drawing").Drawing
            return kind
    return Drawing


def table(*headings: str, right: Iterable[str] = ()) -> Rows:
    """Returns an empty table without lines; the columns of `right` are aligned to the right."""
    made = Rows(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
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
