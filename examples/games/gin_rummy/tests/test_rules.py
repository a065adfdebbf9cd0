"""Scenarios of Gin Rummy, one for each sentence of the rules."""

import pytest
from engine.errors import ActionError, RulesetError
from engine.position import Position
from gin_rummy.rules.rules import GinRummy

from gin_table import OFFERED, TO_DRAW, act, bits, cards, may, members, position, text

# Hands without a meld, of ten and of eleven cards.
POOR = "AC 3C 5C 7C 9C JC KC 2D 4D 6D"
BARE = "AH 3H 5H 7H 9H JH KH 2S 4S 6S"
FAR = f"{BARE} 8S"
# Eleven cards: 4 5 6 of Hearts, 8 8 8, J J J, the ace of Spades and the King of Spades.
NEAR = "4H 5H 6H 8C 8D 8H JC JD JH AS KS"


def test_each_seat_is_dealt_ten_cards_and_one_is_turned_up():
    where = Position.deal(GinRummy(), 7)
    fields = where.fields
    common = fields["common"]
    assert [len(members(hand)) for hand in fields["hands"]] == [10, 10]
    assert common["stock_size"] == 31 and common["pile_count"] == 1
    everything = [*members(fields["hands"][0]), *members(fields["hands"][1])]
    everything += [*fields["stock"][:31], common["upcard"]]
    assert sorted(everything) == list(range(1, 53))


def test_chance_names_the_dealer_and_the_other_seat_begins():
    deals = [Position.deal(GinRummy(), seed) for seed in range(100)]
    assert 30 < sum(where.fields["common"]["dealer"] for where in deals) < 70
    for where in deals:
        assert where.deciders == (1 - where.fields["common"]["dealer"],)


def test_the_non_dealer_may_take_the_upcard_or_pass():
    where = position(POOR, BARE, "QD", phase=OFFERED)
    assert may(where) == {"pass": "", "take_discard": "QD"}
    assert act(where, "take_discard", "QD") == [("taken", 0, tuple(cards("QD")))]
    assert where.deciders == (0,) and len(where.legal(0)) == 10


def test_the_dealer_may_take_the_upcard_after_a_pass():
    where = position(POOR, BARE, "QD", phase=OFFERED)
    assert act(where, "pass") == [("passed", 0, ())]
    assert where.deciders == (1,) and may(where) == {"pass": "", "take_discard": "QD"}
    act(where, "take_discard", "QD")
    assert where.deciders == (1,)


def test_after_two_passes_the_non_dealer_draws_from_the_stock():
    where = position(POOR, BARE, "QD", stock="TS", phase=OFFERED)
    act(where, "pass")
    assert act(where, "pass") == [("passed", 1, ()), ("drawn", 0, tuple(cards("TS")))]
    assert where.deciders == (0,) and text(members(where.fields["hands"][0])) == f"{POOR} TS"


def test_a_turn_is_to_draw_or_to_take_the_top_discard():
    where = position(POOR, BARE, "QC QD", phase=TO_DRAW)
    assert may(where) == {"draw_stock": "", "take_discard": "QD"}


def test_a_card_that_is_drawn_may_be_discarded_at_once():
    where = position(POOR, BARE, "QC", stock="TS", phase=TO_DRAW)
    act(where, "draw_stock")
    assert may(where) == {"discard": f"{POOR} TS"}
    assert act(where, "discard", "TS") == [("discarded", 0, tuple(cards("TS")))]
    assert where.deciders == (1,) and may(where) == {"draw_stock": "", "take_discard": "TS"}


def test_a_card_that_is_taken_may_not_be_discarded_in_that_turn():
    where = position(POOR, BARE, "QC QD", phase=TO_DRAW)
    act(where, "take_discard", "QD")
    assert may(where) == {"discard": POOR}
    with pytest.raises(ActionError, match="just been taken"):
        act(where, "discard", "QD")
    act(where, "discard", "KC")
    assert where.fields["common"]["pile"][:3] == [*cards("QC KC"), 0]


def test_the_view_remembers_what_was_taken_and_kept():
    where = position(POOR, BARE, "QC QD", phase=TO_DRAW)
    act(where, "take_discard", "QD")
    act(where, "discard", "KC")
    view = where.view(1).fields
    assert view["sides"][0]["known"][:2] == [*cards("QD"), 0]
    assert view["turns"][0] == {"seat": 0, "source": 2, "card": cards("KC")[0]}
    act(where, "draw_stock")
    act(where, "discard", "AH")
    act(where, "draw_stock")
    act(where, "discard", "QD")
    assert where.view(1).fields["sides"][0]["known_count"] == 0


