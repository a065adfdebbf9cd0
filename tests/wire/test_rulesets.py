"""Other card lists can be played and searched. An invalid one is refused with its field."""

import grpc
import pytest
from google.protobuf import text_format

import wire
from croupier.client import OPEN, Client, bot
from croupier.v1 import game_pb2
from tests.support.long_form import LONG_FORM
from tests.support.play import game_of
from tests.support.serving import hosted_cases, refused, ruleset_of
from tests.support.waiting import FOREVER

HINT_EVERY = 1 if LONG_FORM else 4  # Decisions.
# Invalid rulesets, and the field that the refusal names.
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
        ("cards { card: 1 copies: 1 movement: 31 }", "cards[0].movement"),
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
    with Client(shared_server[1], timeout=FOREVER) as connected:
        yield connected


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_catalog_shows_the_default_list(player, game_id):
    game = player.game(game_id)
    spelled_out = getattr(game.default_ruleset, game_id)
    # The empty ruleset, the default ruleset and the cards in the catalog have the same copies.
    assert (
        wire.read_ruleset(game.default_ruleset, "").ruleset
        == wire.hosted_games()[game_id]().ruleset
    )
    assert [card.copies for card in game.cards] == [spec.copies for spec in spelled_out.cards]


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_hints_play_a_match_with_any_card_list_to_its_end(player, game_id, name):
    given = ruleset_of(game_id, name)
    match = player.create_match(given, (OPEN, bot("random")), seed=4)
    seat = match.seats[0]
    decisions = 0
    for view in seat.turns():
        assert view.ruleset == given
        action = view.legal_actions[decisions % len(view.legal_actions)]
        if decisions % HINT_EVERY == 0:
            action = seat.suggest(iterations=20, seed=decisions).action
            assert action in view.legal_actions
            # A hint for the view alone is the same.
            assert player.suggest(view, iterations=20, seed=decisions).action == action
        seat.submit(action)
        decisions += 1
    record = seat.record()
    assert decisions and sum(record.result.scores) == 1
    assert record.ruleset == wire.write_ruleset(game_of(game_id, name)[0])


def test_missing_numbers_are_those_of_the_default_list():
    text = "cards { card: 1 copies: 20 } cards { card: 7 attack: 12 }"
    read = wire.read_ruleset(ruleset("castle_rampage", text), "").ruleset["cards"]
    default = {
        spec["card"]: spec for spec in wire.hosted_games()["castle_rampage"]().ruleset["cards"]
    }
    assert read == [default[1] | {"copies": 20}, default[7] | {"attack": 12}]


@pytest.mark.parametrize(
    ("game_id", "text", "field"),
    [
        pytest.param(game_id, text, field, id=f"{game_id}-{text[:60]}")
        for game_id, cases in BAD.items()
        for text, field in cases
    ],
)
def test_an_invalid_card_list_is_refused_by_field(client, game_id, text, field):
    refusal = refused(client.create, ruleset(game_id, text))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.reason in ("INVALID_FIELD", "INVALID_RULESET")
    assert refusal.fields == [f"ruleset.{game_id}.{field}"]
