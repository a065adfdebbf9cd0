"""The exact distribution of the opponent's cards in Castle Rampage, by a naive filter."""

import math
from collections import Counter, defaultdict

import pytest

from engine import games
from engine.errors import RulesetError, ViewError
from engine.game import SeatView
from engine.match import Match
from engine.model import learned
from engine.position import Position
from engine.sampler import Sampler
from tests.games import facts_of
from tests.games.castle_rampage.filter import Filter, world_of
from tests.games.castle_rampage.layout import NAMES, read_cards
from tests.games.castle_rampage.proportions import (
    P,
    count_worlds,
    game_with,
    p_of_draws,
)
from tests.support.long_form import LONG_FORM
from tests.support.play import (
    check_uniform,
    game_of,
    note_on_failure,
    random_joint,
    random_secret,
    seeded,
)

STRENGTHEN, KIND_SHIFT, CARD_SHIFT, CARD_MASK = 2, 35, 30, 31  # Parts of an action.
KNIGHT, ARCHER, AXE_MAN, GIANT, MERCENARY, VETERAN, DRAGON, OGRE, BOMBER = read_cards(
    "Knight Archer Axe_Man Giant Mercenary Veteran Dragon Ogre Bomber"
)

RULESETS = {
    "priests": (1, "Knight*9:gate=1 Veteran*4:cost=0:castle=5 Priest*4:cost=0:castle=5 Spy*3"),
    "veterans": (1, "Veteran*12:cost=0:attack=1:gate=2:castle=2 Knight*3:castle=4 Priest*2:cost=0"),
    "ogres": (1, "Archer*9:gate=1 Ogre*4:cost=0:castle=9 Jester*4 Saboteur*3"),
    "payments": (1, "Mercenary*9:gate=1 Axe_Man*4:gate=1 Granary*2:cost=0 Saboteur*2"),
    "schemes": (1, "Knight*9:gate=1 Axe_Man*3:gate=1 Charge*3:gate=1 Bomber*2"),
    "reshuffles": (1, "Knight*9:attack=1:gate=1:castle=3 Archer*4:castle=4 Bomber*2"),
    "two set-ups": (2, "Knight*20:gate=1:castle=2 Archer*3:gate=1 Spy*2"),
}
MATCHES = 12
ENOUGH = 10_000 if LONG_FORM else 40  # P-values.
MAX_WORLDS = 1500  # A match is given up when the filter has more worlds.
SHARE = 0.2  # The share of positions that are tested.
LONG_MATCHES = 5 if LONG_FORM else 3
CHANGED_MATCHES = 15 if LONG_FORM else 6
PREFERENCE_MATCHES = 60
SCRIPT_DRAWS = 5000  # So many that a weight that is wrong by half shows.


def strengthens(legal, rng):
    """The action of a seat that strengthens in each turn and seldom does anything else."""
    options = [action for action in legal if action >> KIND_SHIFT == STRENGTHEN]
    return rng.choice(options or ([legal[-1]] if rng.random() < 0.6 else legal))


def hoards(legal, rng):
    """The action of a seat that strengthens only with units, and so keeps its better cards."""
    options = [
        action
        for action in legal
        if action >> KIND_SHIFT == STRENGTHEN and action >> CARD_SHIFT & CARD_MASK <= AXE_MAN
    ]
    if options and rng.random() < 0.9:
        return rng.choice(options)
    return legal[-1] if rng.random() < 0.9 else rng.choice(legal)


PLAY_STYLES = {
    "at random": lambda legal, rng: rng.choice(legal),
    "strengthens": strengthens,
    "hoards": hoards,
}
LONG = {"at random": 150, "strengthens": 400, "hoards": 250}  # Decisions.


def positions(game, rng, filters):
    """Yield the positions of a random match, after the filters have seen their events."""
    match = Match(game, random_secret(rng))
    events, decider = match.events, None
    while True:
        for each in filters:
            each.see(events, decider)
        if match.over or max(len(each.worlds) for each in filters) > MAX_WORLDS:
            return
        yield match.position
        decider = match.deciders[0] if len(match.deciders) == 1 else None
        ends = rng.random() < 0.2
        for seat in match.deciders:
            legal = match.legal(seat)
            events = match.apply(seat, legal[-1] if ends else rng.choice(legal))


