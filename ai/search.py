"""A search from a view: how long, by how many threads, and what it has found.

What one thread does is written in ai/ismcts.pyx, and in ai/mccfr.pyx for small games. Several
threads each grow their own trees, and their roots are added up. What can be solved exactly is
(ai/endings.pyx).
"""

import math
import threading
import time
from collections.abc import Callable, Sequence

from ai.endings import Proof, prove
from ai.ismcts import IsmctsWorker, drawn
from ai.mccfr import MccfrWorker
from ai.results import ActionResult, Parameters, Result
from ai.worker import RootAction, Stop, Summary
from engine.game import SEATS, SeatView
from engine.sampler import Sampler

PROVEN_ITERATIONS = 1000


_DEFAULTS = Parameters()


class Search:
    """A search from one view, which can be run on and asked at any time.

    `threads` grow a tree each; `seed` decides all chance (in a search from the deal, which action
    is drawn); `sampler` is the view's, if the caller has it already. `only` are the legal actions
    to search for (None: all). At `max_nodes` (0: what fits in memory), all threads together, it
    ends. Raises ViewError if the view contradicts itself, and ValueError if its seat owes no
    decision, or not one of `only`.
    """

    def __init__(
        self,
        view: SeatView,
        *,
        threads: int = 1,
        seed: int = 0,
        parameters: Parameters = _DEFAULTS,
        max_iterations: int = 0,
        sampler: Sampler | None = None,
        only: Sequence[int] | None = None,
        max_nodes: int = 0,
    ) -> None:
        sampler = sampler or Sampler.of(view)
        self.legal = sampler.sample(seed).legal(view.seat)
        if not self.legal:
            raise ValueError("the seat of the view owes no decision")
        if only is not None:
            if not only or not set(only) <= set(self.legal):
                raise ValueError("only what is legal can be searched for")
            self.legal = tuple(sorted(set(only)))
        self.only = only
        self.parameters = parameters
        self.sampler = sampler
        self.seed = seed
        self.max_iterations = -(-max_iterations // threads)  # Of a thread; 0: any number.
        self.max_nodes = -(-max_nodes // threads)
        from_deal = parameters.from_deal
        if from_deal is None:
            from_deal = sampler.game.from_deal
        self.from_deal = from_deal and only is None and not max_nodes
        self.trees = [self._tree(thread) for thread in range(threads)]
        self.stop_reason = "iterations"
        # Where the deal is asked, it is because the worlds that the sampler draws are not believed.
        self.endings = parameters.endings and not sampler.game.from_deal
        self.proof: Proof | None = None

    def _tree(self, thread: int) -> IsmctsWorker | MccfrWorker:
        if self.from_deal:
            return MccfrWorker(self.sampler, thread, self.parameters)
        max_nodes = SEATS * self.max_iterations + 2 if self.max_iterations else 1 << 40
        ends = 0 < self.max_nodes < max_nodes
        return IsmctsWorker(
            self.sampler,
            self.seed,
            thread,
            self.parameters,
            self.max_nodes + 1 if ends else max_nodes,
            self.only,
            ends,
        )

    @property
    def iterations(self) -> int:
        """How many were done."""
        return sum(tree.iterations for tree in self.trees)

    def run(
        self,
        *,
        iterations: int = 0,
        seconds: float = 0.0,
        stop: Stop | None = None,
        every: float = 0.0,
        report: Callable[[], object] | None = None,
    ) -> None:
        """Searches on until a limit (0: none) is reached or `stop` is set.

        Meanwhile `report` is called about every `every` seconds; what was found so far can be asked
        for there. A search that reports finds what it would without.
        """
        if iterations <= 0 and seconds <= 0 and stop is None:
            raise ValueError("a search needs a limit")
        stop = stop or Stop()
        start = time.monotonic()
        end = start + seconds if seconds > 0 else None
        single = len(self.legal) == 1 and self.parameters.single_action > 0
        if single:
            most = self.parameters.single_action
            iterations = min(iterations or most, most)
        elif self.endings and self.proof is None:
            self.proof = prove(
                self.sampler,
                self.legal,
                iterations=iterations,
                seconds=seconds,
                nodes=self.max_nodes,
                memory=self.parameters.memory,
                stop=stop,
            )
        if self.proof:  # What is left to find is how the match is expected to go on.
            iterations = min(iterations or PROVEN_ITERATIONS, PROVEN_ITERATIONS)
        reasons = self._grow(iterations, end, stop, every, report)
        if "memory" in reasons and self.from_deal:
            # All that can be played does not fit: from the present then.
            self.from_deal = False
            self.trees = [self._tree(thread) for thread in range(len(self.trees))]
            reasons = self._grow(iterations, end, stop, every, report)
        for self.stop_reason in ("cancelled", "memory", "time", "iterations"):
            if self.stop_reason in reasons:
                break
        if single and self.stop_reason == "iterations":
            self.stop_reason = "single_action"
        if self.proof:
            self.stop_reason = "proven"

    def _grow(
        self,
        iterations: int,
        end: float | None,
        stop: Stop,
        every: float,
        report: Callable[[], object] | None,
    ) -> list[str]:
        # Runs all threads, which share the iterations, and returns why they ended.
        threads = len(self.trees)
        left = [iterations // threads + (i < iterations % threads) for i in range(threads)]
        pause = every
        while True:
            before = [tree.iterations for tree in self.trees]
            until = time.monotonic() + pause if report is not None else None
            reports = until is not None and (end is None or until < end)
            reasons = self._spread(left if iterations else None, until if reports else end, stop)
            left = [
                n - tree.iterations + done
                for n, tree, done in zip(left, self.trees, before, strict=True)
            ]
            if (
                report is None
                or not reports
                or "time" not in reasons
                or {"cancelled", "memory"} & set(reasons)
            ):
                return reasons
            began = time.monotonic()
            report()
            # To tell what was found must not take more time than to find it.
            pause = max(every, time.monotonic() - began)

    def _spread(self, left: list[int] | None, end: float | None, stop: Stop) -> list[str]:
        # Runs each thread for its iterations, if they are limited, or to the end.
        seconds = max(1e-9, end - time.monotonic()) if end is not None else 0
        reasons: list[str] = []

        def run(tree: IsmctsWorker | MccfrWorker, share: int) -> None:
            if share or left is None:
                reasons.append(tree.run(share, seconds, stop))
            else:
                reasons.append("iterations")

        shares = left or [0] * len(self.trees)
        pairs = zip(self.trees, shares, strict=True)
        helpers = [threading.Thread(target=run, args=pair) for pair in pairs][1:]
        for helper in helpers:
            helper.start()
        run(self.trees[0], shares[0])
        for helper in helpers:
            helper.join()
        return reasons

    def result(self) -> Result:
        """What was found so far."""
        found = {one.action: one for one in self.trees[0].root()}
        for tree in self.trees[1:]:
            for one in tree.root():
                found[one.action] = found[one.action].plus(one) if one.action in found else one
        sums = {
            action: found.get(action) or RootAction(action, 0, 0, 0, 0.0, 0.0, 0.0)
            for action in self.legal
        }
        total = Summary(0, 0, 0.0, 0.0, 0, False)
        for tree in self.trees:
            total = total.plus(tree.summary())
        probabilities = self._probabilities(sums)
        actions = [_action_result(one, probabilities[one.action]) for one in sums.values()]
        actions.sort(key=lambda one: (-one.probability, -one.visits, one.action))
        known = [one for one in actions if one.probability > 0 and sums[one.action].tried]
        if known:
            weight = sum(one.probability for one in known)
            expected = sum(one.probability * one.expected_score for one in known) / weight
        else:
            expected = (total.wins + total.draws / 2) / total.playouts if total.playouts else 0.5
        share = 1 / total.playouts if total.playouts else 0.0
        result = Result(
            action=drawn(self.seed, actions),
            actions=actions,
            expected_score=expected,
            win=total.wins * share,
            draw=total.draws * share,
            loss=(total.playouts - total.wins - total.draws) * share,
            iterations=total.iterations,
            worlds=total.playouts,
            nodes=total.nodes,
            full=total.full,
            stop_reason=self.stop_reason,
        )
        return self.proof.complete(result) if self.proof else result

    def _probabilities(self, sums: dict[int, RootAction]) -> dict[int, float]:
        # With which to play each action: the average strategy, or the most visited.
        strategy = {action: found.strategy for action, found in sums.items()}
        most = max(strategy.values())
        if most > 0:
            least = self.parameters.floor * most
            strategy = {
                action: weight if weight >= least else 0.0 for action, weight in strategy.items()
            }
            total = sum(strategy.values())
            return {action: weight / total for action, weight in strategy.items()}
        visits = {action: found.visits for action, found in sums.items()}
        if max(visits.values()) == 0:
            return dict.fromkeys(sums, 1.0 / len(sums))
        best = max(visits, key=lambda action: (visits[action], -action))
        return {action: float(action == best) for action in sums}


def _action_result(found: RootAction, probability: float) -> ActionResult:
    mean, variance, tried = 0.5, 0.25, 1
    if found.tried:
        tried = found.tried
        mean = found.total / tried
        variance = max(0.0, found.squares / tried - mean * mean)
    deviation = math.sqrt(variance / tried)
    return ActionResult(
        found.action, found.visits, found.availability, mean, deviation, probability
    )


def search(
    view: SeatView,
    *,
    iterations: int = 0,
    seconds: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    stop: Stop | None = None,
    parameters: Parameters = _DEFAULTS,
    sampler: Sampler | None = None,
) -> Result:
    """Searches from a view until a limit is reached, or `stop` is set, and returns the Result.

    `iterations` are those of all threads together, `seconds` are of wall-clock time; 0 is no limit.
    With one thread, a seed and no time limit the result is the same every time. Raises ViewError if
    the view contradicts itself, and ValueError if its seat owes no decision.
    """
    one = Search(
        view,
        threads=threads,
        seed=seed,
        parameters=parameters,
        max_iterations=iterations,
        sampler=sampler,
    )
    one.run(iterations=iterations, seconds=seconds, stop=stop)
    return one.result()
