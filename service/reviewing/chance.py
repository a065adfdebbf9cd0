"""What chance was worth in a match: its deal, and each later outcome (ai/luck.pyx)."""

from statistics import fmean
from typing import NamedTuple

from ai.luck import Luck
from croupier.v1 import review_pb2
from service.reviewing.steps import Steps
from service.reviewing.verdicts import derive, quantized
from service.searching.pool import SearchJob

# With the iterations of a review by default, or more; with fewer iterations, fewer playouts.
SAMPLES = 64  # Other draws of the chance of a step.
DEALS = 256  # Other deals.
PLAYOUTS = 128  # Of each position.
ITERATIONS_PER_PLAYOUT = 80
MIN_PLAYOUTS = 2


class ChanceReview(NamedTuple):
    """The outcomes of chance, with the luck of seat 0."""

    start: float  # What it is worth to be seat 0 before the deal.
    outcomes: list[review_pb2.ChanceOutcome]  # The deal first.


def review_chance(steps: Steps, iterations: int, seed: int, job: SearchJob) -> ChanceReview:
    """The luck of all steps, in a thread for searches; pauses and stops with its job."""
    playouts = min(max(iterations // ITERATIONS_PER_PLAYOUT, MIN_PLAYOUTS), PLAYOUTS)
    game = steps.state.game
    luck, deals = Luck(game, SAMPLES, playouts), Luck(game, DEALS, playouts)
    start, outcomes = 0.0, []
    for step in steps.steps:
        if job.stop.hold():
            break
        number = derive(seed, "chance", step.version)
        if step.before is None and steps.state.header.start:
            # It was not dealt: the match was played on from here.
            seeds = (derive(number, each) for each in range(SAMPLES))
            start = quantized(fmean(luck.mean_score(step.after, each) for each in seeds) - 0.5)
            continue
        if step.before is None:
            correction, mean = deals.deal(step.after, number)
            start, deviation = quantized(mean - 0.5), deals.deviation
        else:
            choices = [[(step.joint[seat], 1.0)] if seat in step.joint else [] for seat in (0, 1)]
            correction = luck.correction(step.before, choices, step.after, number)
            deviation = luck.deviation
            if not correction:
                continue
        outcomes.append(
            review_pb2.ChanceOutcome(
                version=step.version, luck=quantized(-correction), deviation=deviation
            )
        )
    return ChanceReview(start, outcomes)
