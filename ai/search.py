"""A search from a view: how long, by how many threads, and what it has found.

ai/ismcts.pyx says how one thread searches from the present. Several threads search by root
parallelisation: each grows its own trees, and the statistics of their roots are added up. Endings
that can be solved exactly are (ai/endings.pyx). A game that is small enough is searched from the
deal instead, by one thread (ai/cfr.pyx).
"""

import math
import threading
import time
from collections.abc import Callable, Sequence

from ai.cfr import CfrWorker
from ai.endings import Proof, prove
from ai.graphs import graphs
from ai.ismcts import IsmctsWorker, sample_action
from ai.last_look import MIN_LOOK, STAGES, LastLook, compare
from ai.memory import Grant, account
from ai.results import ActionResult, Parameters, Result, Standing, StopReason
from ai.softness import soften
from ai.worker import RootAction, Stop, Summary
from engine.aspects import Aspects
from engine.calibration import NONE, Calibration
from engine.game import SEATS, SeatView
from engine.model import Model
from engine.sampler import Sampler

# Threads can end for different reasons; the first of these is the reason of the search.
_PRECEDENCE = (
    StopReason.CANCELLED,
    StopReason.MEMORY,
    StopReason.TIME,
    StopReason.ITERATIONS,
)
_DEFAULTS = Parameters()
DRIFT = 3.0  # How many times as far as so far a score may move if the search goes on.
GRAPH_TIME = 1 / 2  # The most of its time that a search spends on the graph of a small game.
CFR_ITERATION_SECONDS = 2e-6  # Of a search from the deal, at most, roughly.
# From the deal, probabilities below this times the largest are taken for noise.
CFR_FLOOR = 0.001
SEARCH_TO_REPORT = 9  # The search goes on for so many times as long as its last report took.


