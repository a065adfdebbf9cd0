"""OpenSpiel's ISMCTSBot as a player: the games of this project as OpenSpiel games, and the bot.

`AdaptedGame` makes any game of this project a Python game of OpenSpiel, after the conventions of
open_spiel/python/games. Chance is sampled: a chance node has one outcome, and the game draws when
it is applied. OpenSpiel's search knows turns only, so of two simultaneous decisions the seat
`leader` makes its own first, and the other seat, which moves next, does not see it. An information
state is the view of a seat and its own decision that is still held back. A score from 0 to 1
becomes a utility from -1 to 1.

The bot is OpenSpiel's Python ISMCTSBot, which accepts worlds from outside (`set_resampler`). They
come from this project's sampler, and random playouts from its engine, so that one simulation is
worth as much as one iteration of plain UCT. The speed of the bot says nothing about OpenSpiel; to
compare speeds, use the C++ bot on OpenSpiel's own games.

    M. Lanctot et al., "OpenSpiel: A Framework for Reinforcement Learning in Games", 2019
    (github.com/google-deepmind/open_spiel, python/algorithms/ismcts.py).
"""

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms.ismcts import ISMCTSBot, ISMCTSFinalPolicyType

from engine.game import SEATS, Game, SeatView
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.player import Choice

MAX_ACTIONS = 1 << 20
MAX_DECISIONS = 10_000
FINALS = {
    "max_visits": ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
    "visits": ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
    "max_value": ISMCTSFinalPolicyType.MAX_VALUE,
}


class AdaptedGame(pyspiel.Game):  # type: ignore[misc]
    """A game of this project, for OpenSpiel."""

    def __init__(self, game: Game, leader: int = 0, seed: int = 0) -> None:
        kind = pyspiel.GameType(
            short_name=f"croupier_{game.id}",
            long_name=game.title,
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC,
            information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
            utility=pyspiel.GameType.Utility.ZERO_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=SEATS,
            min_num_players=SEATS,
            provides_information_state_string=True,
            provides_information_state_tensor=False,
            provides_observation_string=True,
            provides_observation_tensor=False,
        )
        info = pyspiel.GameInfo(
            num_distinct_actions=MAX_ACTIONS,
            max_chance_outcomes=1,
            num_players=SEATS,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=MAX_DECISIONS,
        )
        super().__init__(kind, info, {})
        self.shared = Shared(game, leader, seed)

    def new_initial_state(self) -> "AdaptedState":
        return AdaptedState(self, Progress(self.shared))

    def at(self, position: Position) -> "AdaptedState":
        """The state of a position."""
        return AdaptedState(self, Progress(self.shared, position))

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Observer":
        return Observer()


class Shared:
    """What all states of a game share."""

    def __init__(self, game: Game, leader: int, seed: int) -> None:
        self.game = game
        self.leader = leader
        self.playouts = PlayoutPolicy.uniform(game)
        self.rng = random.Random(seed)
        # OpenSpiel numbers actions from 0; those of the engine have 64 bits.
        self.actions: list[int] = []
        self.numbers: dict[int, int] = {}

    def number(self, action: int) -> int:
        """OpenSpiel's number of an action."""
        if action not in self.numbers:
            self.numbers[action] = len(self.actions)
            self.actions.append(action)
        return self.numbers[action]


class Progress:
    """How far a game is: its position, and the decisions that are held back."""

    def __init__(self, shared: Shared, position: Position | None = None) -> None:
        self.shared = shared
        self.position = position  # None: not dealt yet.
        self.held: dict[int, int] = {}

    def __deepcopy__(self, memo: object) -> "Progress":
        other = Progress(self.shared, self.position and self.position.copy())
        other.held = dict(self.held)
        return other

    @property
    def player(self) -> int:
        """The number of the player that acts, in OpenSpiel's numbering."""
        if self.position is None:
            return int(pyspiel.PlayerId.CHANCE)
        owed = [seat for seat in self.position.deciders if seat not in self.held]
        if owed:
            return self.shared.leader if self.shared.leader in owed else owed[0]
        return int(pyspiel.PlayerId.CHANCE if self.held else pyspiel.PlayerId.TERMINAL)

    def draw(self) -> None:
        """Lets chance act: deals, or applies the decisions that are held back."""
        seed = self.shared.rng.getrandbits(64)
        if self.position is None:
            self.position = Position.deal(self.shared.game, seed)
        else:
            self.position.apply(self.held, seed)
            self.held = {}


class AdaptedState(pyspiel.State):  # type: ignore[misc]
    """A state of an AdaptedGame."""

    def __init__(self, game: AdaptedGame, progress: Progress) -> None:
        super().__init__(game)
        self.progress = progress

    def current_player(self) -> int:
        return self.progress.player

    def is_terminal(self) -> bool:
        return self.progress.player == int(pyspiel.PlayerId.TERMINAL)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(0, 1.0)]

    def returns(self) -> list[float]:
        position = self.progress.position
        scores = position.scores if position else None
        return [2 * score - 1 for score in scores] if scores else [0.0, 0.0]

    def _legal_actions(self, player: int) -> list[int]:
        assert self.progress.position is not None
        number = self.progress.shared.number
        return sorted(number(action) for action in self.progress.position.legal(player))

    def _apply_action(self, action: int) -> None:
        if self.progress.player == pyspiel.PlayerId.CHANCE:
            self.progress.draw()
        else:
            self.progress.held[self.progress.player] = self.progress.shared.actions[action]

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return "chance"
        shared = self.progress.shared
        return str(shared.game.read_action(shared.actions[action]))

    def __str__(self) -> str:
        position = self.progress.position
        return f"{position.fields if position else 'not dealt'}, held: {self.progress.held}"


class Observer:
    """What a seat knows, as a string: OpenSpiel's key of an information state."""

    tensor = None

    def __init__(self) -> None:
        self.dict: dict[str, Any] = {}

    def set_from(self, state: AdaptedState, player: int) -> None:
        """Does nothing: there is no tensor."""

    def string_from(self, state: AdaptedState, player: int) -> str:
        """A hash of the view, and the decision of the player that is held back."""
        progress = state.progress
        if progress.position is None:
            return ""
        digest = hashlib.blake2b(bytes(progress.position.view(player)), digest_size=16)
        return f"{digest.hexdigest()} {progress.held.get(player, '')}"


class PlayoutEvaluator:
    """Evaluates a state by one random playout of the engine."""

    def evaluate(self, state: AdaptedState) -> Any:
        """The utilities at the end of a random continuation."""
        progress = state.progress
        assert progress.position is not None
        rng = progress.shared.rng
        position = progress.position
        if progress.held:
            position = position.copy()
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint | progress.held, rng.getrandbits(64))
        score, _ = progress.shared.playouts.playouts(position, 1, rng.getrandbits(64))
        return np.array([2 * score - 1, 1 - 2 * score])

    def prior(self, state: AdaptedState) -> list[tuple[int, float]]:
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
        adapted = AdaptedGame(view.game, leader=view.seat, seed=seed)
        sampler = Sampler.of(view)
        rng = adapted.shared.rng
        bot = ISMCTSBot(
            adapted,
            PlayoutEvaluator(),
            self.exploration,
            self.iterations,
            random_state=np.random.RandomState(seed % 2**32),
            final_policy_type=self.final,
        )
        bot.set_resampler(lambda state, player: adapted.at(sampler.sample(rng.getrandbits(64))))
        # Any world will do: the bot takes from it what its seat knows, and draws other worlds.
        action = bot.step(adapted.at(sampler.sample(seed)))
        return Choice(adapted.shared.actions[action], self.iterations)
