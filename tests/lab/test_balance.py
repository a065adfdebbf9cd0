"""Balance: what is noted of matches, figures and their intervals, comparisons, and the search."""

import json
import re

import numpy as np
import pytest

from engine import games
from engine.errors import RulesetError
from engine.position import Position
from lab import arena, rulesets
from lab.arena import Task
from lab.balance import targets
from lab.balance.figures import (
    FIRST_LOOK,
    RISK,
    Figure,
    effects,
    figures,
    first_seat,
    fixed,
    mixture,
)
from lab.balance.matches import NOTED, hand, named, play
from lab.balance.report import Report
from lab.balance.study import LINES, Settings, Study
from lab.balance.targets import Search, Target, findings, read
from lab.training.state import StateError

GAMES = list(games())
HOSTED = [game_id for game_id in GAMES if not games()[game_id].reference]


def settings(game_id, *given, player="random", stronger="", seed=3):
    return Settings(game_id, player, stronger, seed, given or ("{}",), playouts=4)


def study(game_id, count, *given, folder=None, **more):
    made = Study(settings(game_id, *given, **more), folder, 1)
    made.play(count)
    return made


def of(found):
    return {figure.key: figure for figure in found}


# Matches


@pytest.mark.parametrize("game_id", GAMES)
def test_a_match_is_that_of_the_arena_and_notes_what_its_hands_held(game_id):
    task = Task(game_id, "random", "random", 3, 5, playouts=4)
    line = play(("match", 0, task))
    assert line["score"] == arena.play_pair(task).scores[0]
    assert json.loads(json.dumps(line)) == line
    assert line["forced"] <= line["decisions"] and line["turns"] <= line["decisions"]
    assert line["values"][-1] == pytest.approx(line["score"], abs=1e-3) and 0 < line["decided"] <= 1
    cards = {name: line["cards"][name] for name in NOTED}
    for seat in (0, 1):
        for card, count in cards["did"][seat].items():
            assert count <= cards["could"][seat][card], "what was played could be played"
        assert sum(cards["left"][seat].values()) <= sum(cards["drawn"][seat].values())
        for card, count in cards["opening"][seat].items():
            assert count <= cards["drawn"][seat][card]


@pytest.mark.parametrize("game_id", GAMES)
def test_the_hidden_places_tell_the_hand(game_id):
    position = Position.deal(games()[game_id](), 7)
    for seat in (0, 1):
        counts = next(n for place, n in position.hidden(1 - seat).items() if place.endswith("hand"))
        assert [hand(position, seat)[card] for card in range(len(counts))] == counts


@pytest.mark.parametrize("game_id", HOSTED)
def test_cards_are_played_in_each_hosted_game(game_id):
    found = of(study(game_id, 30).figures())
    used = [figure.estimate for figure in found.values() if figure.group == "use"]
    assert len(used) > 3 and all(0 <= each <= 100 for each in used) and max(used) > min(used)
    shares = [found[f"luck_{name}"].estimate for name in ("deal", "later", "none")]
    assert sum(shares) == pytest.approx(100)
    assert sum(f.estimate for f in found.values() if f.group == "endings") == pytest.approx(100)


def test_a_card_that_is_given_up_is_not_played():
    game = games()["powershot_soccer"]()
    position = Position.deal(game, 7)
    legal = position.legal(position.deciders[0])
    kept = {game.read_action(each)["card"] for each in legal if named(game, each)}
    given_up = {game.read_action(each)["card"] for each in legal if not named(game, each)}
    roles = {card: entry["role"] for card, entry in enumerate(game.ruleset["cards"])}
    assert {roles[card] for card in kept} <= {1, 2, 3, 4, 10} and given_up
    assert not {roles[card] for card in given_up} & {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("game_id", "varied"),
    [
        ("castle_rampage", "cards.*.castle*=2"),
        ("champion_chess", "cards.*.defend*=2"),
        ("powershot_soccer", "cards.Save 8.power=15"),
        ("skystones", "cards.*.north=0"),
    ],
)
def test_what_a_deal_is_worth_follows_from_the_numbers_of_the_cards(game_id, varied):
    both = "{}", rulesets.changed(game_id, [varied])
    made = Study(settings(game_id, *both)._replace(by_net=False), None, 1)
    made.play(9)
    before, after = ([line["values"][0] for line in made.of(arm)] for arm in (0, 1))
    assert before != after


# Intervals