@pytest.mark.parametrize("name", RULESETS)
def test_draws_are_in_proportion(name):
    set_ups, cards = RULESETS[name]
    game = game_with(cards, set_ups)
    p_values, blind_p_values = [], []
    for seed in range(MATCHES):
        if min(len(p_values), len(blind_p_values)) > ENOUGH:
            break
        rng = seeded(name, seed)
        seat = seed % 2
        with note_on_failure(seed=seed):
            exact, blind = Filter(game, seat), Filter(game, seat, blind=True)
            for position in positions(game, rng, [exact, blind]):
                assert exact.worlds.keys() == blind.worlds.keys()
                assert world_of(position.fields, seat) in exact.worlds
                if len(exact.worlds) == 1 or rng.random() > SHARE:
                    continue
                view = position.view(seat)
                sampler = Sampler.of(view)
                assert sampler.exact and not sampler.thinned
                p_values.append(p_of_draws(sampler, exact.worlds, rng))
                sampler = type(sampler)(view, exact_most=0)
                if sampler.thinned:
                    assert count_worlds(sampler, 200, rng).keys() <= blind.worlds.keys()
                else:
                    blind_p_values.append(p_of_draws(sampler, blind.worlds, rng))
    check_uniform(p_values)
    check_uniform(blind_p_values)


def draws_of(fields, seat):
    """The sorted cards that a seat drew from each pile; with the last ones, those left in it."""
    own = fields["own"][seat]
    piles = [[]]
    for card in own["drawn"][: own["drawn_length"]]:
        if card:
            piles[-1].append(card)
        else:
            piles.append([])
    piles[-1] += fields["draw_pile"][: fields["common"]["draw_size"]]
    return [sorted(pile) for pile in piles]


@pytest.mark.parametrize("name", ["default", "tiny", "informers", "purple"])
def test_in_a_world_the_opponent_remembers_what_it_drew(name):
    game, _ = game_of("castle_rampage", name)
    reshuffled = 0
    for seed in range(MATCHES):
        rng = seeded("drawn", name, seed)
        position = Position.deal(game, seed)
        with note_on_failure(seed=seed):
            while not position.over:
                if rng.random() < SHARE:
                    seat = rng.randrange(2)
                    world = Sampler.of(position.view(seat)).sample(rng.getrandbits(64))
                    expected = draws_of(position.fields, 1 - seat)
                    assert draws_of(world.fields, 1 - seat) == expected
                    reshuffled += len(expected) > 1
                    Sampler.of(world.view(1 - seat))  # Its view does not contradict itself.
                position.apply(random_joint(position, rng), rng.getrandbits(64))
    assert reshuffled


class Script:
    """A scripted match with one set-up, which Red begins. The filters and samplers are Red's."""

    def __init__(self, cards, red, blue, top):
        """Set up the cards of both seats and the first cards of the draw pile."""
        facts = facts_of("castle_rampage")
        self.game = game_with(cards)
        self.filters = [Filter(self.game, 0, blind) for blind in (False, True)]
        dealt = {"red.dealt": red.replace("/", ""), "blue.dealt": blue.replace("/", "")}
        fields = facts.set_up(self.game, {**dealt, "top": top})
        self.position = Position.from_fields(self.game, fields)
        for each in self.filters:
            each.see_drawn(True, read_cards(dealt["red.dealt"]))
            each.see_drawn_hidden(False, (5,))
        self.apply({0: f"set_up {red}", 1: f"set_up {blue}"})

    def apply(self, joint):
        facts = facts_of("castle_rampage")
        decider = min(joint) if len(joint) == 1 else None
        actions = {
            seat: self.game.make_action(facts.read_action(self.position, seat, text))
            for seat, text in joint.items()
        }
        for seat, action in actions.items():
            self.position.check(seat, action)
        events = self.position.apply(actions, 1)
        for each in self.filters:
            each.see(events, decider)

    def play(self, *lines):
        """Play an action of the seat that must decide, for each line."""
        for line in lines:
            self.apply({self.position.deciders[0]: line})

    def worlds(self):
        """The worlds of both filters, after a check that the samplers draw the same."""
        rng = seeded("script")
        exact = Sampler.of(self.position.view(0))
        blind = type(exact)(self.position.view(0), exact_most=0)
        for sampler, each in zip((exact, blind), self.filters, strict=True):
            assert not sampler.thinned
            assert p_of_draws(sampler, each.worlds, rng, SCRIPT_DRAWS) > P
        return [each.worlds for each in self.filters]


def share(worlds, so):
    """The probability of the worlds for which `so` is true."""
    return sum(weight for world, weight in worlds.items() if so(world))


