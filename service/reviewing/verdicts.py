"""Verdicts: what a decision lost, by searches from what its seat knew.

A first search says which action is the best. It would be unjust to compare it with the one played
by that same search: the best of several estimates is too high on average, and an action that seems
worse is hardly searched. So other searches, each with a seed of its own, have these two actions
alone. They share the iterations of the first one. The last look of each (ai/last_look.py) tells
what the one action loses against the other. The mean over several searches is surer than what a
single one tells, however long that is, and how far they differ shows how sure.
"""

import hashlib
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import wire
from ai import last_look
from ai.results import Result
from croupier.v1 import game_pb2, hint_pb2, review_pb2
from engine.game import Game
from engine.model import Model
from engine.position import Position
from engine.sampler import KnownWorld
from service.reviewing.steps import Decision
from service.searching.options import name_opponent
from service.searching.pool import Limits, SearchJob
from service.searching.tasks import Requester, SearchTask

RUN_ITERATIONS = 100  # The least of each search for two actions,
MOST_RUNS = 8  # and the most of them.
BELIEF_WORLDS = 500
MIXED = 0.05  # The least probability of an action that is a part of a mixture.
SURE = 2.0  # Deviations.
MAX_ACTIONS = 5  # That a review keeps of a search, besides the one played.
INACCURACY, MISTAKE, BLUNDER = 0.05, 0.1, 0.15

_QUANTUM = 2.0**40  # Sums of multiples of 1 / _QUANTUM are exact.


class Searcher(Protocol):
    """Does what a review needs."""

    async def search(self, task: SearchTask) -> hint_pb2.Hint:
        """The hint of a search."""

    async def compute(
        self, game: Game, limits: Limits, work: Callable[[SearchJob], Result]
    ) -> Result:
        """What `work` returns, in a thread for searches."""


def quantized(value: float) -> float:
    """The value as the nearest number that adds up exactly."""
    return round(value * _QUANTUM) / _QUANTUM


