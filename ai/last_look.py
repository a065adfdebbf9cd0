"""The last look: what each action that could be the best loses against the answer of a search.

A search shares its visits out so that it finds the best action, not so that its scores can be
compared. So a share of the search is kept for a last look at few actions (ai/ismcts.pyx): those of
the answer, and the others that were visited most. It has stages. After each, an action that surely
loses is looked at no more, so that the others are seen more often: sequential halving, with the
noise of each difference instead of a half.

The scores of a round share their chance, so what one action loses is known better than what it
scores. An action that turns out to be better than the answer, beyond the noise, becomes the answer,
where this is a single action and the opponent does not decide at the same time.

The noise of the rounds does not tell how sure a loss is. Another search, with another seed, grows
other trees, and its scores differ by more than that. How much more is in proportion to the noise of
a single round: where two actions lead to the same, both are small. So the deviation is that of a
mean over at most `Game.effective_rounds` independent rounds. `lab/search_bench/scores.py` compares
it with searches of many times the effort.

    Z. Karnin, T. Koren, O. Somekh, "Almost Optimal Exploration in Multi-Armed Bandits", ICML 2013:
    sequential halving.
    A. M. Law, "Simulation Modeling and Analysis": common random numbers.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from ai import reasons
from ai.results import ActionResult, Reason, Standing
from ai.worker import Rounds
from engine.calibration import NONE, Calibration

SHARE = 0.25  # Of the iterations and of the time of a search.
STAGES = 3
MIN_ROUNDS = 16  # Of a stage; the fewer there can be, the fewer actions are looked at.
MIN_LOOK = 2 * STAGES  # Iterations; fewer are left to the search.
MIN_SEEN = 8  # Rounds; what was seen in fewer was not looked at closely.
MOST = 12  # Actions besides those of the answer.
SURE = 2.0  # Deviations.
DROPPED = 3.0  # Deviations by which an action loses that is looked at no more.
ALIKE = 0.01  # An action is as good if it loses at most this,
ONE_SIDED = 1.645  # with 95 % probability.
# The square of a difference that was not seen but may be: after few rounds that are all alike it is
# not sure that the next one will be, too.
PRIOR = 0.25


def compare(actions: Iterable[ActionResult], expected_score: float) -> list[ActionResult]:
    """The actions with their standings and losses, in order, by scores that can be compared.

    `expected_score` is that of the answer.
    """
    return _in_order(
        _standing(each, expected_score - each.expected_score, each.deviation) for each in actions
    )


def _standing(
    action: ActionResult, loss: float, deviation: float, apart: float = 0.0
) -> ActionResult:
    # An action of the answer is the best; what it loses tells how any other one stands.
    if action.probability:
        return action._replace(standing=Standing.BEST, loss=0.0, loss_deviation=0.0)
    # One that seems better, but not surely, is not shown to be as good. Nor is one that loses up to
    # `apart` without the calibration, which brings together what is almost won, or lost.
    loss = max(0.0, loss)
    alike = max(loss + ONE_SIDED * deviation, apart) <= ALIKE
    return action._replace(
        standing=Standing.AS_GOOD if alike else Standing.WORSE,
        loss=loss,
        loss_deviation=deviation,
    )


def _in_order(actions: Iterable[ActionResult]) -> list[ActionResult]:
    order = list(Standing)
    return sorted(
        actions,
        key=lambda each: (
            order.index(each.standing),
            -each.probability,
            each.loss,
            -each.visits,
            each.action,
        ),
    )


class LastLook:
    """Which actions to look at, stage by stage, and what was seen of them.

    `answer` has the probabilities of the actions of the answer. `others` are the other actions that
    may be looked at, the most promising first, and `iterations` are those of the whole look (0: as
    many as there is time for). `effective_rounds` are those of the game, and `aspects` the names of
    those that are watched.
    """

    def __init__(
        self,
        answer: Mapping[int, float],
        others: Sequence[int],
        iterations: int,
        effective_rounds: int,
        aspects: Sequence[str] = (),
    ) -> None:
        self.answer = dict(answer)
        self._effective_rounds = effective_rounds
        self.aspects = tuple(aspects)
        most = MOST
        if iterations:
            room = iterations // (STAGES * MIN_ROUNDS) - len(answer)
            most = min(MOST, max(1, room))
        self.actions = [*answer, *others[:most]]
        self._stages: list[Rounds] = []

    @property
    def rounds(self) -> int:
        """How many were finished."""
        return _rounds(self._stages)

    @property
    def tells(self) -> bool:
        """Whether there were enough rounds to tell anything."""
        return self.rounds >= MIN_SEEN

    def add(self, seen: Iterable[Rounds]) -> None:
        """Adds what the workers saw in a stage, and drops the actions that surely lose."""
        self._stages += [each for each in seen if each.rounds]
        losses = {each: self.loss(each) for each in self.actions if each not in self.answer}
        least = min(losses, key=losses.__getitem__, default=None)
        for action, (loss, deviation) in losses.items():
            # Of the others the best stays, so that there is something to compare the answer with.
            if loss > DROPPED * deviation and action != least:
                self.actions.remove(action)

    def settle(self) -> None:
        """Makes the action the answer that is surely better than the only one of the answer."""
        if len(self.answer) > 1:
            return
        losses = {each: self.loss(each) for each in self._seen() if each not in self.answer}
        better = {
            action: loss for action, (loss, deviation) in losses.items() if loss < -SURE * deviation
        }
        if better:
            self.answer = {min(better, key=lambda action: (better[action], action)): 1.0}

    def judge(
        self, actions: Iterable[ActionResult], calibration: Calibration = NONE
    ) -> tuple[list[ActionResult], float, float]:
        """The actions as they were seen, the expected score of the answer, and its draws.

        All scores are as `calibration` makes them, and so is what they differ by.
        """
        seen = self._seen()
        answer, _ = self._mean(self.answer)
        judged = []
        score = draw = 0.0
        for each in actions:
            share = self.answer.get(each.action, 0.0)
            each = each._replace(probability=share)
            if each.action in seen:
                mean, deviation = self._mean({each.action: 1.0})
                told = calibration.of(mean)
                score += share * told
                draw += share * self._draw(each.action)
                deviation *= calibration.slope(mean)
                each = each._replace(expected_score=told, deviation=deviation)
                loss, deviation = self.loss(each.action)
                apart = loss + ONE_SIDED * deviation
                # By the delta method: a difference of two scores moves as those between them do.
                deviation *= calibration.slope(answer - loss / 2)
                loss = calibration.of(answer) - calibration.of(answer - loss)
                each = _standing(each, loss, deviation, apart)
                found = reasons.estimates(self._stages, self.aspects, each.action)
                each = each._replace(aspects=found)
            judged.append(each)
        return _in_order(judged), score, draw

    def why(self, judged: Sequence[ActionResult]) -> tuple[Reason, ...]:
        """What speaks for the first action, beside the best of those that are not in the answer."""
        best = judged[0]
        other = next((each for each in judged if each.action not in self.answer), None)
        if other is None or not best.aspects or not other.aspects:
            return ()
        return reasons.weigh(self._stages, self.aspects, best.aspects, other.aspects, other.action)

    def loss(self, action: int) -> tuple[float, float]:
        """What an action loses against the answer, and the deviation of that."""
        # The score of the answer less that of the action, as one weighted sum.
        return self._mean({**self.answer, action: self.answer.get(action, 0.0) - 1.0})

    def _seen(self) -> list[int]:
        actions = dict.fromkeys(action for each in self._stages for action in each.actions)
        return [each for each in actions if _rounds(self._with([each])) >= MIN_SEEN]

    def _with(self, actions: Iterable[int]) -> list[Rounds]:
        return [each for each in self._stages if set(actions) <= set(each.actions)]

    def _draw(self, action: int) -> float:
        stages = self._with([action])
        draws = math.fsum(each.draws[each.actions.index(action)] for each in stages)
        return draws / _rounds(stages)

    def _mean(self, weights: Mapping[int, float]) -> tuple[float, float]:
        # Of the weighted sum of the scores of a round, and the deviation of this mean.
        rounds, total, squares = 0, 0.0, 0.0
        for each in self._with(weights):
            at = {action: each.actions.index(action) for action in weights}
            rounds += each.rounds
            total += sum(weight * each.totals[at[one]] for one, weight in weights.items())
            squares += sum(
                weight * other_weight * each.products[at[one]][at[other]]
                for one, weight in weights.items()
                for other, other_weight in weights.items()
            )
        if not rounds:
            return 0.0, 1.0  # Nothing is known: a whole point is possible.
        mean = total / rounds
        variance = max(0.0, squares / rounds - mean * mean)
        noise = (variance + PRIOR / rounds) / rounds
        return mean, math.sqrt(noise + variance / self._effective_rounds)


def _rounds(stages: Iterable[Rounds]) -> int:
    return sum(each.rounds for each in stages)