def test_a_card_that_was_shown_may_lie_under_a_structure_later():
    script = Script(
        "Knight*8 Archer*5 Dragon Priest*2:cost=0",
        "Knight Archer / Archer Archer / Priest",
        "Knight Knight / Archer Knight / Dragon",
        "Knight Knight Archer",
    )
    script.play("play Priest archer", "end_turn", "strengthen Knight gate")
    exact, blind = script.worlds()
    assert share(blind, lambda world: DRAGON in world.hand) == pytest.approx(2 / 3)
    assert share(blind, lambda world: world.structures[0][2] == DRAGON) == pytest.approx(1 / 3)
    # To a blind sampler, the Dragon is as likely as each other card to be the one that was placed.
    # But Blue has fewer legal actions if its other cards are equal, so that placing the Dragon is
    # then more likely.
    gone = share(exact, lambda world: world.structures[0][2] == DRAGON)
    assert gone + share(exact, lambda world: DRAGON in world.hand) == pytest.approx(1)
    assert gone > 1 / 3


def test_a_veteran_that_returned_may_lie_under_a_structure_later():
    script = Script(
        "Knight*8 Archer*5 Giant*2:gate=9 Veteran:cost=0",
        "Giant Archer / Archer Archer / Knight",
        "Knight Knight / Archer Knight / Veteran",
        "Knight Knight Archer",
    )
    script.play("end_turn", "play Veteran")
    for worlds in script.worlds():
        assert all(VETERAN in world.hand for world in worlds)
    script.play("strengthen Knight castle", "end_turn")
    exact, blind = script.worlds()
    assert share(blind, lambda world: world.structures[1][2] == VETERAN) == pytest.approx(1 / 3)
    assert 0 < share(exact, lambda world: world.structures[1][2] == VETERAN) < 1


def test_a_card_that_a_spy_saw_stays_known_and_lies_nowhere_else():
    script = Script(
        "Knight*8 Archer*4 Dragon Spy",
        "Knight Archer / Archer Archer / Knight",
        "Dragon Knight / Archer Knight / Knight",
        "Spy Knight Knight",
    )
    before = script.worlds()[0]
    assert 0 < share(before, lambda world: world.structures[0][0] == DRAGON) < 1
    assert 0 < share(before, lambda world: DRAGON in world.hand) < 1
    script.play("play Spy")
    for lines in ([], ["end_turn"], ["strengthen Knight gate"], ["end_turn"]):
        script.play(*lines)
        for worlds in script.worlds():
            for world in worlds:
                assert world.structures[0][0] == DRAGON and world.structures[1][0] == ARCHER
                assert DRAGON not in world.hand + world.pile
                assert world.structures[0].count(DRAGON) == 1 and DRAGON not in world.structures[1]


def test_a_shown_hand_is_certain_and_later_draws_are_not():
    script = Script(
        "Knight*8 Archer*5 Dragon Priest*2:cost=0",
        "Knight Archer / Archer Archer / Priest",
        "Knight Knight / Archer Knight / Dragon",
        "Knight Knight Archer",
    )
    script.play("play Priest archer")
    for worlds in script.worlds():
        assert all(world.hand == (DRAGON,) for world in worlds)
    script.play("end_turn")
    for worlds in script.worlds():
        assert all(DRAGON in world.hand for world in worlds)
        pairs = Counter(tuple(sorted(Counter(world.hand) - Counter([DRAGON]))) for world in worlds)
        assert len(pairs) > 3


def test_a_second_look_at_a_hand_tells_of_the_cards_under_structures():
    script = Script(
        "Knight*8 Archer*6 Priest*2:cost=0",
        "Knight Archer / Archer Knight / Priest",
        "Knight Knight / Knight Knight / Archer",
        "Priest Archer Knight Knight",
    )
    script.play("play Priest axe_man", "end_turn", "strengthen Knight gate", "end_turn")
    script.play("play Priest axe_man")
    # The hand is two Archers. One of them may be the Archer that was shown first.
    for worlds in script.worlds():
        assert all(world.hand == (ARCHER, ARCHER) for world in worlds)
        assert 0 < share(worlds, lambda world: world.structures[0][2] == ARCHER) < 1


def test_a_defender_that_went_back_on_top_is_known_until_it_falls():
    script = Script(
        "Knight*9:gate=2:castle=9 Archer*3:gate=1:castle=9 Giant:gate=4 Dragon*2:cost=0",
        "Knight Archer / Archer Knight / Knight",
        "Giant Knight / Knight Knight / Archer",
        "Dragon Knight Knight",
    )
    script.play("play Knight", "end_turn")
    for lines in ([], ["strengthen Archer gate"], ["end_turn"]):
        script.play(*lines)
        for worlds in script.worlds():
            for world in worlds:
                assert world.structures[0][0] == GIANT
                assert GIANT not in world.hand + world.pile + world.structures[0][1:]
    # The Giant and a Knight fall. The Archer stops the rest of the attack, and falls, too.
    script.play("play Dragon")
    for worlds in script.worlds():
        for world in worlds:
            assert world.structures[0] == (GIANT, KNIGHT, ARCHER)
            assert GIANT not in world.hand + world.pile + world.structures[1]


