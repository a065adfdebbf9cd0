"""OpenSpiel's ISMCTSBot as a player of the arena, on the games of croupier/openspiel.py.

The bot is OpenSpiel's Python ISMCTSBot, which accepts worlds from outside (`set_resampler`). They
come from this project's sampler, and random playouts from its engine. The speed of the bot says
nothing about OpenSpiel; to compare speeds, use the C++ bot on OpenSpiel's own games. It knows turns
only, so of two simultaneous decisions its seat makes its own first, and the other seat does not see
it.

    M. Lanctot et al., "OpenSpiel: A Framework for Reinforcement Learning in Games", 2019
    (github.com/google-deepmind/open_spiel, python/algorithms/ismcts.py).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from open_spiel.python.algorithms.ismcts import ISMCTSBot, ISMCTSFinalPolicyType

from croupier.openspiel import CroupierGame, CroupierState
from engine.game import Game, SeatView
from engine.playout_policy import PlayoutPolicy
from engine.sampler import Sampler
from lab.player import Choice

FINALS = {
    "max_visits": ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
    "visits": ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
    "max_value": ISMCTSFinalPolicyType.MAX_VALUE,
}


class PlayoutEvaluator:
    """Evaluates a state by one random playout of the engine."""

    def __init__(self, game: Game) -> None:
        self._playouts = PlayoutPolicy.uniform(game)

    def evaluate(self, state: CroupierState) -> Any:
        """The utilities at the end of a random continuation."""
        progress, rng = state.progress, state.progress.game.rng
        position = progress.position
        assert position is not None
        if progress.held:
            position = position.copy()
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint | progress.held, rng.getrandbits(64))
        score, _ = self._playouts.playouts(position, 1, rng.getrandbits(64))
        return np.array([2 * score - 1, 1 - 2 * score])

    def prior(self, state: CroupierState) -> list[tuple[int, float]]:
        """The same probability for all actions."""
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]


class OpenSpielPlayer:
    """OpenSpiel's ISMCTSBot as a player of the arena."""

    def __init__(self, iterations: int, exploration: float = 2.0, final: str = "max_visits"):
        if final not in FINALS:
            raise ValueError(f"final is one of {', '.join(FINALS)}")
        self.iterations = iterations
        self.exploration = exploration
        self.final = FINALS[final]

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        seed = chance % 2**64
        game = CroupierGame(view.game, {"turns": True, "leader": view.seat, "seed": seed % 2**31})
        sampler = Sampler.of(view)
        bot = ISMCTSBot(
            game,
            PlayoutEvaluator(view.game),
            self.exploration,
            self.iterations,
            random_state=np.random.RandomState(seed % 2**32),
            final_policy_type=self.final,
        )
        bot.set_resampler(lambda state, player: game.at(sampler.sample(game.rng.getrandbits(64))))
        # Any world will do: the bot takes from it what its seat knows, and draws other worlds.
        return Choice(legal[bot.step(game.at(sampler.sample(seed)))], self.iterations)