def test_a_view_shows_neither_the_other_hand_nor_the_stock():
    where = position(POOR, BARE, "QC QD", phase=TO_DRAW)
    other = position(POOR, "AD 3D 5D 7D 9D JD KD 2S 4S 6S", "QC QD", phase=TO_DRAW)
    assert where.view(0) == other.view(0) and where.view(1) != other.view(1)
    assert where.view(2).fields["hand_count"] == 0


def test_a_seat_may_knock_with_at_most_ten_deadwood_after_its_discard():
    # Without the King only the ace is left, without the ace only the King.
    assert may(position(NEAR, POOR.replace("JC", "QC"))) == {
        "discard": "8C JC 8D JD 4H 5H 6H 8H JH AS KS",
        "knock": "AS KS",
    }
    # A Queen and a two are too much; either of them alone is not.
    assert may(position("AH 2H 3H 8C 8D 8H JC JD JH QS 2S", POOR))["knock"] == "2S QS"
    assert "knock" not in may(position("AH 2H 3H 8C 8D 8H JC JD QS 2S 3S", POOR))


def test_ten_deadwood_are_few_enough_and_eleven_too_many():
    where = position("AH 2H 3H 8C 8D 8H TD JD QD 4S KS", POOR.replace("6D", "9S"))
    assert may(where)["knock"] == "4S KS"
    where = position("AH 2H 3H 8C 8D 8H 2S 3S 5S 6C KS", POOR)
    assert may(where).get("knock") is None  # A two, a three and a five, and six more.
    where = position("AH 2H 3H 8C 8D 8H TS AS 4C 6S KS", POOR)
    with pytest.raises(ActionError, match="at most 10 deadwood, not 21"):
        act(where, "knock", "KS")


def test_no_deadwood_at_all_is_gin():
    where = position(NEAR.replace("AS", "JS"), POOR.replace("JC", "QC"))
    events = act(where, "knock", "KS")
    # 1 + 3 + 5 + 7 + 9 + 10 + 10 + 2 + 4 + 6, and 25.
    assert events[-1] == ("hand_ended", -1, (3, 57 + 25, 0, 57, 0))
    assert where.over and where.scores == (1, 0)


def test_the_knocker_melds_in_the_way_that_is_hardest_to_lay_off_on():
    # Three eights, and 5 6 7 of Hearts; or 5 6 7 8 of Hearts, and two eights left over.
    where = position("5H 6H 7H 8H 8C 8D 8S JC JD JH KS", POOR.replace("JC", "QC"))
    events = act(where, "knock", "KS")
    melded = [text(values) for kind, seat, values in events if kind == "melded" and seat == 0]
    # On 8 8 8 8 nothing fits, and on 5 6 7 only the four of Hearts.
    assert melded == ["8C 8D 8H 8S", "JC JD JH", "5H 6H 7H"]


def test_the_opponent_melds_and_lays_off_on_sets_and_on_both_ends_of_runs():
    where = position(NEAR, "2H 3H 7H 9H JS 8S AC AD AH QC")
    events = act(where, "knock", "KS")
    assert ("melded", 1, tuple(cards("AC AD AH"))) in events
    # The nine of Hearts does not follow the seven, as the eight is in a set.
    assert ("laid_off", 1, tuple(cards("2H 3H 7H 8S JS"))) in events
    assert events[-1] == ("hand_ended", -1, (2, 19 - 1, 1, 19, 0))


def test_against_gin_nothing_is_laid_off():
    where = position(NEAR.replace("AS", "JS"), "2H 3H 7H 9H TS 8S AC AD AH QC")
    events = act(where, "knock", "KS")
    assert not [kind for kind, _, _ in events if kind == "laid_off"]
    # Its own ace, two and three are a run; the other aces are deadwood, too.
    assert events[-1][2][3] == 1 + 1 + 7 + 9 + 10 + 8 + 10


def test_the_knocker_wins_with_less_deadwood():
    where = position(NEAR, POOR.replace("JC", "QC"))
    assert act(where, "knock", "KS")[-1][2][:1] == (2,)
    assert where.scores == (1, 0)