def test_two_reshuffles_rule_out_the_cards_of_the_discard_pile():
    script = Script(
        "Knight*9:gate=1 Archer*2 Mercenary*4",
        "Knight Knight / Knight Knight / Archer",
        "Mercenary Knight / Knight Knight / Archer",
        "Knight Knight Mercenary Mercenary Mercenary",
    )
    # Both Archers are discarded.
    script.play("play Archer", "end_turn", "strengthen Mercenary castle", "end_turn")
    script.play("play Mercenary", "end_turn")
    assert script.filters[0].reshuffles == 1
    for worlds in script.worlds():
        # A card placed before the reshuffle is no Archer; a card drawn since can be one.
        places = [card for world in worlds for card in (*world.structures[0], *world.structures[1])]
        assert ARCHER not in places and MERCENARY in places
        assert 0 < share(worlds, lambda world: ARCHER in world.hand) <= 1
    script.play("strengthen Knight castle", "end_turn")
    for worlds in script.worlds():
        assert 0 < share(worlds, lambda world: world.structures[1][3] == ARCHER) < 1
        assert share(worlds, lambda world: ARCHER in world.structures[1][:3]) == 0
    script.play("play Knight", "end_turn")
    assert script.filters[0].reshuffles == 2
    for worlds in script.worlds():
        assert share(worlds, lambda world: ARCHER in world.structures[1][:3]) == 0
        assert 0 < share(worlds, lambda world: world.structures[1][3] == ARCHER) < 1


def test_no_purple_card_is_set_up_and_no_ogre_lies_face_down():
    script = Script(
        "Knight*11 Archer*3 Ogre*2:cost=0 Bomber*2",
        "Knight Archer / Knight Archer / Knight",
        "Knight Knight / Knight Knight / Archer",
        "Bomber Bomber Ogre Knight Knight Ogre Knight",
    )
    script.play("end_turn", "strengthen Bomber gate", "end_turn")
    for worlds in script.worlds():
        assert 0 < share(worlds, lambda world: world.structures[0][2] == BOMBER) < 1
        assert 0 < share(worlds, lambda world: OGRE in world.hand) < 1
        for world in worlds:
            set_up = world.structures[0][:2] + world.structures[1]
            assert not {OGRE, BOMBER} & set(set_up)
            assert world.structures[0][2] != OGRE
    script.play("end_turn", "strengthen Ogre castle Archer Ogre")
    for worlds in script.worlds():
        assert all(world.structures[1][2] == OGRE for world in worlds)


def test_a_revealed_card_tells_of_the_hand_before():
    script = Script(
        "Knight*8:gate=2:castle=9 Archer*4:gate=2:castle=9 Dragon Priest:cost=0 "
        "Giant:attack=9:cost=0",
        "Knight Archer / Archer Knight / Priest",
        "Knight Knight / Archer Knight / Dragon",
        "Giant Knight Archer Knight",
    )
    script.play("play Priest archer", "end_turn", "strengthen Knight gate", "end_turn")
    for worlds in script.worlds():
        assert 0 < share(worlds, lambda world: DRAGON in world.hand) < 1
    script.play("play Giant")
    for worlds in script.worlds():
        assert all(world.structures[0] == (KNIGHT, KNIGHT, KNIGHT) for world in worlds)
        assert all(DRAGON in world.hand for world in worlds)


@pytest.mark.parametrize("play_style", ["at random", "strengthens", "hoards"])
def test_a_long_match_always_has_worlds(play_style):
    # With many cards face down, far more particles fit than can be kept. Some of the kept ones must
    # fit the rest of the match, too.
    game, facts = game_of("castle_rampage", "default")
    longest = 0
    for seed in range(LONG_MATCHES):
        rng = seeded(play_style, seed)
        position, decisions = Position.deal(game, seed), 0
        with note_on_failure(seed=seed):
            while not position.over:
                if rng.random() < SHARE:
                    for seat in range(2):
                        view = position.view(seat)
                        world = Sampler.of(view).sample(decisions)
                        assert world.view(seat) == view
                        facts.check_conserved(game, world.fields)
                joint = {
                    seat: PLAY_STYLES[play_style](position.legal(seat), rng)
                    for seat in position.deciders
                }
                position.apply(joint, rng.getrandbits(64))
                decisions += 1
        longest = max(longest, decisions)
    assert longest > LONG[play_style]