def derive(seed: int, *parts: object) -> int:
    """A number of 64 bits that follows from a seed and from what it is for."""
    text = "\0".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def runs_of(iterations: int) -> int:
    """How many searches for two actions share so many iterations."""
    return min(MOST_RUNS, max(1, iterations // RUN_ITERATIONS))


async def judge(
    decision: Decision,
    searcher: Searcher,
    requester: Requester,
    model: Model | None,
    opponent: int,
    iterations: int,
    seed: int,
) -> review_pb2.DecisionReview:
    """The review of one decision; raises Refusal. `opponent` is a BotStrength, or 0."""
    game = decision.view.game
    played = wire.write_action(game, decision.action)
    review = review_pb2.DecisionReview(version=decision.version, seat=decision.seat, action=played)
    legal = decision.position.legal(decision.seat)
    if len(legal) == 1:
        review.verdict = review_pb2.VERDICT_FORCED
        review.best_action.CopyFrom(played)
        review.probability = 1.0
        return review

    def seed_of(number: int) -> int:
        return derive(seed, decision.version, decision.seat, iterations, number)

    def task(number: int, iterations: int) -> SearchTask:
        search = hint_pb2.Search(seed=seed_of(number))
        search.view.ParseFromString(decision.message)
        name_opponent(search.view, opponent)
        search.limits.iterations = iterations
        return SearchTask(requester, search, decision.view, Limits(iterations=iterations), model)

    first = task(1, iterations)
    first.search.belief_worlds = BELIEF_WORLDS
    hint = await searcher.search(first)
    best = max(hint.actions, key=lambda each: (each.probability, each.expected_score))
    own = next(each for each in hint.actions if each.action == played)
    review.best_action.CopyFrom(best.action)
    review.expected_score = hint.expected_score
    review.probability = own.probability
    review.revealed_cards.extend(_revealed(decision.position, decision.seat, hint.beliefs))
    review.hint.CopyFrom(hint)
    _shorten(review.hint, own)
    if own is best or own.probability >= MIXED:
        review.verdict = review_pb2.VERDICT_BEST
        return review
    runs = runs_of(iterations)
    compared = [
        await _compare(best.action, played, searcher, task(2 + number, iterations // runs))
        for number in range(runs)
    ]
    difference = math.fsum(found for found, _, _ in compared) / runs
    review.loss = quantized(max(0.0, difference))
    review.deviation = mean_deviation([found for found, _, _ in compared], compared[0][1])
    # Why the best action is better than this one, not than the best of all others.
    del review.hint.reasons[:]
    review.hint.reasons.extend(next((why for _, _, why in compared if why), ()))
    review.verdict = verdict(difference, review.deviation)
    if difference > 0:
        pair = (wire.read_action(game, best.action), decision.action)

        def see_all(job: SearchJob) -> Result:
            world = KnownWorld(decision.position, decision.seat)
            search = job.search(
                decision.view,
                derive(seed, decision.version, decision.seat, iterations, 0),
                world,
                pair,
                last_look.SHARE,
            )
            search.run(iterations=job.limits.iterations, stop=job.stop)
            return search.result()

        found = await searcher.compute(game, Limits(iterations=iterations), see_all)
        seen = {each.action: each for each in found.actions}
        review.hindsight.best_score = seen[pair[0]].expected_score
        review.hindsight.played_score = seen[pair[1]].expected_score
        review.hindsight.deviation = math.hypot(*(seen[each].loss_deviation for each in pair))
    return review


async def _compare(
    best: game_pb2.MatchAction, played: game_pb2.MatchAction, searcher: Searcher, task: SearchTask
) -> tuple[float, float, Sequence[hint_pb2.Reason]]:
    # What the one action scores more than the other in a search for these two, its deviation, and
    # what speaks for it.
    task.search.include_actions.extend((best, played))
    hint = await searcher.search(task)
    found = {each.action.SerializeToString(): each for each in hint.actions}
    better, worse = (found[each.SerializeToString()] for each in (best, played))
    # One of the two is the answer of the search, which loses nothing; or both are, as a mixture.
    deviation = max(better.loss_deviation, worse.loss_deviation) or math.hypot(
        better.deviation, worse.deviation
    )
    reasons = hint.reasons if hint.actions[0].action == best else ()
    return better.expected_score - worse.expected_score, deviation, reasons


def mean_deviation(found: Sequence[float], of_one: float) -> float:
    """The deviation of the mean of what several searches found, by how far they differ."""
    if len(found) == 1:
        return of_one
    return statistics.stdev(found) / math.sqrt(len(found))


def verdict(difference: float, deviation: float) -> review_pb2.Verdict:
    """The verdict on an action that is not the best, by what it lost and its deviation."""
    if difference + SURE * deviation < INACCURACY:
        return review_pb2.VERDICT_GOOD
    if difference <= SURE * deviation:
        return review_pb2.VERDICT_UNCLEAR
    if difference < INACCURACY:
        return review_pb2.VERDICT_GOOD
    if difference < MISTAKE:
        return review_pb2.VERDICT_INACCURACY
    if difference < BLUNDER:
        return review_pb2.VERDICT_MISTAKE
    return review_pb2.VERDICT_BLUNDER


def _shorten(hint: hint_pb2.Hint, own: hint_pb2.ActionEvaluation) -> None:
    kept = list(hint.actions[:MAX_ACTIONS])
    if own not in kept:
        kept.append(own)
    del hint.actions[:]
    hint.actions.extend(kept)
    hint.ClearField("beliefs")
    hint.ClearField("belief_worlds")
    hint.ClearField("action")


def _revealed(
    position: Position, seat: int, beliefs: Iterable[hint_pb2.CardBelief]
) -> list[review_pb2.RevealedCard]:
    # With the cards that were in no world that was drawn, as one of a rare world may be.
    game = position.game
    cards = [card["id"] for card in game.cards()]
    copies = {
        (place, cards[card]): count
        for place, counts in position.hidden(seat).items()
        for card, count in enumerate(counts)
        if count
    }
    found = [
        review_pb2.RevealedCard(belief=each, copies=copies.pop((each.place_name, each.card), 0))
        for each in beliefs
    ]
    for (place, card), count in copies.items():
        belief = hint_pb2.CardBelief(place_name=place, card=card)
        found.append(review_pb2.RevealedCard(belief=belief, copies=count))
    return found
