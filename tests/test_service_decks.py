"""Decks are data: other card lists are played and searched, and wrong ones refused by field."""

import grpc
import pytest
from google.protobuf import text_format

from croupier.client import OPEN, Client, bot
from croupier.v1 import game_pb2
from service import wire
from tests.serving import refused

# A list of each game that differs from the default in its cards, their numbers and their copies.
OTHER = {
    "castle_rampage": """
        set_ups: 1 turns: 40
        cards { card: CASTLE_RAMPAGE_CARD_KNIGHT copies: 8 gate: 1 castle: 3 attack: 4 }
        cards { card: CASTLE_RAMPAGE_CARD_ARCHER copies: 6 }
        cards { card: CASTLE_RAMPAGE_CARD_DRAGON copies: 2 attack: 12 cost: 1 }
        cards { card: CASTLE_RAMPAGE_CARD_SPY copies: 2 }
        cards { card: CASTLE_RAMPAGE_CARD_PRIEST copies: 2 cost: 0 }
        cards { card: CASTLE_RAMPAGE_CARD_CATAPULT copies: 3 cost: 1 }
        cards { card: CASTLE_RAMPAGE_CARD_VOLLEY copies: 2 attack: 6 bonus: 10 }
    """,
    "champion_chess": """
        hand_size: 4
        cards { card: CHAMPION_CHESS_CARD_KING copies: 1 move: 3 attack: 3 defend: 3 }
        cards { card: CHAMPION_CHESS_CARD_KNIGHT copies: 5 move: 9 attack: 1 defend: 1 }
        cards { card: CHAMPION_CHESS_CARD_PAWN copies: 4 move: 0 attack: 7 defend: 0 }
    """,
    "powershot_soccer": """
        hand_size: 4
        cards { role: POWER_SHOT_SOCCER_ROLE_PASS power: 3 copies: 4 }
        cards { role: POWER_SHOT_SOCCER_ROLE_SHOOT power: 12 copies: 3 }
        cards { role: POWER_SHOT_SOCCER_ROLE_SAVE power: 20 copies: 2 }
        cards { role: POWER_SHOT_SOCCER_ROLE_STAR_PLAYER power: 1 }
    """,
    "skystones": """
        hand_size: 2 hand_limit: 30
        cards { title: "Pike" element: SKYSTONES_ELEMENT_WATER north: 9 copies: 4 }
        cards { title: "Ram" element: SKYSTONES_ELEMENT_FIRE east: 9 west: 9 copies: 3 }
        cards { title: "Wren" element: SKYSTONES_ELEMENT_AIR south: 1 }
    """,
}

