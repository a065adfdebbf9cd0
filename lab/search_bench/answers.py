"""Answers that no hidden card excuses, in whole matches of the search against itself.

- *Throw-aways*, in PowerShot Soccer: a card that is given up or declined with is lost, so of two
  cards with the same role the lower one should go. An answer is dominated if it throws the higher
  one away, and a dominated action is named if its probability is not 0.
- *Ties*: decisions in which several actions have the best score exactly, because it is proven or
  because the match is decided. A tie is told if each of them has a probability above 0 or is said
  to be tied.
"""

from collections.abc import Iterable, Iterator, Sequence

from engine import games
from engine.game import Game
from engine.position import Position
from lab.revision import Answer
from lab.search_bench.figures import Figure, Task

SOCCER = "powershot_soccer"
NO_SCORE = 0.5  # The deviation of a score of which there are no samples.
EQUAL = 1e-9  # Scores that differ by less are equal.

# Roles of a play of PowerShot Soccer that throw the card away.
GIVE_UP, DECLINE = 11, 12


def throw_aways(game: Game, legal: Iterable[int]) -> list[tuple[int, int, int]]:
    """The actions of PowerShot Soccer that throw a card away, each with its role and power."""
    cards = game.ruleset["cards"]
    found = []
    for action in legal:
        fields = game.read_action(action)
        if fields["role"] in (GIVE_UP, DECLINE):
            card = cards[fields["card"]]
            found.append((action, card["role"], card["power"]))
    return found


def dominated(thrown: Sequence[tuple[int, int, int]]) -> set[int]:
    """The throw-aways for which there is one with the same role and less power."""
    return {
        action
        for action, role, power in thrown
        if any(role == other and power > less for _, other, less in thrown)
    }


def judge(game: Game, legal: Sequence[int], answer: Answer) -> Iterator[Figure]:
    """Looks at the answer to a decision between the legal actions."""
    thrown = throw_aways(game, legal) if game.id == SOCCER else []
    if thrown:
        worse = dominated(thrown)
        named = any(each.action in worse and each.probability > 0 for each in answer.actions)
        yield "throw-aways", "dominated", answer.action in worse
        yield "throw-aways", "dominated, named", named
    proven = answer.stop_reason == "proven"
    # A score that is neither proven nor sampled is none.
    scored = [
        each for each in answer.actions if proven or (each.visits and each.deviation < NO_SCORE)
    ]
    best = max((each.expected_score for each in scored), default=0.0)
    equal = [each for each in scored if each.expected_score >= best - EQUAL]
    group = "proven" if proven else "searched"
    yield group, "ties", len(equal) > 1
    if len(equal) > 1:
        untold = any(each.probability == 0 and not each.tied for each in equal)
        yield group, "ties not told", untold


def answers(task: Task) -> Iterator[Figure]:
    """Plays a match and judges all its decisions between several actions."""
    chance = task.chance()
    position = Position.deal(games()[task.game_id](), chance.getrandbits(64))
    while not position.over:
        joint = {}
        for seat in position.deciders:
            legal = position.legal(seat)
            joint[seat] = legal[0]
            if len(legal) > 1:
                limits = {"iterations": task.iterations}
                seed = chance.getrandbits(64)
                answer = task.ask(position.view(seat), seed, limits, all_actions=True)
                yield from judge(position.game, legal, answer)
                joint[seat] = answer.action
        position.apply(joint, chance.getrandbits(64))
