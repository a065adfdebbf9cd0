"""What is translated between the fields of the rules and messages without code of a game."""

from typing import ClassVar

import pytest

from croupier.v1 import game_pb2
from wire.translation import Translation


class Nested:
    """A game whose view has a structure with an array and its length, and a count of its own."""

    event_kinds: ClassVar[dict[int, str]] = {}

    def empty_view(self):
        plays = [{"seat": 0, "card": 0} for _ in range(3)]
        return {"seat": 0, "common": {"plays_count": 0, "plays": plays, "kept_count": 0}}


def test_structures_within_a_view_need_no_code_either():
    translation = Translation(Nested)
    plays = [{"seat": 0, "card": 5}, {"seat": 1, "card": 7}, {"seat": 0, "card": 0}]
    fields = {"seat": 1, "common": {"plays_count": 2, "plays": plays, "kept_count": 4}}
    written = translation.message_fields(None, fields)
    assert written == {"common": {"plays": plays[:2], "kept_count": 4}}
    told = translation.view_fields(None, written)
    assert translation._fit(Nested().empty_view(), {**told, "seat": 1}, ()) == fields


def test_a_field_that_the_message_lacks_is_named():
    with pytest.raises(LookupError, match="the message View has no field nothing"):
        Translation(Nested).write(game_pb2.View(), {"nothing": 1})
