"""The playout policy of Champion Chess chooses as a slow one does, and so do its playouts."""

import functools
from collections import Counter
from fractions import Fraction

import pytest

from engine import games
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import compare, p_of_distribution, upper_tail
from tests.games import facts_of
from tests.support.play import random_joint, seeded

FACTS = facts_of("champion_chess")
GAMES = {
    name: games()["champion_chess"](ruleset)
    for name, ruleset in {**FACTS.rulesets, **FACTS.small_rulesets}.items()
    if name not in ("king_alone", "hand_of_1")  # Hardly a decision.
}
MATCHES = 40
SHARE = 0.15  # The share of positions that are tested; of short matches, all are.
SHORT = FACTS.small_rulesets
WORLDS = 6
CHOICES = 400
PLAYOUTS = 1_500
LEAST_P = 1e-6

KING, ROOK, PAWN, NOBLES, CARDS = 0, 3, 5, 5, 12
CHAMPION, AID = 1, 2
KINDS = {"play_champion": 1 << 60, "play_aid": 2 << 60, "discard_to_reserve": 3 << 60}


def positions(name):
    """Yield positions of random matches, with their seed and generator."""
    for seed in range(MATCHES):
        rng = seeded("chess playout", name, seed)
        position = Position.deal(GAMES[name], seed)
        while not position.over:
            if name in SHORT or rng.random() < SHARE:
                yield seed, position, rng
            position.apply(random_joint(position, rng), rng.getrandbits(64))


def packed(cards):
    """The cards of an action."""
    return sum(1 << 4 * card for card in cards)


# The slow policy: the exact probabilities of its choices


def champion(position, seat):
    """The probabilities of the champions."""
    legal = position.legal(seat)
    others = [action for action in legal if action != KINDS["play_champion"] | KING]
    choices = others or legal
    return {action: 1 / len(choices) for action in choices}


def won(ahead, margin):
    """Whether a side is ahead by more than a margin in two categories."""
    return sum(points > margin for points in ahead) >= 2


def aid(points, hand, own, other):
    """The probabilities of the aid."""
    king = KING in (own, other)

    @functools.cache
    def play_on(left, ahead, margin):
        # The probabilities of what is played of some cards, and of what that gives.
        if not left or won(ahead, margin):
            return {((), ahead): Fraction(1)}
        found = Counter()
        for i, card in enumerate(left):
            rest = left[:i] + left[i + 1 :]
            useful = any(
                n and points <= margin for n, points in zip(points_of(card), ahead, strict=True)
            )
            after, played = ahead, ()
            if king or useful:
                after = tuple(a + b for a, b in zip(ahead, points_of(card), strict=True))
                played = (card,)
            for (cards, end), chance in play_on(rest, after, margin).items():
                found[tuple(sorted(played + cards)), end] += chance / len(left)
        return found

    def points_of(card):
        return points[card]

    level = tuple(a - b for a, b in zip(points[own], points[other], strict=True))
    cards = [PAWN] * hand[PAWN] + [card for card in range(PAWN + 1, CARDS) if hand[card]]
    found = Counter()
    for margin in range(7):
        played = play_on(tuple(cards), level, margin + 7 * king)
        for (some, ahead), chance in played.items():
            chance /= 7
            if king:
                found[some] += chance
            else:
                kept = Fraction(3, 4) if won(ahead, 0) else Fraction(3, 16)
                found[some] += chance * kept
                found[()] += chance * (1 - kept)
    return {KINDS["play_aid"] | packed(some): float(chance) for some, chance in found.items()}


def discards(hand):
    """The probabilities of the discards: each card with a probability of 1/4."""
    found = {(): Fraction(1)}
    for card, count in enumerate(hand):
        for _ in range(count):
            after = Counter()
            for some, chance in found.items():
                after[some] += chance * Fraction(3, 4)
                after[(*some, card)] += chance / 4
            found = after
    return {
        KINDS["discard_to_reserve"] | packed(some): float(chance) for some, chance in found.items()
    }


def probabilities(position, seat):
    """The probability of each action of a seat."""
    fields = position.fields
    hand = fields["own"][seat]["hand"]
    if fields["phase"] == CHAMPION:
        return champion(position, seat)
    if fields["phase"] == AID:
        cards = position.game.ruleset["cards"]
        points = [tuple(card[key] for key in ("movement", "attack", "defend")) for card in cards]
        own, other = (fields["side"][side]["champion"] - 1 for side in (seat, 1 - seat))
        return {key: p for key, p in aid(points, hand, own, other).items() if p}
    return discards(hand)


@pytest.mark.parametrize("name", GAMES)
def test_it_chooses_with_the_probabilities_of_the_slow_policy(name):
    policy = PlayoutPolicy.of(GAMES[name])
    tested = 0
    for seed, position, rng in positions(name):
        seat = rng.randrange(2)
        seen = Counter(policy.action(position, seat, choice) for choice in range(CHOICES))
        likely = probabilities(position, seat)
        p = p_of_distribution(seen, likely)
        assert p > LEAST_P, f"seed {seed}: {seen}, not {likely}, in {position.fields}"
        tested += len(likely) > 1
    assert tested >= 10


@pytest.mark.parametrize("name", GAMES)
def test_its_playouts_are_play_by_its_choices(name):
    policy = PlayoutPolicy.of(GAMES[name])
    last = [position.copy() for _, position, _ in positions(name)]
    for at in (0, len(last) // 3, len(last) // 2, -1):
        position = last[at]
        fast, slow = Counter(), Counter()
        for seed in range(PLAYOUTS):
            fast[tuple(round(n, 9) for n in policy.playouts(position, 1, seed))] += 1
            played = position.copy()
            end = policy.at(position) + (2 if sum(copies(GAMES[name])) > 16 else 1_000)
            chance = seed << 32
            while not played.over and policy.at(played) < end:
                chance += 3
                joint = {seat: policy.action(played, seat, chance + seat) for seat in range(2)}
                played.apply(joint, chance + 2)
            score = (played.scores[0], played.scores[0] == 0.5) if played.over else None
            slow[tuple(round(float(n), 9) for n in score or policy.score(played))] += 1
        statistic, degrees = compare(fast, slow)
        assert degrees > 0 or len(fast) == 1, f"position {at}"
        assert upper_tail(statistic, degrees) > LEAST_P, f"position {at}: {fast}, {slow}"


def copies(game):
    """The number of copies of each card."""
    return [card["copies"] for card in game.ruleset["cards"]]


# Actions without a list


@pytest.mark.parametrize("name", GAMES)
def test_actions_are_known_without_a_list(name):
    answers = Counter()
    for seed, position, rng in positions(name):
        for seat in range(2):
            sampler = Sampler.of(position.view(1 - seat))
            worlds = [position, *(sampler.sample(rng.getrandbits(64)) for _ in range(WORLDS))]
            listed = [world.legal(seat) for world in worlds]
            for world, legal in zip(worlds, listed, strict=True):
                for action in set().union(*listed):
                    known = world.is_legal(seat, action)
                    assert known == (action in legal), f"seed {seed}: {action}, {world.fields}"
                    answers[known] += 1
                only = legal[0] if len(legal) == 1 else 0
                assert world.only_action(seat) == only, f"seed {seed}: {legal}"
                answers["only"] += only > 0
    assert min(answers[True], answers[False], answers["only"]) > 10
