"""The graphs of small games, and what searches have found in them, kept for later searches.

All searches in a graph are the same but for the view that they answer for. What is kept spares work
and changes no answer: a search that starts with something kept finds the same as one without.
"""

import json
import threading

from ai.cfr import CfrState
from ai.game_graph import GameGraph, may_fit
from ai.memory import account
from ai.worker import Stop
from engine.game import Game

MAX_NODES = 1 << 16
BYTES_A_NODE = 1 << 10  # A node has few actions, and its state few words that are not 0.
MAX_BYTES = 64 << 20  # Of all graphs that are kept, with what was found in them.
MAX_KEPT = 256  # Graphs, and games that are known to be too large for one.
MAX_STATES = 4  # Of searches in one graph.

Key = tuple[type, int, str, int]


class Graphs:
    """The graphs that were made, the one that was used last at the end."""

    def __init__(self) -> None:
        # None: the game does not fit.
        self._kept: dict[Key, GameGraph | None] = {}
        self._lock = threading.Lock()

    def of(self, game: Game, memory: int, seconds: float, stop: Stop) -> GameGraph | None:
        """The complete graph of a game, of at most `memory` bytes.

        None if the game is too large, or if the graph was not complete when `seconds` (0: any
        number) had passed, `stop` was set or the account had no more memory. Whoever asks next then
        goes on from there.
        """
        capacity = min(MAX_NODES, memory // BYTES_A_NODE)
        if capacity < 2 or not may_fit(game):
            return None
        ruleset = json.dumps(game.ruleset, sort_keys=True)
        key = (type(game), game.rules_version, ruleset, capacity)
        with self._lock:
            # An incomplete graph is taken out, so that one thread at a time works on it.
            known = key in self._kept
            graph = self._kept.pop(key, None)
            if known and (graph is None or graph.complete):
                self._kept[key] = graph
                return graph
        graph = graph or GameGraph(game, capacity, account.grant())
        graph.run(0, seconds, stop)
        with self._lock:
            other = self._kept.pop(key, None)
            if other is not None and other.complete:
                graph = other
            self._kept[key] = graph if graph.fits else None
            self._forget()
        return graph if graph.complete else None

    def state_for(self, graph: GameGraph, iterations: int) -> CfrState | None:
        """Of the states that are kept of a graph, the one with the most but not too many."""
        with self._lock:
            fitting = [number for number in graph.states if number <= iterations]
            if not fitting:
                return None
            state: CfrState = graph.states.pop(max(fitting))
            graph.states[state.iterations] = state
            return state

    def keep_state(self, graph: GameGraph, state: CfrState) -> None:
        """Keeps what a search found in a graph, instead of what was not used for longest."""
        with self._lock:
            _drop_state(graph, state.iterations)
            if graph.charge(len(state.found)):
                graph.states[state.iterations] = state
            for number in list(graph.states)[:-MAX_STATES]:
                _drop_state(graph, number)

    def clear(self) -> None:
        """Forgets all graphs, unless a thread looks for one just now; never waits."""
        if self._lock.acquire(blocking=False):
            try:
                self._kept.clear()
            finally:
                self._lock.release()

    def _forget(self) -> None:
        # The graph that was used last stays.
        left = sum(map(_bytes, self._kept.values()))
        for key in list(self._kept)[:-1]:
            if left <= MAX_BYTES and len(self._kept) <= MAX_KEPT:
                return
            left -= _bytes(self._kept.pop(key))


def _drop_state(graph: GameGraph, iterations: int) -> None:
    state = graph.states.pop(iterations, None)
    if state is not None:
        graph.charge(-len(state.found))


def _bytes(graph: GameGraph | None) -> int:
    if graph is None:
        return 0
    return graph.bytes_used + sum(len(state.found) for state in graph.states.values())


graphs = Graphs()
