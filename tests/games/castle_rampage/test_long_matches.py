"""Matches of Castle Rampage that are too long for the room of a hand history."""

import math
from collections import Counter

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.games import facts_of, spread
from tests.games.castle_rampage import read_card_list
from tests.games.castle_rampage.filter import Filter, World, world_of
from tests.games.castle_rampage.layout import NAMES, OGRE, SPY, is_purple, read_cards
from tests.games.castle_rampage.proportions import game_with, p_of_draws
from tests.support.long_form import LONG_FORM
from tests.support.play import check_uniform, note_on_failure, seeded

PLAY, KIND_SHIFT, CARD_SHIFT, CARD_MASK = 3, 35, 30, 31  # Parts of an action.
MAX_TURNS, MAX_HISTORY, MAX_DRAWN, MAX_DECISIONS = 200, 1600, 800, 800
DRAW = 255  # The value of `winner` in a draw.

LISTS = {
    "priests": "Priest*20:cost=0 Knight*16 Archer*15 Axe_Man*16 Giant*4 Mercenary*7 Spy*4",
    "granaries": "Granary*20:cost=0:castle=20 Knight*20:castle=20 Archer*20:castle=20 Axe_Man*20 "
    "Ogre*20 Priest*20:cost=0 Spy*20",
    "walls": "Knight*20:gate=20:castle=20 Archer*20:gate=20:castle=20 Priest*20:cost=0 Volley*20",
}
MATCHES = 6 if LONG_FORM else 3
SHARE = 0.02  # The share of positions for which a world is drawn.
# A deck with which a seat that plays a Spy draws it again.
SPIES = "Knight*20:gate=20:castle=20 Spy*3"
SUMMED_UP = {
    "hands": (1, "Knight*7:gate=1:castle=9 Archer*5:gate=1:castle=9 Spy*2 Ogre*2:cost=0"),
    "structures": (1, "Knight*8:attack=1:gate=2:castle=9 Axe_Man*6:attack=1:castle=9 Bomber*3"),
    "two set-ups": (2, "Knight*20:gate=1:castle=9 Archer*4:gate=1:castle=9 Ogre*3:cost=0 Spy*2"),
    "priests": (1, "Knight*9:gate=1:castle=9 Priest*4:cost=0:castle=9 Archer*2:castle=9"),
}
SUMMED_UP_MATCHES = 30 if LONG_FORM else 15
FILTERED = 8  # The number of decisions after summing up at which draws are tested.
MAX_WORLDS = 1500


def history_lengths(position):
    return [side["history_length"] for side in position.fields["common"]["sides"]]


def check_world(game, position, seat, seed):
    """Check that the sampler draws a world that has the seat's view."""
    view = position.view(seat)
    world = Sampler.of(view).sample(seed)
    assert world.view(seat) == view
    facts_of("castle_rampage").check_conserved(game, world.fields)


@pytest.mark.parametrize("name", LISTS)
def test_a_match_is_a_draw_after_200_turns_and_not_before(name):
    game = games()["castle_rampage"]({"cards": read_card_list(LISTS[name])})
    draws = 0
    for seed in range(MATCHES):
        rng = seeded(name, seed)
        position = Position.deal(game, seed)
        with note_on_failure(seed=seed):
            while not position.over:
                if rng.random() < SHARE:
                    check_world(game, position, rng.randrange(2), seed)
                joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
                position.apply(joint, rng.getrandbits(64))
            common = position.fields["common"]
            if common["winner"] == DRAW:
                draws += 1
                assert common["turn"] == MAX_TURNS
                # The history is long: a full one ends no match.
                assert max(history_lengths(position)) > 200
    assert draws > 0


def test_an_endless_turn_is_cut_and_the_match_goes_on():
    game = games()["castle_rampage"]({"turns": 5, "cards": read_card_list(SPIES)})
    rng = seeded("spies")
    position = Position.deal(game, 5)
    lengths, turns = [], []
    while not position.over:
        joint = {}
        for seat in position.deciders:
            legal = position.legal(seat)
            spies = [
                action
                for action in legal
                if (action >> KIND_SHIFT, action >> CARD_SHIFT & CARD_MASK) == (PLAY, SPY)
            ]
            joint[seat] = spies[0] if spies else legal[-1]
        events = position.apply(joint, rng.getrandbits(64))
        turns.append([event.kind for event in events if event.kind.startswith("turn")])
        lengths.append(history_lengths(position))
        if len(lengths) > 1 and min(lengths[-1]) < max(lengths[-2]) - 100:
            for seat in range(2):
                check_world(game, position, seat, len(turns))
    common = position.fields["common"]
    assert (common["turn"], common["winner"]) == (5, DRAW)
    # A seat that begins to play Spies plays 800, and the last of them begins the next turn.
    cuts = [at for at, kinds in enumerate(turns) if "turn_cut" in kinds]
    assert cuts
    for at in cuts:
        assert turns[at] == ["turn_cut", *["turn_started"] * (at < len(turns) - 1)]
        assert not any(turns[at - MAX_DECISIONS + 1 : at])
    falls = [at for at in range(1, len(lengths)) if min(lengths[at]) < max(lengths[at - 1]) - 100]
    assert len(falls) >= len(cuts)