def test_intervals_cover_in_95_of_100_repetitions():
    # Uniform play in Kuhn poker gives the first seat 17/32 of the score, over all deals and lines.
    truth, count = 53.125, 40
    lines = study("kuhn_poker", 60 * count).of(0)
    game = games()["kuhn_poker"]()
    parts = [lines[n * count : (n + 1) * count] for n in range(60)]
    found = [of(figures(part, [], game)) for part in parts]
    for key in ("first_seat", "starter"):
        intervals = [each[key].interval for each in found]
        assert sum(low <= truth <= high for _, low, high in intervals) >= 53, key
        assert sum(low <= truth + 15 <= high for _, low, high in intervals) <= 30, "they are narrow"


def test_a_sequence_of_intervals_holds_at_all_times():
    walks = np.random.default_rng(1).exponential(size=(400, 1500)) - 1
    times = np.arange(FIRST_LOOK, 1500)
    means = (walks.cumsum(axis=1) / np.arange(1, 1501))[:, times - 1]
    for width, least, most in ((mixture, 0, 30), (fixed, 80, 400)):
        half = np.array([width(int(n), RISK) for n in times])
        left = int((np.abs(means) > half).any(axis=1).sum())
        assert least <= left <= most, width
    assert mixture(FIRST_LOOK - 1, RISK) == np.inf


@pytest.mark.parametrize("looked", [False, True])
def test_what_is_rare_is_not_impossible(looked):
    # On the same deals, most matches of two rulesets end alike.
    rng, scores = np.random.default_rng(4), [0.0] * 1000
    lines = [{"score": each, "deal": 0, "sampled": 0} for each in scores]
    before, missed = first_seat(lines), 0
    assert before.change(before, looked).half(RISK) > 0
    for _ in range(200):
        other = [line | {"score": float(rng.random() < 0.01)} for line in lines]
        change = before.change(first_seat(other), looked)
        missed += abs(change.estimate - 1) > change.half(RISK)
    assert missed <= 20


def hands(rng, cards, matches):
    """How many more copies the first seat has of each card, and how many both have."""
    drawn = np.zeros((2, matches, cards))
    for row in range(matches):
        pack = rng.permutation(np.repeat(np.arange(cards), 4))
        for seat in (0, 1):
            drawn[seat, row] = np.bincount(pack[5 * seat : 5 * seat + 5], minlength=cards)
    return drawn[0] - drawn[1], drawn.sum(axis=0)


def card_figures(more, both, scores):
    cards = [(str(card), str(card)) for card in range(more.shape[1])]
    return effects("opening", cards, more, both, scores)


def test_a_strong_card_is_named_first_and_no_other_one():
    rng, wanted, alarms, wrong = np.random.default_rng(2), [read("cards=-5..5")], 0, 0
    for _ in range(10):
        more, both = hands(rng, 12, 1500)
        even = (rng.random(1500) < 0.5).astype(float)
        none = list(card_figures(more, both, even))
        alarms += len(findings(none, wanted))
        wrong += sum(low > 0 or high < 0 for _, low, high in (each.interval for each in none))
        planted = (rng.random(1500) < 0.5 + 0.15 * np.clip(more[:, 4], -3, 3)).astype(float)
        found = findings(list(card_figures(more, both, planted)), wanted)
        assert found and found[0][0].title == "4"
        assert len(found) == 1
    assert alarms == 0 and wrong <= 2, "of 120 intervals, for 12 cards together"


@pytest.mark.parametrize("planted", [True, False])
def test_the_best_card_is_named_where_it_is_sure(planted):
    made, rng = study("champion_chess", 200), np.random.default_rng(5)
    for line in made.lines:
        line["score"], better = float(rng.random() < 0.5), int(rng.integers(2))
        line |= {"deal": 0.1 * rng.standard_normal() + planted * (0.2 * better - 0.1), "later": 0.0}
        for seat in (0, 1):
            could, did = line["cards"]["could"][seat], line["cards"]["did"][seat]
            did |= {card: int(rng.binomial(n, 0.5)) for card, n in could.items()}
            if planted:
                did["3"] = could.get("3", 0)
                for group in ("opening", "drawn"):
                    line["cards"][group][seat]["2"] = int(seat == better)
    said = [each for each in Report(made, []).sentences() if " most: " in each or "readily" in each]
    assert [each.split(" is ")[0] for each in said] == ["Bishop", "Rook"] * planted
    # Once is enough.
    said = [each for each in Report(made, [read("cards=-1..1")]).sentences() if "Bishop" in each]
    assert [each.split(":")[0] for each in said] == ["Stands out"] * planted


