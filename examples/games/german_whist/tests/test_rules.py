"""Each sentence of the rules of German Whist, played by hand."""

import itertools
import random

import pytest
from german_whist.rules.rules import GermanWhist
from german_whist.rules.state import RANKS, SUITS, cards_of, set_of

from engine.aspects import Aspects
from engine.errors import ActionError, RulesetError
from engine.game import SPECTATOR
from engine.match import Match
from engine.playout_policy import PlayoutPolicy
from engine.position import Position

SHORT = dict(zip("CDHS", range(4), strict=True))


def card(text):
    """The card of a text such as "C10" or "SA"."""
    ranks = [rank if rank.isdigit() else rank[0] for rank in RANKS]
    return 13 * SHORT[text[0]] + ranks.index(text[1:])


def cards(text):
    return [card(word) for word in text.split()]


def padded(listed, length):
    return listed + [0] * (length - len(listed))


def position(first, second, exposed, stock="", plays="", leader=0, size=3, tricks=(0, 0)):
    """A position. The next card of the stock is the first one of the text."""
    stock, exposed, plays = cards(stock)[::-1], cards(exposed), cards(plays)
    return Position.from_fields(
        GermanWhist({"cards_per_hand": size}),
        {
            "hands": [set_of(cards(first)), set_of(cards(second))],
            "leader": leader,
            "tricks": list(tricks),
            "stock_count": len(stock),
            "stock": padded(stock, 26),
            "exposed_count": len(exposed),
            "exposed": padded(exposed, 13),
            "plays_count": len(plays),
            "plays": padded(plays, 52),
        },
    )


def legal(at, seat):
    return {at.game.read_action(action)["card"] for action in at.legal(seat)}


def play(at, *texts):
    """Play cards in turn; return the events of the last one."""
    for text in texts:
        action = at.game.make_action({"kind": "play", "card": card(text)})
        events = at.apply({at.deciders[0]: action}, 0)
    return [(event.kind, event.seat, event.values, event.audience) for event in events]


def hand(at, seat):
    return cards_of(at.fields["hands"][seat])


# The pack and the deal


def test_the_pack_has_52_cards_in_four_suits():
    listed = GermanWhist().cards()
    assert len({each["id"] for each in listed}) == 52
    assert [each["kind"] for each in listed[::13]] == list(SUITS)
    assert listed[12]["id"] == "CLUBS_ACE"
    assert listed[12]["numbers"] == {"Rank": 14}
    assert all(each["copies"] == 1 and each["glyph"] for each in listed)


def test_each_seat_has_13_cards_and_the_stock_26_of_which_one_is_turned_up():
    fields = Position.deal(GermanWhist(), 1).fields
    hands = [cards_of(fields["hands"][seat]) for seat in (0, 1)]
    assert [len(each) for each in hands] == [13, 13]
    stock = fields["stock"][: fields["stock_count"]]
    assert len(stock) == 25
    assert fields["exposed_count"] == 1
    assert sorted([*hands[0], *hands[1], *stock, fields["exposed"][0]]) == list(range(52))


def test_a_seat_sees_its_own_hand_and_the_card_that_is_turned_up():
    dealt = Position.deal(GermanWhist(), 2)
    for seat in (0, 1):
        view = dealt.view(seat).fields
        assert view["hand"] == hand(dealt, seat)
        assert view["exposed"][:1] == dealt.fields["exposed"][:1]
    assert dealt.view(SPECTATOR).fields["hand_count"] == 0
    match = Match(GermanWhist(), bytes(32))
    seen = [
        [(event.kind, event.seat, len(event.values)) for event in match.events if event.seen_by(0)],
        [(event.kind, event.seat, len(event.values)) for event in match.events if event.seen_by(1)],
    ]
    turned_up = ("turned_up", -1, 1)
    assert seen[0] == [("dealt", 0, 13), ("dealt_hidden", 1, 1), turned_up]
    assert seen[1] == [("dealt_hidden", 0, 1), ("dealt", 1, 13), turned_up]


def test_the_suit_of_the_first_card_is_trump_for_the_whole_match():
    at = position("CA CK CQ", "DA DK DQ", "HK", "SA SK HQ SQ HA")
    assert at.view(0).fields["trump"] == SHORT["H"]
    play(at, "CA", "DA")
    assert at.fields["exposed"][1] == card("SK")
    assert at.view(0).fields["trump"] == SHORT["H"]


# A trick


def test_first_leads_to_the_first_trick_with_any_card():
    at = position("CA CK DQ", "DA DK CQ", "HK", "SA SK HQ SQ HA")
    assert at.deciders == (0,)
    assert legal(at, 0) == set(cards("CA CK DQ"))


def test_the_other_seat_must_follow_suit_if_it_can():
    at = position("CA CK DQ", "DA DK CQ", "HK", "SA SK HQ SQ HA")
    play(at, "CK")
    assert at.deciders == (1,)
    assert legal(at, 1) == {card("CQ")}
    with pytest.raises(ActionError):
        play(at, "DA")


def test_it_may_play_any_card_if_it_cannot():
    at = position("SA CK DQ", "DA DK CQ", "HK", "CA SK HQ SQ HA")
    play(at, "SA")
    assert legal(at, 1) == set(cards("DA DK CQ"))