def all_worlds(game, position, seat):
    """All worlds of a seat that sees only where cards lie, with their probabilities.

    Every way to deal out the unseen cards is equally likely, except that no set-up card is purple
    and no Ogre lies face down.
    """
    fields = position.fields
    seen = position.view(seat).fields
    other = fields["own"][1 - seat]
    hidden = Counter(spread(other["hand"]))
    hidden.update(fields["draw_pile"][: fields["common"]["draw_size"]])
    whole = fields["stacks"][2 * (1 - seat) :][:2]
    shown = seen["stacks"][2 * (1 - seat) :][:2]
    places = []
    for structure in range(2):
        for at in range(whole[structure]["count"]):
            if shown[structure]["cards"][at] == 0:
                hidden[whole[structure]["cards"][at]] += 1
                places.append((structure, at))
    hand_size = sum(other["hand"])
    set_up = 2 * game.ruleset["set_ups"]
    worlds = {}
    start = tuple(tuple(stack["cards"][: stack["count"]]) for stack in shown)

    def share_out(structures, left, at, ways):
        if at < len(places):
            structure, place = places[at]
            for card, n in left.items():
                if n and not (is_purple(card) if place < set_up else card == OGRE):
                    cards = structures[structure]
                    cards = (*cards[:place], card, *cards[place + 1 :])
                    both = tuple(cards if s == structure else structures[s] for s in range(2))
                    share_out(both, left - Counter([card]), at + 1, ways * n)
            return
        for hand, hand_ways in hands(sorted(left.items()), hand_size):
            pile = tuple(sorted((left - Counter(hand)).elements()))
            worlds[World(tuple(sorted(hand)), (), structures, pile)] = ways * hand_ways

    share_out(start, hidden, 0, 1)
    total = sum(worlds.values())
    return {world: ways / total for world, ways in worlds.items()}


def hands(counts, size):
    """The hands of a size out of counts of cards, with the number of ways to deal each."""
    if not counts:
        return [((), 1)] if size == 0 else []
    (card, n), *rest = counts
    return [
        ((card,) * k + hand, math.comb(n, k) * ways)
        for k in range(min(n, size) + 1)
        for hand, ways in hands(rest, size - k)
    ]


def full(game, position, rng):
    """The position with a history, or a memory of draws, that the next decision makes full."""
    fields = position.fields
    if rng.random() < 0.5:
        fields["common"]["sides"][position.deciders[0]]["history_length"] = MAX_HISTORY - 1
    else:
        fields["own"][rng.randrange(2)]["drawn_length"] = MAX_DRAWN
    return Position.from_fields(game, fields)


@pytest.mark.parametrize("name", SUMMED_UP)
def test_draws_are_in_proportion_after_histories_were_summed_up(name):
    # Summing up forgets what was told of single cards; what is told afterwards counts.
    set_ups, cards = SUMMED_UP[name]
    game = game_with(cards, set_ups)
    p_values = []
    for seed in range(SUMMED_UP_MATCHES):
        rng = seeded(name, seed)
        position, decider, seat = Position.deal(game, seed), None, seed % 2
        fill_at, decisions = rng.randrange(4, 14), 0
        known = Filter(game, seat, blind=True)
        with note_on_failure(seed=seed):
            known.worlds = {World((), (), ((), ()), ()): 1.0}
            while not position.over and decisions < fill_at + FILTERED:
                if decisions == fill_at:
                    position = full(game, position, rng)
                legal = {seat: position.legal(seat) for seat in position.deciders}
                joint = {each: rng.choice(actions) for each, actions in legal.items()}
                decider = min(joint) if len(joint) == 1 else None
                events = position.apply(joint, rng.getrandbits(64))
                decisions += 1
                if position.over:
                    break
                if decisions <= fill_at:
                    continue
                if decisions == fill_at + 1:
                    known = start_over(game, position, seat)
                else:
                    known.see(events, decider)
                if len(known.worlds) > MAX_WORLDS:
                    break
                assert world_of(position.fields, seat) in known.worlds
                sampler = Sampler.of(position.view(seat))
                assert not sampler.exact
                if len(known.worlds) > 1 and not sampler.thinned:
                    p_values.append(p_of_draws(sampler, known.worlds, rng))
    check_uniform(p_values)


def start_over(game, position, seat):
    """A filter that knows only where cards lie."""
    filtered = Filter(game, seat, blind=True)
    filtered.worlds = all_worlds(game, position, seat)
    common = position.fields["common"]
    filtered.discards = Counter(spread(common["discards"]))
    for side, permanents in zip(common["sides"], filtered.permanents, strict=True):
        permanents.update(read_cards("Catapult") * side["catapults"])
        permanents.update(read_cards("Granary") * side["granaries"])
    stacks = position.fields["stacks"][2 * (1 - seat) :][:2]
    filtered.tops = [stack["top"] for stack in stacks]
    filtered.active = common["active"]
    filtered.strengthened = bool(common["strengthened"])
    return filtered


def test_histories_always_have_room_with_the_default_list():
    # So nothing is ever forgotten with this list, whatever cards the seats prefer.
    game = games()["castle_rampage"]()
    longest = 0
    for seed in range(MATCHES):
        rng = seeded("room", seed)
        position = Position.deal(game, seed)
        likes = {card: math.exp(rng.gauss(0, 2)) for card in range(len(NAMES))}
        while not position.over:
            joint = {}
            for seat in position.deciders:
                legal = position.legal(seat)
                # Strengthening makes a match long.
                weights = [
                    likes[action >> CARD_SHIFT & CARD_MASK]
                    * (30 if action >> KIND_SHIFT == 2 else 1)
                    for action in legal
                ]
                joint[seat] = rng.choices(legal, weights)[0]
            position.apply(joint, rng.getrandbits(64))
            longest = max(longest, *history_lengths(position))
    assert MAX_HISTORY // 3 < longest < MAX_HISTORY - 200