def test_the_luck_of_a_deal_tells_a_strong_card():
    strong = rulesets.changed("skystones", ["cards.Cloud Heron.west=6"])
    found = study("skystones", 150, strong).figures()
    dealt = [each for each in found if each.group == "opening"]
    assert len(dealt) == 45 and max(dealt, key=lambda each: each.estimate).title == "Cloud Heron"
    assert not any(each.group == "drawn" for each in found), "no luck comes later"


def test_a_card_may_be_worth_one_thing_dealt_and_another_drawn():
    made, rng = study("castle_rampage", 150), np.random.default_rng(6)
    for line in made.lines:  # The luck of the deal is small, and known better than what follows.
        dealt, drawn = (
            own.get("0", 0) - other.get("0", 0)
            for own, other in (line["cards"]["opening"], line["cards"]["drawn"])
        )
        line["deal"] = 0.02 * dealt + 0.01 * rng.standard_normal()
        line["later"] = -0.1 * (drawn - dealt) + 0.2 * rng.standard_normal()
    found = of(made.figures())
    assert abs(found["opening.KNIGHT"].estimate + 2) < 1
    assert abs(found["drawn.KNIGHT"].estimate - 10) < found["drawn.KNIGHT"].half(RISK / 21) < 5


def test_effects_are_of_a_card_against_an_average_card():
    rng = np.random.default_rng(3)
    more, both = hands(rng, 8, 4000)
    worth = np.array([4.0, -4, 2, -2, 0, 0, 0, 0]) / 100
    scores = 0.5 + more @ worth + 0.1 * rng.standard_normal(4000)
    worth -= both.sum(axis=0) @ worth / both.sum()
    for figure, each in zip(card_figures(more, both, scores), worth, strict=True):
        _, low, high = figure.interval
        assert low < 100 * each < high and high - low < 3
    assert not list(card_figures(more[:20], both[:20], scores[:20])), "too few matches"


# Two rulesets


@pytest.mark.parametrize("game_id", HOSTED)
def test_an_equal_ruleset_changes_nothing(game_id):
    made = study(game_id, 12, "{}", "{}")
    changes = made.changes()
    assert changes
    for change in changes:
        assert change.estimate == 0 and change.interval.low <= 0, change.key
    assert "Nothing has surely changed." in Report(made, []).sentences()


def test_a_card_is_named_before_what_follows_from_it():
    made = study("champion_chess", 60, "{}", "{}")
    for line in made.of(1):
        line["turns"] += 9
        for seat in (0, 1):  # It plays each Rook that it can, and fewer of the Bishops.
            could, did = line["cards"]["could"][seat], line["cards"]["did"][seat]
            did |= {"3": could.get("3", 0), "2": did.get("2", 0) // 3}
    said = Report(made, []).sentences()
    assert said[0] == "B has an equal ruleset."
    assert re.match(r"Changed: Rook: played when it could be \+\d", said[1])
    assert re.match(r"Changed: Bishop: played when it could be −\d", said[2])
    assert re.match(r"Changed: turns.*: \+9.0 ± 0.0 turns", said[3])


@pytest.mark.parametrize("more", [0.04, 0.06])
def test_what_is_told_as_nothing_has_not_changed(more):
    made = study("champion_chess", 12, "{}", "{}")
    for line in made.of(1):
        line["minutes"] += more
    said = [each for each in Report(made, []).sentences() if each.startswith("Changed: ")]
    assert [each.endswith(": +0.1 ± 0.0 minutes.") for each in said] == [True] * (more > 0.05)


def test_nothing_is_said_to_have_changed_where_nothing_has():
    lines, alarms = study("champion_chess", 240).lines, 0
    made = study("champion_chess", 0, "{}", "{}")
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(lines))
        made.lines = [lines[n] | {"arm": place % 2} for place, n in enumerate(order)]
        alarms += any(each.startswith("Changed") for each in Report(made, []).sentences())
    assert alarms <= 1


def test_the_same_deals_show_a_change_in_fewer_matches():
    varied = rulesets.changed("champion_chess", ["cards.ROOK.defend=12"])
    made = study("champion_chess", 60, "{}", varied)
    change = of(made.changes())["first_seat"].interval
    alone = [of(made.figures(arm))["first_seat"].interval for arm in (0, 1)]
    unpaired = sum((each.estimate - each.low) ** 2 for each in alone)
    assert (change.estimate - change.low) ** 2 < unpaired / 2


def test_a_comparison_stops_once_it_is_known_well_enough():
    varied = rulesets.changed("champion_chess", ["cards.ROOK.defend=9"])
    made = Study(settings("champion_chess", "{}", varied), None, 1)
    made.play(400, until=60.0)
    assert made.count == FIRST_LOOK
    looked, once = (of(made.changes(each))["first_seat"].interval for each in (True, False))
    assert 1.3 * (once.high - once.low) < looked.high - looked.low <= 120, "looking has a price"