def test_equal_or_less_deadwood_of_the_opponent_is_an_undercut():
    # The opponent has nothing but an ace left, too.
    where = position(NEAR, "AC 2D 3D 4D 7S 7C 7D QC QD QH")
    assert act(where, "knock", "KS")[-1] == ("hand_ended", -1, (4, 25, 1, 1, 1))
    assert where.scores == (0, 1)
    where = position(NEAR, "AC 2D 3D 4D 7S 7C 7D QC QD QH")
    assert act(where, "knock", "AS")[-1] == ("hand_ended", -1, (4, 25 + 9, 10, 1, 1))


def test_after_a_knock_both_hands_are_shown():
    where = position(NEAR, POOR.replace("JC", "QC"))
    act(where, "knock", "KS")
    for viewer in range(3):
        sides = where.view(viewer).fields["sides"]
        assert text(filter(None, sides[0]["shown"])) == "8C JC 8D JD 4H 5H 6H 8H JH AS"
        assert sides[1]["shown_count"] == 10


def test_a_hand_is_undecided_when_two_cards_are_left_after_a_discard():
    where = position(FAR, POOR, "QC", left=3)
    act(where, "discard", "AH")
    assert not where.over
    act(where, "draw_stock")
    events = act(where, "discard", "AC")
    assert events[-1] == ("hand_ended", -1, (1, 0, 0, 0, 255))
    assert where.scores == (0.5, 0.5)
    assert where.view(0).fields["sides"][1]["shown_count"] == 0


def test_the_discard_after_the_last_draw_may_still_be_a_knock():
    where = position(NEAR, POOR.replace("JC", "QC"), left=2)
    act(where, "knock", "KS")
    assert where.scores == (1, 0)


def test_the_hundredth_discard_ends_the_hand():
    where = position(FAR, POOR, "QC", turns_count=99)
    act(where, "discard", "AH")
    assert where.over and where.scores == (0.5, 0.5)


def test_with_a_target_the_loser_deals_the_next_hand():
    where = position(NEAR, POOR.replace("JC", "QC"), target=100, hand_number=1)
    act(where, "knock", "KS")
    common = where.fields["common"]
    assert common["points"] == [57 - 1, 0] and common["hand_number"] == 2
    assert common["dealer"] == 1 and where.deciders == (0,)
    assert [len(members(hand)) for hand in where.fields["hands"]] == [10, 10]


def test_after_an_undecided_hand_the_same_seat_deals_again():
    where = position(FAR, POOR, left=2, target=100, hand_number=1)
    events = act(where, "discard", "AH")
    assert [kind for kind, _, _ in events][:2] == ["discarded", "hand_ended"]
    assert where.fields["common"]["dealer"] == 1 and where.fields["common"]["hand_number"] == 2


def test_the_match_ends_with_the_target():
    where = position(NEAR, POOR.replace("JC", "QC"), target=100, points=[44, 99])
    act(where, "knock", "KS")
    assert where.over and where.scores == (1, 0)


def test_after_twenty_hands_the_seat_with_more_points_wins():
    for points, scores in (([3, 4], (0, 1)), ([4, 3], (1, 0)), ([4, 4], (0.5, 0.5))):
        where = position(FAR, POOR, left=2, target=100, hand_number=20, points=points)
        act(where, "discard", "AH")
        assert where.over and where.scores == scores


def test_a_deck_must_have_cards_to_draw():
    assert GinRummy({"ranks": 6, "suits": 4}).cards()[-1]["id"] == "SIX_OF_SPADES"
    for wrong in ({"ranks": 5}, {"ranks": 14}, {"suits": 0}, {"target": 126}, {"joker": 1}):
        with pytest.raises(RulesetError):
            GinRummy(wrong)


def test_gin_dominates_all_else_in_a_match_of_one_hand():
    where = position(NEAR.replace("AS", "JS"), POOR.replace("JC", "QC"))
    [only] = where.without_dominated(0)
    assert where.game.read_action(only) == {"kind": "knock", "card": cards("KS")[0]}
    where = position(NEAR.replace("AS", "JS"), POOR.replace("JC", "QC"), target=100)
    assert where.without_dominated(0) == where.legal(0)


def test_sets_of_cards():
    assert members(bits(cards(NEAR))) == sorted(cards(NEAR))
