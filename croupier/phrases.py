"""Fills the phrases of the catalog: says actions, events and endings in the words of their game.

`Game.phrases` in the schema says what a phrase is, its fields in braces, its optional parts and its
variants. web/src/games/any/words.ts does the same for the web app.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from croupier.enums import words
from croupier.v1 import catalog_pb2, game_pb2, hint_pb2

BRACES = re.compile(r"{([^{}]*)}")
_PARTS = re.compile(r"\[([^\[\]]*)\]")
_BEGINS = re.compile(r"{(\w+)} ")  # A sentence about a seat begins with it.
_AT_LEAST = re.compile(r"(\d+)\+")
_CARD = re.compile(r"(.*_)?card")
_CARDS = re.compile(r"(.*_)?(cards|hand|trick|pile|deck|stock|discards|unseen)")
_SEAT = re.compile(r"seat|.+_seat|winner|leader|dealer|starter|kick_off")
ORIGIN = (
    "Played on from version {version} of {name}, as practice: whoever has the record of that match "
    "knows the cards."
)
UNLOGGED = "No server vouches for that record: its deal may be made up."


class Value(NamedTuple):
    """A value of a field, in words."""

    text: str
    keys: tuple[str, ...]  # With what a condition compares it.
    says: bool = True
    seat: int | None = None


class Field(NamedTuple):
    """The values of a field, one unless it is a list, and what is said where there are none."""

    values: Sequence[Value]
    hidden: str = "-"

    @property
    def says(self) -> bool:
        return any(value.says for value in self.values)


Fields = Mapping[str, Field]


class Told(NamedTuple):
    """A sentence: what it is about, if that is a seat, and the rest."""

    seat: int | None
    text: str


class Words:
    """Says what happens in a match of one game, in the language of the game's description.

    `who` returns how the reader calls a seat, such as "you" or "the bot", by default by its title;
    `reader` is the reader's own seat. A match with other cards than the game's own sets `cards`.
    """

    def __init__(
        self,
        game: catalog_pb2.Game,
        who: Callable[[int], str] | None = None,
        reader: int | None = None,
    ) -> None:
        self.phrases = dict(game.phrases)
        self._variants = _variants(game.phrases)
        self.cards = {card.id: card for card in game.cards}
        self.seat_titles = game.seat_titles
        self.units = {aspect.id: aspect.unit for aspect in game.aspects}
        self.who = who or self.seat_title
        self.reader = reader

    def seat_title(self, seat: int) -> str:
        """Returns what a seat is called in this game."""
        return self.seat_titles[seat] if seat < len(self.seat_titles) else f"Seat {seat}"

    def word(self, name: str, **given: object) -> str:
        """Returns a phrase with given values; the last part of its name if it is not there."""
        fields = {key: Field([Value(str(v), (str(v),))]) for key, v in given.items()}
        phrase = self._variant(name, fields) if given else self.phrases.get(name)
        if phrase is None:
            return _spaced(name.rpartition(".")[2])
        return self.fill(phrase, fields)

    def count(self, cards: int) -> str:
        """Returns "1 card" or "2 cards"."""
        return self.word("word.cards", count=cards)

    def listed(self, texts: Iterable[str]) -> str:
        """Returns "a, b and c": in their order, equal ones that follow each other counted."""
        runs = [(text, len(list(same))) for text, same in groupby(texts)]
        parts = [f"{n} × {text}" if n > 1 else text for text, n in runs]
        if len(parts) < 2:
            return "".join(parts)
        return f"{', '.join(parts[:-1])} {self.word('word.and')} {parts[-1]}"

    def why(
        self, hint: hint_pb2.Hint, describe: Callable[[game_pb2.MatchAction], str]
    ) -> list[str]:
        """Returns why the first action of a hint is advised, and the most likely answer: sentences.

        `describe` says an action in words.
        """
        told = [self._reason(each, describe) for each in hint.reasons]
        line = hint.actions[0].line if hint.actions else ()
        answer = next((step.action for step in line if step.seat != hint.seat), None)
        if answer is not None:
            told.append(self.word("reason.answer", action=describe(answer)))
        return told

    def _reason(
        self, reason: hint_pb2.Reason, describe: Callable[[game_pb2.MatchAction], str]
    ) -> str:
        chance = self.units.get(reason.aspect) == catalog_pb2.ASPECT_UNIT_CHANCE
        values = [reason.value, reason.other_value]
        cases = 10 if _of_cases(values[0], 10) != _of_cases(values[1], 10) else 100
        mark = self.word("word.decimal_mark")
        value, other_value = (
            str(_of_cases(each, cases)) if chance else f"{each:.1f}".replace(".", mark)
            for each in values
        )
        return capital(
            self.word(
                "reason.chance" if chance else "reason.amount",
                aspect=self.word(f"aspect.{reason.aspect}"),
                value=value,
                cases=cases,
                other_value=other_value,
                other=describe(reason.other_action),
            )
        )

    def tell(self, part: str, what: Any) -> Told:
        """Says an action or an event; without a phrase by the names of the schema."""
        chosen = kind_of(what)
        name = chosen.name if chosen else ""
        fields = self.fields(what)
        phrase = self._variant(f"{part}.{name}", fields)
        if phrase is None:
            return Told(None, self._plain(name, fields))
        begins = _BEGINS.match(phrase)
        seat = _seat(fields, begins[1]) if begins else None
        if begins is None or seat is None:
            return Told(None, capital(self.fill(phrase, fields)))
        return Told(seat, self.fill(phrase[begins.end() :], fields, seat))

    def sentence(self, part: str, what: Any) -> str:
        """Says an action or an event in one piece."""
        told = self.tell(part, what)
        return told.text if told.seat is None else capital(f"{self.who(told.seat)} {told.text}")

    def names(self, what: Any) -> list[str]:
        """Returns the words by which an action differs from others of its kind."""
        fields = self.fields(what).items()
        return [
            name if value.keys == ("true",) else value.text
            for name, field in fields
            for value in field.values
            if value.says
        ]

    def fill(self, phrase: str, fields: Fields, seat: int | None = None) -> str:
        """Returns a phrase with its values; a field that is not there stays in its braces."""
        if seat is None:
            named = (_seat(fields, name) for name in BRACES.findall(phrase))
            seat = next((each for each in named if each is not None), _seat(fields, "seat"))
        own = seat is not None and seat == self.reader

        def part(found: re.Match[str]) -> str:
            names = (name.partition(".")[0] for name in fields_of(found[1]))
            said = all(name in fields and fields[name].says for name in names)
            return found[1] if said else ""

        def value(found: re.Match[str]) -> str:
            other, choice, mine = found[1].partition("|")
            if choice:
                return mine if own else other
            name, _, at = found[1].partition(".")
            if name not in fields:
                return found[0]
            values, hidden = fields[name]
            if at:
                return values[int(at)].text if int(at) < len(values) else hidden
            return self.listed(value.text for value in values) or hidden

        return BRACES.sub(value, _PARTS.sub(part, phrase))

    def fields(self, what: Any) -> dict[str, Field]:
        """Returns the fields of an action or an event and of what is in it."""
        chosen = kind_of(what)
        outer = [(what, f) for f in what.DESCRIPTOR.fields if not f.message_type]
        inner = getattr(what, chosen.name) if chosen else None
        pairs = outer + ([(inner, f) for f in inner.DESCRIPTOR.fields] if inner else [])
        return {f.name: self.field(message, f) for message, f in pairs if not f.message_type}

    def field(self, message: Any, field: Any) -> Field:
        """Returns a field of a message, in words."""
        value = getattr(message, field.name)
        hidden = "-"
        if self.holds_cards(field):
            hidden = self.word("word.card")
            if field.is_repeated:
                count = getattr(message, "count", 0)
                hidden = self.count(count) if count else self.word("word.no_cards")
        if field.is_repeated:
            return Field([self.value(field, each) for each in value], hidden)
        if field.has_presence and not message.HasField(field.name):
            return Field((), hidden)
        said = self.value(field, value)
        return Field([] if field.enum_type and not value else [said], hidden)

    def value(self, field: Any, value: Any) -> Value:
        """Returns one value of a field, in words."""
        key = f"{value:g}" if isinstance(value, float) else str(value)
        if field.enum_type:
            key = words(field.enum_type).get(value, "")
        elif field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            key = key.lower()
        named = self.phrases.get(f"value.{field.name}.{key}")
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return Value(named or self.word("word.yes" if value else "word.no"), (key,), value)
        if self.names_seat(field):
            return Value(self.who(value), (key,), seat=value)
        if self.holds_cards(field):
            kind = field.enum_type
            card = self._card(kind, value) if kind else self.cards.get(key)
            if card is not None:
                return Value(named or card.title, (card.id.lower(), card.kind.lower()))
        if field.enum_type:
            return Value(named or self.enum(field.enum_type, value), (key,), bool(value))
        return Value(named or key, (key,), bool(value or named or self.holds_cards(field)))

    def holds_cards(self, field: Any) -> bool:
        """Returns whether a field holds cards of the catalog."""
        if field.enum_type:
            kind = field.enum_type
            return any(self._card(kind, each.number) for each in kind.values)
        if field.cpp_type not in _IDS:
            return False
        cards = field.is_repeated and _CARDS.fullmatch(field.name)
        return bool(cards or _CARD.fullmatch(field.name))

    def names_seat(self, field: Any) -> bool:
        """Returns whether a field names a seat by its number."""
        if field.cpp_type not in _IDS[:-1]:
            return False
        return field.name == "seats" if field.is_repeated else bool(_SEAT.fullmatch(field.name))

    def enum(self, kind: EnumDescriptor, value: int) -> str:
        """Returns a value of an enum in words: the title of a card, or else its name."""
        card = self._card(kind, value)
        return card.title if card else _spaced(words(kind).get(value, "-")).capitalize()

    def _card(self, kind: EnumDescriptor, value: int) -> catalog_pb2.Card | None:
        named = kind.values_by_number.get(value)
        word = words(kind).get(value, "").upper()
        return self.cards.get(word) or (self.cards.get(named.name) if named else None)

    def _variant(self, name: str, fields: Fields) -> str | None:
        # The phrase of a name whose conditions hold, those with most of them first.
        for conditions, phrase in self._variants.get(name, ()):
            if all(_holds(condition, fields) for condition in conditions):
                return phrase
        return None

    def _plain(self, name: str, fields: Fields) -> str:
        said = [_spaced(name)]
        for key, field in fields.items():
            if field.says or any(value.keys == ("0",) for value in field.values):
                text = self.listed(value.text for value in field.values)
                said.append(text if key in ("card", "cards") else f"{_spaced(key)} {text}")
        return " ".join(said).strip()


_IDS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
    FieldDescriptor.CPPTYPE_STRING,
)


def kind_of(what: Any) -> Any:
    """Returns the field of an action or an event that is its kind; None if none is set."""
    return next((f for f, _ in what.ListFields() if f.message_type and f.containing_oneof), None)


def _variants(phrases: Mapping[str, str]) -> dict[str, list[tuple[list[str], str]]]:
    # By name: the conditions and the phrase of each variant, the most particular first.
    variants: dict[str, list[tuple[list[str], str]]] = {}
    for name in sorted(phrases, key=lambda each: (each.count("."), each), reverse=True):
        part, _, rest = name.partition(".")
        kind, *conditions = rest.split(".")
        variants.setdefault(f"{part}.{kind}", []).append((conditions, phrases[name]))
    return variants


def _of_cases(chance: float, cases: int) -> int:
    # In none and in all is only what is certain.
    return (
        round(cases * chance) if chance in (0, 1) else min(max(round(cases * chance), 1), cases - 1)
    )


def _holds(condition: str, fields: Fields) -> bool:
    name, compares, wanted = condition.partition("=")
    field = fields.get(name)
    if field is None:
        return False
    if not compares:
        return field.says
    keys = [key for value in field.values for key in value.keys]
    if least := _AT_LEAST.fullmatch(wanted):
        return any(key.isdecimal() and int(key) >= int(least[1]) for key in keys)
    other = fields[wanted].values if wanted in fields else ()
    return wanted in keys or any(key in keys for value in other for key in value.keys)


def _seat(fields: Fields, name: str) -> int | None:
    values = fields[name].values if name in fields else ()
    return values[0].seat if values else None


def capital(text: str) -> str:
    """Returns a text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def fields_of(phrase: str) -> list[str]:
    """Returns the names of the fields of a phrase, as they stand in braces."""
    return [name for name in BRACES.findall(phrase) if "|" not in name]


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def ending_sentence(said: Words, ending: game_pb2.Ending) -> str:
    """Returns what decided a match, in the words of the reader's description of the game.

    It is in English, and calls seats by their titles, if the description does not have this ending.
    """
    phrase = said.phrases.get(f"ending.{ending.id}")
    fields = ending_fields(ending, said)
    if not phrase or not fields.keys() >= set(fields_of(phrase)):
        return ending.text  # The description is from a server of another version.
    return capital(said.fill(phrase, fields))