def test_a_view_has_worlds_where_what_was_learned_leads_astray():
    # By the model, a seat that hoards its better cards would have played them long ago: all
    # particles of this match fail.
    game, _ = game_of("castle_rampage", "default")
    rng = seeded("hoards", 6)
    position, decisions = Position.deal(game, 6), 0
    while decisions < 145:
        if rng.random() < SHARE:
            for seat in range(2):
                view = position.view(seat)
                assert Sampler.of(view, learned(game)).sample(decisions).view(seat) == view
        joint = {seat: hoards(position.legal(seat), rng) for seat in position.deciders}
        position.apply(joint, rng.getrandbits(64))
        decisions += 1


def test_every_view_has_worlds_with_any_deck_and_any_preferences():
    # The decks are random, and some are so small that they are reshuffled all the time. The seats
    # prefer some actions a thousand times to others.
    reshuffles = 0
    for seed in range(PREFERENCE_MATCHES):
        rng = seeded("whim", seed)
        copies = [rng.choice((0, 0, 1, 2, 3, rng.randrange(12))) for _ in NAMES]
        cards = [{"card": card, "copies": copies[card]} for card in range(1, len(NAMES))]
        try:
            game = games()["castle_rampage"]({"set_ups": 1, "cards": cards})
        except RulesetError:
            continue
        likes = [defaultdict(lambda rng=rng: math.exp(rng.gauss(0, 4))) for _ in range(2)]
        position = Position.deal(game, seed)
        with note_on_failure(seed=seed):
            while not position.over:
                if rng.random() < SHARE:
                    view = position.view(rng.randrange(2))
                    assert Sampler.of(view).sample(seed).view(view.seat) == view
                joint = {}
                for seat in position.deciders:
                    legal = position.legal(seat)
                    weights = [likes[seat][action >> CARD_SHIFT] for action in legal]
                    joint[seat] = rng.choices(legal, weights)[0]
                position.apply(joint, rng.getrandbits(64))
        own = position.fields["own"][0]
        reshuffles = max(reshuffles, own["drawn"][: own["drawn_length"]].count(0))
    assert reshuffles > 20


def test_a_structure_has_no_more_cards_than_there_were_turns():
    script = Script(
        "Knight*8 Archer*5",
        "Knight Archer / Archer Archer / Archer",
        "Knight Knight / Knight Knight / Knight",
        "Knight Knight",
    )
    script.play("end_turn", "strengthen Knight gate")
    fields = script.position.view(0).fields
    for change in ({"strengthened": 0}, {"turn": 1, "active": 0}):
        lie = {**fields, "common": {**fields["common"], **change}}
        with pytest.raises(ViewError, match="turn"):
            Sampler.of(SeatView.from_fields(script.game, lie))


def test_a_hand_with_card_0_is_refused():
    # Random discards would count card 0, and in the end run out of cards.
    game = games()["castle_rampage"]()
    fields = Position.deal(game, 0).view(0).fields
    fields["own"]["hand"][0] = 1
    with pytest.raises(ViewError, match="no card"):
        Sampler.of(SeatView.from_fields(game, fields))


@pytest.mark.parametrize("name", ["cards", "known"])
def test_a_structure_with_cards_beyond_its_count_is_refused(name):
    game = games()["castle_rampage"]()
    fields = Position.deal(game, 0).view(0).fields
    fields["stacks"][3][name][10] = 1
    with pytest.raises(ViewError, match="number of its cards"):
        Sampler.of(SeatView.from_fields(game, fields))


def test_a_changed_byte_of_a_hand_history_is_refused_or_possible():
    game, _ = game_of("castle_rampage", "informers")
    rng = seeded("story")
    refused = taken = 0
    for seed in range(CHANGED_MATCHES):
        position = Position.deal(game, seed)
        for _ in range(rng.randrange(20, 60)):
            if len(position.deciders):
                position.apply(random_joint(position, rng), rng.getrandbits(64))
        fields = position.view(seed % 2).fields
        side = fields["common"]["sides"][1 - seed % 2]
        for at in range(side["history_length"]):
            truth = side["history"][at]
            side["history"][at] = rng.choice((truth ^ 1 << rng.randrange(8), rng.randrange(256)))
            view = SeatView.from_fields(game, fields)
            with note_on_failure(seed=seed, at=at, lie=side["history"][at]):
                try:
                    assert Sampler.of(view).sample(at).view(view.seat) == view
                    taken += 1
                except ViewError:
                    refused += 1
            side["history"][at] = truth
    assert refused > taken > 0