@pytest.mark.parametrize(
    ("led", "followed", "winner"),
    [
        ("CK", "CQ", 0),
        ("CQ", "CK", 1),
        ("CQ", "DA", 0),  # Another suit than the one that was led.
        ("CA", "HQ", 1),  # A trump.
        ("HQ", "HA", 1),  # The higher trump.
        ("HA", "HQ", 0),
        ("HQ", "CA", 0),
    ],
)
def test_the_higher_card_of_the_suit_or_a_trump_wins(led, followed, winner):
    at = position(f"{led} SK DQ", f"{followed} SQ DK", "HK", "SA CA HA CQ HQ")
    events = play(at, led, followed)
    assert ("trick_won", winner, (), 15) in events
    assert at.deciders == (winner,), "the winner leads to the next trick"


# The first phase


def test_the_winner_takes_the_card_turned_up_and_the_loser_the_next_one():
    at = position("CA CK DQ", "DA DK CQ", "HK", "SA SK HQ SQ HA")
    events = play(at, "CA", "CQ")
    assert hand(at, 0) == cards("CK DQ HK")
    assert hand(at, 1) == cards("DK DA SA")
    assert ("taken", 0, (card("HK"),), 15) in events
    assert ("drawn", 1, (card("SA"),), 8 | 2) in events, "only the loser sees it"
    assert ("drawn_hidden", 1, (), 4 | 1) in events
    assert events[-1] == ("turned_up", -1, (card("SK"),), 15)


def test_the_first_phase_ends_with_the_stock():
    at = position("CA CK DQ", "DA DK CQ", "HK", "SA SK HQ SQ HA")
    play(at, "CA", "CQ", "CK", "DK", "HK")
    assert at.fields["stock_count"] == 1
    events = play(at, "HQ")
    assert [event[0] for event in events] == [
        *("played", "trick_won", "taken", "drawn", "drawn_hidden"),
    ]
    assert at.fields["stock_count"] == 0
    assert [len(hand(at, seat)) for seat in (0, 1)] == [3, 3]
    assert at.view(0).fields["tricks"] == [0, 0], "its tricks do not count"


# The second phase


PLAYED = "CA CQ CK DK HK HQ"


def test_nothing_is_drawn_in_the_second_phase_and_its_tricks_count():
    at = position("DQ SK SQ", "DA SA HA", "HK SK SQ", plays=PLAYED)
    events = play(at, "DQ", "DA")
    assert [event[0] for event in events] == ["played", "trick_won"]
    assert at.view(0).fields["tricks"] == [0, 1]


def test_whoever_wins_more_of_its_tricks_wins():
    at = position("DQ SK SQ", "DA SA HA", "HK SK SQ", plays=PLAYED)
    play(at, "DQ", "DA", "SA", "SK", "HA")
    assert at.scores is None
    play(at, "SQ")
    assert at.over
    assert at.scores == (0.0, 1.0)


def test_an_even_number_of_cards_can_end_in_a_draw():
    at = position("DQ", "DA", "HK", plays=" ".join(30 * ["CA"]), size=8, tricks=(4, 3))
    assert not at.over
    play(at, "DQ", "DA")
    assert at.scores == (0.5, 0.5)


def test_thirteen_cards_never_end_in_a_draw():
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed={seed}")
    rng = random.Random(seed)
    for _ in range(20):
        at = Position.deal(GermanWhist(), rng.getrandbits(64))
        while not at.over:
            seat = at.deciders[0]
            at.apply({seat: rng.choice(at.legal(seat))}, 0)
        assert sorted(at.scores) == [0.0, 1.0]
        assert sum(at.fields["tricks"]) == 13


# The option


def test_with_fewer_cards_the_low_ones_are_left_out():
    game = GermanWhist({"cards_per_hand": 4})
    copies = {each["id"]: each["copies"] for each in game.cards()}
    assert sum(copies.values()) == 16
    assert [copies[f"CLUBS_{rank}"] for rank in ("ACE", "KING", "QUEEN", "JACK", "10")] == [
        *(1, 1, 1, 1, 0)
    ]


@pytest.mark.parametrize("options", [{"cards_per_hand": 2}, {"cards_per_hand": 14}, {"jokers": 1}])
def test_an_option_that_is_none_is_refused(options):
    with pytest.raises(RulesetError):
        GermanWhist(options)


def test_a_playout_policy_wins_against_random_play():
    game = GermanWhist()
    policy = PlayoutPolicy.of(game)
    rng = random.Random(1)
    won = 0.0
    matches = 200
    for seed, seat in itertools.product(range(matches // 2), (0, 1)):
        at = Position.deal(game, seed)
        while not at.over:
            [decides] = at.deciders
            action = rng.choice(at.legal(decides))
            if decides == seat:
                action = policy.action(at, seat, rng.getrandbits(64))
                assert action in at.legal(seat)
            at.apply({decides: action}, 0)
        won += at.scores[seat]
    assert won > 0.65 * matches


# Aspects


def test_the_aspects_are_the_trick_and_the_trumps_after_it():
    # Spades are trumps. The winner of the trick takes the 2 of spades, which is turned up.
    for answer, won, trumps in (("C2", True, 2), ("CA", False, 1)):
        at = position("C10 SA H3", f"{answer} C4 D5", "S2", "D9 H9")
        positions = [at.copy()]
        for text in ("C10", answer):
            play(at, text)
            positions.append(at.copy())
        aspects = Aspects.of(at.game)
        assert aspects.measure(positions[:2], 0) is None
        assert aspects.measure(positions, 0) == {"trick_won": won, "trumps": trumps}
        assert aspects.measure(positions[1:], 1)["trick_won"] == (not won)