# What is wrong with a list, and the field that is named.
BAD = {
    "castle_rampage": [
        ("cards { copies: 20 }", "cards[0].card"),
        ("cards { card: 1 copies: 21 }", "cards[0].copies"),
        ("cards { card: 1 copies: 20 } cards { card: 2 gate: 0 }", "cards[1].gate"),
        ("cards { card: 1 castle: 21 }", "cards[0].castle"),
        ("cards { card: 1 attack: 31 }", "cards[0].attack"),
        ("cards { card: 1 attack: 0 }", "cards[0].attack"),
        ("cards { card: 13 attack: 1 }", "cards[0].attack"),
        ("cards { card: 1 bonus: 1 }", "cards[0].bonus"),
        ("cards { card: 7 cost: 3 }", "cards[0].cost"),
        ("cards { card: 18 cost: 1 }", "cards[0].cost"),
        ("cards { card: 1 } cards { card: 1 }", "cards[1]"),
        ("cards { card: 1 copies: 10 } cards { card: 2 copies: 9 }", "cards"),
        ("cards { card: 1 copies: 10 } cards { card: 9 copies: 20 }", "cards"),
        (" ".join(f"cards {{ card: {card} copies: 20 }}" for card in range(1, 10)), "cards"),
        ("set_ups: 3", "set_ups"),
        ("turns: 0", "turns"),
    ],
    "champion_chess": [
        ("cards { copies: 1 }", "cards[0].card"),
        ("cards { card: 1 copies: 1 } cards { card: 6 copies: 16 }", "cards[1].copies"),
        ("cards { card: 1 copies: 1 move: 31 }", "cards[0].move"),
        ("cards { card: 1 copies: 1 } cards { card: 1 }", "cards[1].card"),
        ("cards { card: 1 copies: 2 }", "cards"),
        ("cards { card: 6 copies: 5 }", "cards"),
        ("cards { card: 1 copies: 1 } cards { card: 2 copies: 15 } cards { card: 3 copies: 15 }",
         "cards"),
        ("hand_size: 8", "hand_size"),
    ],
    "powershot_soccer": [
        ("cards { power: 1 }", "cards[0].role"),
        ("cards { role: 11 power: 1 }", "cards[0].role"),
        ("cards { role: 1 power: 0 copies: 15 }", "cards[0].power"),
        ("cards { role: 1 power: 21 copies: 15 }", "cards[0].power"),
        ("cards { role: 1 power: 1 copies: 16 }", "cards[0].copies"),
        ("cards { role: 1 power: 1 copies: 15 } cards { role: 1 power: 1 }", "cards[1]"),
        ("cards { role: 1 power: 1 copies: 11 }", "cards"),
        (" ".join(f"cards {{ role: 1 power: {n} copies: 14 }}" for n in range(1, 8)), "cards"),
        ("hand_size: 0", "hand_size"),
    ],
    "skystones": [
        ('cards { title: "Pike" copies: 15 }', "cards[0].element"),
        ("cards { element: 1 copies: 16 }", "cards[0].copies"),
        ("cards { element: 1 copies: 15 } cards { element: 1 north: 10 }", "cards[1].north"),
        (f'cards {{ element: 1 copies: 15 title: "{"x" * 41}" }}', "cards[0].title"),
        ("cards { element: 1 copies: 9 }", "cards"),
        (" ".join("cards { element: 1 copies: 15 }" for _ in range(9)), "cards"),
        ("cards { element: 1 copies: 15 north: 5 }", "hand_limit"),
        ("board_size: 2 special_fields: 5", "special_fields"),
    ],
}  # fmt: skip


def ruleset(game_id, text):
    return text_format.Parse(f"{game_id} {{ {text} }}", game_pb2.Ruleset())


@pytest.fixture(scope="module")
def player(shared_server):
    with Client(shared_server[1]) as connected:
        yield connected


def test_every_game_is_tested():
    assert set(OTHER) == set(BAD) == set(wire.hosted())


@pytest.mark.parametrize("game_id", wire.hosted())
def test_the_catalog_shows_the_default_list(player, game_id):
    game = player.game(game_id)
    spelled_out = getattr(game.default_ruleset, game_id)
    # An empty ruleset, the default one and the cards for display are the same deck.
    assert wire.read_ruleset(game.default_ruleset, "").ruleset == wire.hosted()[game_id]().ruleset
    assert [card.copies for card in game.cards] == [spec.copies for spec in spelled_out.cards]


@pytest.mark.parametrize("game_id", wire.hosted())
def test_another_list_plays_to_the_end_by_hints(player, game_id):
    other = ruleset(game_id, OTHER[game_id])
    match = player.create_match(other, (OPEN, bot("random")), seed=4)
    seat = match.seats[0]
    decisions = 0
    for view in seat.turns():
        assert view.ruleset == other
        hint = seat.suggest(iterations=30, seed=decisions)
        # The same from nothing but the view.
        assert player.suggest(view, iterations=30, seed=decisions).action == hint.action
        assert hint.action in view.legal_actions
        seat.submit(hint.action)
        decisions += 1
    record = seat.record()
    assert decisions and sum(record.result.scores) == 1
    assert record.ruleset == wire.write_ruleset(wire.read_ruleset(other, ""))


@pytest.mark.parametrize(
    ("game_id", "text", "field"),
    [
        pytest.param(game_id, text, field, id=f"{game_id}-{text[:60]}")
        for game_id, cases in BAD.items()
        for text, field in cases
    ],
)
def test_a_list_that_is_wrong_is_refused_by_field(client, game_id, text, field):
    refusal = refused(client.create, ruleset(game_id, text))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.reason in ("INVALID_FIELD", "INVALID_RULESET")
    assert refusal.fields == [f"ruleset.{game_id}.{field}"]