# Kept in a folder


def test_a_study_that_was_interrupted_ends_as_if_it_had_not_been(tmp_path):
    whole = study("skystones", 9, folder=tmp_path / "whole", stronger="policy")
    study("skystones", 3, folder=tmp_path / "part", stronger="policy")
    path = tmp_path / "part" / LINES
    path.write_bytes(path.read_bytes()[:-40])
    again = study("skystones", 9, folder=tmp_path / "part", stronger="policy")
    assert again.lines == whole.lines and len(again.of(0, "pair")) == 2
    assert path.read_bytes() == (tmp_path / "whole" / LINES).read_bytes()
    with pytest.raises(StateError):
        study("skystones", 9, folder=tmp_path / "part", seed=4)
    # Whoever interrupts it before there is a match is told so.
    none = Report(study("skystones", 0), [])
    assert none.write(tmp_path, plots=True) and "too few matches" in none.markdown()


def test_a_folder_serves_one_run_at_a_time(tmp_path):
    made = study("skystones", 3, folder=tmp_path)
    with pytest.raises(StateError, match=f"{tmp_path} is in use by another process"):
        study("skystones", 3, folder=tmp_path)
    lines = made.lines
    del made
    assert study("skystones", 3, folder=tmp_path).lines == lines


@pytest.mark.parametrize("text", ['{"a":1}', "[]", "5", "rubbish", "\\xff", "[" * 100_000], ids=len)
def test_a_line_that_is_no_match_is_named(text, tmp_path):
    study("skystones", 1, folder=tmp_path)
    with (tmp_path / LINES).open("a") as file:
        file.write(f"{text}\n")
    with pytest.raises(StateError, match=rf"{LINES}, line 2: .*remove it and all lines after it"):
        study("skystones", 1, folder=tmp_path)
    for settings in ("[]", "[" * 100_000):
        (tmp_path / "settings.json").write_text(settings)
        with pytest.raises(StateError, match=r"settings.json.*: name another folder"):
            study("skystones", 1, folder=tmp_path)


# Rulesets in words


@pytest.mark.parametrize("game_id", HOSTED)
def test_each_number_can_be_changed_by_its_path_and_is_told(game_id):
    game = arena.game_of(game_id)
    tried = 0
    for path, number in list(rulesets.numbers(game).items())[::7]:
        for value in (number + 1, max(number - 1, 1)):
            try:
                text = rulesets.changed(game_id, [f"{path}={value}"])
            except RulesetError:
                continue
            if text == "{}":
                continue
            tried += 1
            other = arena.game_of(game_id, text)
            told = list(rulesets.differences(game, other))
            assert told == [f"{path} {number} → {value}"]
    assert tried > 3


def test_a_card_may_be_left_out():
    text = rulesets.changed("powershot_soccer", ["cards.Save 8.copies=0"])
    told = list(rulesets.differences(*map(arena.game_of, ["powershot_soccer"] * 2, ["{}", text])))
    assert told == ["cards.Save 8.copies 1 → 0"]
    made = study("powershot_soccer", 9, "{}", text)
    used = {each.title for each in made.changes() if each.group == "use"}
    assert "Save 7" in used and "Save 8" not in used


def test_changes_of_a_ruleset():
    def deck(*texts):
        options = json.loads(rulesets.changed("champion_chess", texts))
        return {each["card"]: each for each in options["cards"]}

    assert deck("cards.KING.defend*=1.3")[0]["defend"] == 13
    assert deck("cards.king.defend*=0.75", "cards.Rook.copies+=-1")[0]["defend"] == 7
    assert {each["attack"] for each in deck("cards.*.attack=2").values()} == {2}
    assert rulesets.changed("champion_chess", ["cards.KING.defend=10"]) == "{}"
    for wrong in (
        "cards.*.copies=0",
        "cards=[]",
        "x=1",
        "cards.X.defend=1",
        "cards.KING.x=1",
        "cards=",
        "hand_size=99",
        "a.json",
    ):
        with pytest.raises(RulesetError):
            rulesets.changed("champion_chess", [wrong])


def test_a_deck_may_be_a_file(tmp_path):
    path = tmp_path / "deck.json"
    path.write_text('{"hand_size": 5}')
    assert json.loads(rulesets.changed("champion_chess", [str(path)])) == {"hand_size": 5}
    path.write_text('{"championChess": {"handSize": 5}}')
    assert json.loads(rulesets.changed("champion_chess", [str(path)])) == {"hand_size": 5}
    with pytest.raises(RulesetError, match="it is of Champion Chess"):
        rulesets.changed("skystones", [str(path)])