class Search:
    """A search from one view, which can be continued and asked for its result at any time.

    `seed` decides all chance of a search from the present; of a search from the deal, it only
    decides which action is sampled. `sampler` is the view's, if the caller has it already; else
    `model` is what was learned of the game (engine/model.py), if that is to be used.
    `root_actions` are the legal actions to search for (None: all). The search ends when all threads
    together have `max_nodes` nodes (0: no such limit). Each thread has one of the `grants` (none:
    whatever the account has). Raises ViewError if the view contradicts itself, ValueError if its
    seat need not decide or one of `root_actions` is not legal, and MemoryError.
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
        root_actions: Sequence[int] | None = None,
        max_nodes: int = 0,
        model: Model | None = None,
        grants: Sequence[Grant] = (),
    ) -> None:
        sampler = sampler or Sampler.of(view, model)
        position = sampler.sample(seed)
        self.legal = position.legal(view.seat)
        self._alone = len(position.deciders) == 1
        self._calibration = NONE
        if sampler.model is not None and parameters.last_look and parameters.calibrated:
            self._calibration = sampler.model.calibrated(position, view.seat)
        if not self.legal:
            raise ValueError("the seat of the view owes no decision")
        if root_actions is not None:
            if not root_actions or not set(root_actions) <= set(self.legal):
                raise ValueError("only legal actions can be searched for")
            self.legal = tuple(sorted(set(root_actions)))
        self.root_actions = root_actions
        self.parameters = parameters
        self.sampler = sampler
        self.seed = seed
        # Of each thread; 0: any number.
        self.max_iterations = -(-max_iterations // threads)
        self.max_nodes = -(-max_nodes // threads)
        self._grants = grants or [account.grant() for _ in range(threads)]
        self.workers: list[IsmctsWorker | CfrWorker] = [
            self._present_worker(thread) for thread in range(threads)
        ]
        self.from_deal: CfrWorker | None = None
        self._may_begin_from_deal = parameters.from_deal and root_actions is None and max_nodes == 0
        self.stop_reason = StopReason.ITERATIONS
        self.proof: Proof | None = None
        self._look: LastLook | None = None

    def _present_worker(self, thread: int) -> IsmctsWorker:
        max_nodes = SEATS * self.max_iterations + 2 if self.max_iterations else 1 << 40
        stops_when_full = 0 < self.max_nodes < max_nodes
        return IsmctsWorker(
            self.sampler,
            self.seed,
            thread,
            self.parameters,
            self.max_nodes + 1 if stops_when_full else max_nodes,
            self.root_actions,
            stops_when_full,
            self._grants[thread],
        )

    @property
    def refused(self) -> bool:
        """Whether the account of memory once had no more for it, though it had not its share."""
        return any(grant.refused for grant in self._grants)

    @property
    def iterations(self) -> int:
        """How many were done, by all threads."""
        return sum(worker.iterations for worker in self.workers)

    def run(
        self,
        *,
        iterations: int = 0,
        seconds: float = 0.0,
        stop: Stop | None = None,
        every: float = 0.0,
        report: Callable[[], object] | None = None,
    ) -> None:
        """Continues the search until a limit (0: none) is reached or `stop` is set.

        Meanwhile `report` is called about every `every` seconds; it may ask for the result so far.
        Reports do not change what the search finds.
        """
        if iterations <= 0 and seconds <= 0 and stop is None:
            raise ValueError("a search needs a limit")
        self._look = None  # That of an earlier run, after which the search goes on.
        stop = stop or Stop()
        start = time.monotonic()
        end = start + seconds if seconds > 0 else None
        single = len(self.legal) == 1 and self.parameters.single_action > 0
        if single:
            max_iterations = self.parameters.single_action
            iterations = min(iterations or max_iterations, max_iterations)
        done = 0
        if self._may_begin_from_deal:
            self._may_begin_from_deal = False
            done = self._begin_from_deal(iterations, seconds, stop)
        # A proof would rest on the proportions in which the sampler draws worlds.
        if self.parameters.endings and not (single or self.from_deal or self.proof):
            self.proof = prove(
                self.sampler,
                self.legal,
                iterations=iterations,
                seconds=seconds,
                nodes=self.max_nodes,
                memory=self.parameters.memory,
                stop=stop,
                grant=self._grants[0],
            )
        if self.proof and self.parameters.proven > 0:
            iterations = min(iterations or self.parameters.proven, self.parameters.proven)
        look = 0.0 if single or self.from_deal or self.proof else self.parameters.last_look
        kept = int(look * iterations)
        if 0 < kept < MIN_LOOK or (iterations and not kept):
            look, kept = 0.0, 0
        if 0 < iterations == done:
            reasons = [StopReason.CANCELLED if stop.hold(end or 0) else StopReason.ITERATIONS]
        else:
            until = end - look * (end - time.monotonic()) if end else None
            reasons = self._run_reporting(iterations - kept - done, until, stop, every, report)
            if look and StopReason.MEMORY in reasons:
                # The last look needs no more nodes, and is as much longer as it would have been.
                self._look_last(int(look / (1 - look) * self.iterations), end, stop, every, report)
            elif look and StopReason.CANCELLED not in reasons:
                reasons = self._look_last(kept, end, stop, every, report)
        if self.from_deal and StopReason.ITERATIONS in reasons:
            graphs.keep_state(self.from_deal.graph, self.from_deal.state())
        self.stop_reason = next(reason for reason in _PRECEDENCE if reason in reasons)
        if single and self.stop_reason == StopReason.ITERATIONS:
            self.stop_reason = StopReason.SINGLE_ACTION
        if self.proof:
            self.stop_reason = StopReason.PROVEN

    def _begin_from_deal(self, iterations: int, seconds: float, stop: Stop) -> int:
        # Searches from the deal if the game is small enough and the iterations or the time (0: no
        # limit) are enough to be better than from the present. Returns how many iterations are
        # done, since an earlier search did them.
        graph = graphs.of(self.sampler.game, self.parameters.memory, GRAPH_TIME * seconds, stop)
        if graph is None:
            return 0
        try:
            worker = CfrWorker(graph, self.sampler, self._grants[0])
        except MemoryError:
            return 0
        enough = iterations or seconds / CFR_ITERATION_SECONDS
        if not worker.knows_view or 0 < enough < worker.min_iterations:
            return 0
        if state := graphs.state_for(graph, iterations):
            worker.restore(state)
        self.from_deal = worker
        self.workers = [worker]
        return worker.iterations

    def _look_last(
        self,
        iterations: int,
        end: float | None,
        stop: Stop,
        every: float,
        report: Callable[[], object] | None,
    ) -> list[StopReason]:
        # Stage by stage; returns why the last one ended. The iterations are those of the whole look
        # (0: as many as there is time for).
        workers = [worker for worker in self.workers if isinstance(worker, IsmctsWorker)]
        result = self.result()
        answer = {each.action: each.probability for each in result.actions if each.probability}
        others = sorted(
            (each for each in result.actions if not each.probability and each.visits),
            key=lambda each: (-each.visits, each.action),
        )
        reasons: list[StopReason] = []
        look = LastLook(
            answer,
            [each.action for each in others],
            iterations,
            self.sampler.game.effective_rounds,
            list(Aspects.of(self.sampler.game).units) if self.parameters.aspects else (),
        )
        limited = iterations > 0
        for left in range(STAGES, 0, -1):
            share = iterations // left
            iterations -= share
            if limited and not share:
                continue
            until = end - (end - time.monotonic()) * (left - 1) / left if end else None
            for worker in workers:
                worker.look(look.actions, bool(look.aspects))
            reasons = self._run_reporting(share, until, stop, every, report)
            look.add(worker.rounds_seen() for worker in workers)
            if StopReason.CANCELLED in reasons:
                break
        for worker in workers:
            worker.end_look()
        # An opponent who decides at the same time would not stay as the search has found it.
        if self._alone:
            look.settle()
        # Reports before have not compared the actions.
        self._look = look
        return reasons

    @property
    def worlds(self) -> Sampler:
        """What draws worlds that fit the view, as likely as the search takes them to be so far."""
        return self.from_deal.weighted_sampler() if self.from_deal else self.sampler

    def _run_reporting(
        self,
        iterations: int,
        end: float | None,
        stop: Stop,
        every: float,
        report: Callable[[], object] | None,
    ) -> list[StopReason]:
        # Runs all threads, which share the iterations, and returns why they ended.
        threads = len(self.workers)
        left = [iterations // threads + (i < iterations % threads) for i in range(threads)]
        pause = every
        while True:
            before = [worker.iterations for worker in self.workers]
            until = time.monotonic() + pause if report is not None else None
            reports = until is not None and (end is None or until < end)
            reasons = self._run_threads(
                left if iterations else None, until if reports else end, stop
            )
            left = [
                n - worker.iterations + done
                for n, worker, done in zip(left, self.workers, before, strict=True)
            ]
            if (
                report is None
                or not reports
                or StopReason.TIME not in reasons
                or {StopReason.CANCELLED, StopReason.MEMORY} & set(reasons)
            ):
                return reasons
            began = time.thread_time()
            report()
            # A report needs the interpreter, for which the calls of others may have to wait.
            pause = max(every, SEARCH_TO_REPORT * (time.thread_time() - began))

    def _run_threads(
        self, left: list[int] | None, end: float | None, stop: Stop
    ) -> list[StopReason]:
        # Runs each thread for its iterations, if they are limited, or to the end.
        seconds = max(1e-9, end - time.monotonic()) if end is not None else 0
        reasons: list[StopReason] = []
        faults: list[BaseException] = []

        def run(worker: IsmctsWorker | CfrWorker, share: int) -> None:
            try:
                if share or left is None:
                    reasons.append(worker.run(share, seconds, stop))
                else:
                    reasons.append(StopReason.ITERATIONS)
            except BaseException as fault:
                faults.append(fault)
                for other in self.workers:
                    other.abandoned = True

        shares = left or [0] * len(self.workers)
        pairs = zip(self.workers, shares, strict=True)
        helpers = [threading.Thread(target=run, args=pair) for pair in pairs][1:]
        for helper in helpers:
            helper.start()
        run(self.workers[0], shares[0])
        for helper in helpers:
            helper.join()
        if faults:
            raise faults[0]
        return reasons

    def result(self) -> Result:
        """What was found so far."""
        merged = {action: RootAction(action, 0, 0, 0, 0.0, 0.0, 0.0) for action in self.legal}
        total = Summary(0, 0, 0.0, 0.0, 0, False)
        for worker in self.workers:
            total = total.merge(worker.summary())
            for root in worker.root_actions():
                merged[root.action] = merged[root.action].merge(root)
        probabilities = self._probabilities(merged)
        compared = self._look is not None and self._look.tells
        # Those of a report before the last look are calibrated, too, so that no score jumps.
        plain = compared or self.proof is not None or self.from_deal is not None
        told = NONE if plain else self._calibration
        actions = [
            _action_result(root, probabilities[root.action], told) for root in merged.values()
        ]
        actions.sort(key=lambda each: (-each.probability, -each.visits, each.action))
        expected = _expected(actions)
        if expected is None:
            expected = total.total / total.playouts if total.playouts else 0.5
        draw = total.draws / total.playouts if total.playouts else 0.0
        if self.proof:
            actions, expected, draw = self.proof.replace(actions)
        if self.proof or self.from_deal:
            actions = compare(actions, expected)
        elif self._look and compared:
            actions, expected, draw = self._look.judge(actions, self._calibration)
        else:
            actions = [
                each._replace(standing=Standing.BEST) if each.probability else each
                for each in actions
            ]
        if self.parameters.temperature > 0 and not self.proof:
            actions = soften(
                actions,
                expected,
                self.parameters.temperature,
                mixed=any(root.strategy > 0 for root in merged.values()),
                never={root.action for root in merged.values() if root.dominated},
            )
        expected = _in_range(expected)
        draw = min(draw, 2 * expected, 2 * (1 - expected))
        return Result(
            action=sample_action(self.seed, actions),
            actions=[
                each._replace(expected_score=_in_range(each.expected_score)) for each in actions
            ],
            expected_score=expected,
            win=expected - draw / 2,
            draw=draw,
            loss=_in_range(1 - expected - draw / 2),
            iterations=total.iterations,
            worlds=total.playouts + (self._look.rounds if self._look else 0),
            nodes=total.nodes,
            full=total.full,
            stop_reason=self.stop_reason,
            reasons=self._look.why(actions) if self._look else (),
        )

    def _probabilities(self, roots: dict[int, RootAction]) -> dict[int, float]:
        # The probability with which to play each action: its share of the average strategy or,
        # where there is none, 1 for the most visited action.
        strategy = {action: root.strategy for action, root in roots.items()}
        most = max(strategy.values())
        if most > 0:
            floor = CFR_FLOOR if self.from_deal else self.parameters.floor
            least = floor * most
            strategy = {
                action: weight if weight >= least else 0.0 for action, weight in strategy.items()
            }
            total = sum(strategy.values())
            return {action: weight / total for action, weight in strategy.items()}
        visits = {action: -1 if root.dominated else root.visits for action, root in roots.items()}
        if max(visits.values()) == 0:
            return dict.fromkeys(roots, 1.0 / len(roots))
        best = max(visits, key=lambda action: (visits[action], -action))
        return {action: float(action == best) for action in roots}


def _action_result(root: RootAction, probability: float, told: Calibration = NONE) -> ActionResult:
    # The first scores of an action come from a tree that hardly knew how to go on, so they are left
    # out. How far the others differ from them, beyond the noise of both, tells how far the score
    # may still be from where it goes. `lab/search_bench/scores.py` measures whether it does.
    late = root.samples - root.early_samples
    if not late:
        return ActionResult(root.action, root.visits, root.availability, 0.5, 0.5, probability)
    mean = (root.total - root.early_total) / late
    variance = max(0.0, (root.squares - root.early_squares) / late - mean * mean)
    squared_deviation = variance / late
    if root.early_samples:
        drift = mean - root.early_total / root.early_samples
        noise = variance / late + variance / root.early_samples
        squared_deviation += DRIFT * DRIFT * max(0.0, drift * drift - noise)
    deviation = math.sqrt(squared_deviation) * told.slope(mean)
    mean = told.of(mean)
    return ActionResult(root.action, root.visits, root.availability, mean, deviation, probability)


def _expected(actions: Sequence[ActionResult]) -> float | None:
    # The mean score of the answer; None if none of its actions was tried.
    played = [each for each in actions if each.probability > 0 and each.visits]
    weight = math.fsum(each.probability for each in played)
    if not played:
        return None
    return math.fsum(each.probability * each.expected_score for each in played) / weight


def _in_range(share: float) -> float:
    # Rounding can lead out of the range.
    return min(max(share, 0.0), 1.0)


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
    model: Model | None = None,
) -> Result:
    """Searches from a view until a limit is reached or `stop` is set, and returns the Result.

    `iterations` are those of all threads together, `seconds` are of wall-clock time; 0 is no limit.
    With one thread and no time limit, equal arguments give equal results. Raises ViewError if the
    view contradicts itself, and ValueError if its seat need not decide.
    """
    running = Search(
        view,
        threads=threads,
        seed=seed,
        parameters=parameters,
        max_iterations=iterations,
        sampler=sampler,
        model=model,
    )
    running.run(iterations=iterations, seconds=seconds, stop=stop)
    return running.result()