def ending_fields(ending: game_pb2.Ending, said: Words) -> dict[str, Field]:
    """Returns the values of an ending, in words."""
    fields = {}
    for value in ending.values:
        kind = value.WhichOneof("value")
        text = str(getattr(value, kind)) if kind else ""
        seat = value.seat if kind == "seat" else None
        if seat is not None:
            text = said.who(seat)
        elif kind == "card" and value.card in said.cards:
            text = said.cards[value.card].title
        fields[value.field] = Field([Value(text, (text,), seat=seat)])
    return fields


def over_sentence(said: Words, view: game_pb2.View) -> str:
    """Returns why the match of a view is over, in the words of the reader's game description.

    It is empty if the server is too old to say it.
    """
    result = view.result
    if result.HasField("ending"):
        return ending_sentence(said, result.ending)
    name = words(game_pb2.EndReason.DESCRIPTOR).get(result.reason, "")
    if name == "resignation" and view.WhichOneof("game") is None:
        name = "withdrawn"
    scores = list(result.scores) or [0.5, 0.5]
    loser = scores.index(min(scores))
    drawn = scores.count(min(scores)) > 1
    variant = "both" if drawn else "you" if loser == said.reader else ""
    phrase = said.phrases.get(f"over.{name}.{variant}") or said.phrases.get(f"over.{name}", "")
    return phrase.replace("{seat}", capital(said.who(loser)))


def offered_to(seat: int, view: game_pb2.View) -> list[str]:
    """Returns what a seat can answer now, to an offer or in a pause: a sentence, or nothing."""
    if view.HasField("pause_end_time"):
        return [f"The match is paused. To go on: answer, version={view.version}, agree=true."]
    if not view.HasField("offer") or view.offer.seat == seat:
        return []
    takeback = view.offer.kind == game_pb2.OFFER_KIND_TAKEBACK
    asked = "to take its last decision back" if takeback else "for a pause"
    return [
        f"The other seat asks {asked}:"
        f" answer, version={view.version}, agree=true or false; or decide."
    ]


def origin_sentence(origin: game_pb2.Origin, say: Callable[[str], str] = str) -> str:
    """Returns where a match began that was played on from another one; `say` translates."""
    told = say(ORIGIN).format(version=origin.version, name=origin.name)
    return told if origin.logged else f"{told} {say(UNLOGGED)}"