# The search for changes


def told(search, made, count):
    """Figures that follow from the numbers of a ruleset, without matches."""
    numbers = rulesets.numbers(arena.game_of("champion_chess", search._ruleset(made)))
    rng = np.random.default_rng(5)
    values = {
        "opening.ROOK": ("Rook", 3.0 * (numbers["cards.Rook.defend"] - 8)),
        "opening.PAWN": ("Pawn", 2.5 * (numbers["cards.Pawn.attack"] - 2)),
        "turns": ("turns", 20.0 + 4 * (numbers["hand_size"] - 7)),
    }
    found = []
    for key, (title, value) in values.items():
        noise = rng.standard_normal(400)
        group = key.partition(".")[0]
        found.append(Figure(group, key, title, "points", value, noise - noise.mean()))
    return found


def test_the_search_undoes_three_changes_without_being_told_where_they_are(monkeypatch, tmp_path):
    def proposal(*planted):
        begun = study("champion_chess", 1, rulesets.changed("champion_chess", planted))
        return Search(begun, [read("cards=-5..5"), Target("turns", 18, 30)], 400, tmp_path).run()

    monkeypatch.setattr(Search, "_figures", told)
    monkeypatch.setattr(Search, "_compared", lambda search, made: search.begun)
    found = proposal("cards.ROOK.defend=12", "cards.PAWN.attack=6", "hand_size=5")
    assert not found.findings
    # The smallest changes with which the figures are inside, and seem so: 3, 5 and 20.
    assert found.changes == {"cards.Rook.defend": 9, "cards.Pawn.attack": 4, "hand_size": 7}
    assert proposal().changes == {}


def test_what_no_change_mends_keeps_none_that_helps_nothing(monkeypatch, tmp_path):
    def with_queen(search, made, count):
        # No number of hers matters, but some seem to.
        chance = np.random.default_rng(list(search._ruleset(made).encode()))
        noise = chance.standard_normal(400)
        value = 9 + 0.1 * chance.standard_normal()
        queen = Figure("opening", "opening.QUEEN", "Queen", "points", value, noise - noise.mean())
        return [*told(search, made, count), queen]

    monkeypatch.setattr(Search, "_figures", with_queen)
    monkeypatch.setattr(Search, "_compared", lambda search, made: search.begun)
    begun = study("champion_chess", 1, rulesets.changed("champion_chess", ["cards.ROOK.defend=12"]))
    found = Search(begun, [read("cards=-5..5"), Target("turns", 18, 30)], 400, tmp_path).run()
    assert [figure.title for figure, _ in found.findings] == ["Queen"]
    assert found.changes == {"cards.Rook.defend": 9}


def test_the_search_follows_a_card_whose_title_tells_its_number(monkeypatch, tmp_path):
    cards, counts = games()["powershot_soccer"]().cards(), []
    place = next(n for n, each in enumerate(cards) if each["title"] == "Shoot 4")

    def told(search, made, count):
        counts.append(count)
        game = arena.game_of("powershot_soccer", search._ruleset(made))
        power, card = game.ruleset["cards"][place]["power"], game.cards()[place]
        key, noise = f"opening.{card['id']}", np.tile([-1.0, 1.0], 200)
        if len(game.cards()) < len(cards):
            return []  # It is left out: nothing is outside, but that is no small change.
        value = 2.0 * (power - 7)
        return [Figure("opening", key, card["title"], "points", value, noise)]

    monkeypatch.setattr(Search, "_figures", told)
    monkeypatch.setattr(Search, "_compared", lambda search, made: search.begun)
    begun = study(
        "powershot_soccer", 1, rulesets.changed("powershot_soccer", ["cards.Shoot 4.power=15"])
    )
    found = Search(begun, [read("cards=-5..5")], 400, tmp_path).run()
    assert not found.findings and found.changes.keys() == {"cards.Shoot 15.power"}
    assert min(counts) >= 3 * len(cards), "fewer matches have no figures of cards"


def test_a_target_is_a_range():
    assert read("first_seat=49..51") == Target("first_seat", 49, 51)
    assert [Target("turns", 20, 30).miss(value) for value in (20, 35, 10)] == [0, 1, 2]
    for wrong in ("turns", "turns=5", "turns=9..3", "=1..2"):
        with pytest.raises(ValueError, match="is not KEY=LOW"):
            targets.read(wrong)
