"""OpenSpiel's ISMCTSBot at our tables: the games here as OpenSpiel games, and the bot as a player.

`Table` gives any of our games to OpenSpiel as a Python game, after the conventions of
open_spiel/python/games. Chance is sampled: a chance node has one outcome, at which the game draws.
OpenSpiel's search knows turns only, so of two simultaneous decisions `leader` makes his first, and
the other, who moves next, does not see it. What a seat knows is its view and its own decision that
is held back. A score from 0 to 1 becomes a utility from -1 to 1.

The bot is OpenSpiel's Python ISMCTSBot, to which worlds can be given (`set_resampler`): they come
from our sampler, and random playouts from our engine, so that simulations are worth what ours are
worth. Its speed says nothing of OpenSpiel: for that, compare the C++ bot on OpenSpiel's own games.

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
from engine.position import Position
from engine.sampler import Sampler
from lab.players import Choice

MAX_ACTIONS = 1 << 20
MAX_DECISIONS = 10_000
FINALS = {
    "max_visits": ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
    "visits": ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
    "max_value": ISMCTSFinalPolicyType.MAX_VALUE,
}


class Table(pyspiel.Game):  # type: ignore[misc]
    """One of our games, for OpenSpiel."""

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

    def new_initial_state(self) -> "TableState":
        return TableState(self, Progress(self.shared))

    def at(self, position: Position) -> "TableState":
        """A position as a state."""
        return TableState(self, Progress(self.shared, position))

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Observer":
        return Observer()


class Shared:
    """What all states of a game have in common."""

    def __init__(self, game: Game, leader: int, seed: int) -> None:
        self.game = game
        self.leader = leader
        self.rng = random.Random(seed)
        # OpenSpiel counts actions from 0; ours have 64 bits.
        self.actions: list[int] = []
        self.numbers: dict[int, int] = {}

    def number(self, action: int) -> int:
        """OpenSpiel's number of an action."""
        if action not in self.numbers:
            self.numbers[action] = len(self.actions)
            self.actions.append(action)
        return self.numbers[action]


class Progress:
    """How far a game is: a position, what is held back, and whether chance must act."""

    def __init__(self, shared: Shared, position: Position | None = None) -> None:
        self.shared = shared
        self.position = position  # None: to be dealt.
        self.held: dict[int, int] = {}

    def __deepcopy__(self, memo: object) -> "Progress":
        other = Progress(self.shared, self.position and self.position.copy())
        other.held = dict(self.held)
        return other

    @property
    def player(self) -> int:
        """Who acts, in OpenSpiel's numbers."""
        if self.position is None:
            return int(pyspiel.PlayerId.CHANCE)
        owed = [seat for seat in self.position.deciders if seat not in self.held]
        if owed:
            return self.shared.leader if self.shared.leader in owed else owed[0]
        return int(pyspiel.PlayerId.CHANCE if self.held else pyspiel.PlayerId.TERMINAL)

    def draw(self) -> None:
        """Lets chance act: deals, or applies what is held back."""
        seed = self.shared.rng.getrandbits(64)
        if self.position is None:
            self.position = Position.deal(self.shared.game, seed)
        else:
            self.position.apply(self.held, seed)
            self.held = {}


class TableState(pyspiel.State):  # type: ignore[misc]
    """A state of a Table."""

    def __init__(self, game: Table, progress: Progress) -> None:
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
        return f"{position.fields if position else 'to be dealt'}, held: {self.progress.held}"


class Observer:
    """What a seat knows, as a string: OpenSpiel's key of an information state."""

    tensor = None

    def __init__(self) -> None:
        self.dict: dict[str, Any] = {}

    def set_from(self, state: TableState, player: int) -> None:
        """There is no tensor to be set."""

    def string_from(self, state: TableState, player: int) -> str:
        """A hash of the view, and what is held back of it."""
        progress = state.progress
        if progress.position is None:
            return ""
        digest = hashlib.blake2b(bytes(progress.position.view(player)), digest_size=16)
        return f"{digest.hexdigest()} {progress.held.get(player, '')}"


class Playouts:
    """An evaluator by one random playout of the engine."""

    def evaluate(self, state: TableState) -> Any:
        """The utilities at the end of a random continuation."""
        progress = state.progress
        assert progress.position is not None
        rng = progress.shared.rng
        position = progress.position
        if progress.held:
            position = position.copy()
            joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
            position.apply(joint | progress.held, rng.getrandbits(64))
        [score] = position.playouts(1, rng.getrandbits(64))
        return np.array([2 * score - 1, 1 - 2 * score])

    def prior(self, state: TableState) -> list[tuple[int, float]]:
        """All actions alike."""
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]


class Ismcts:
    """OpenSpiel's ISMCTSBot as a player of the arena."""

    def __init__(self, iterations: int, exploration: float = 2.0, final: str = "max_visits"):
        if final not in FINALS:
            raise ValueError(f"final is one of {', '.join(FINALS)}")
        self.iterations = iterations
        self.exploration = exploration
        self.final = FINALS[final]

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        seed = chance % 2**64
        table = Table(view.game, leader=view.seat, seed=seed)
        sampler = Sampler.of(view)
        rng = table.shared.rng
        bot = ISMCTSBot(
            table,
            Playouts(),
            self.exploration,
            self.iterations,
            random_state=np.random.RandomState(seed % 2**32),
            final_policy_type=self.final,
        )
        bot.set_resampler(lambda state, player: table.at(sampler.sample(rng.getrandbits(64))))
        # Any world will do: the bot takes from it what its seat knows, and draws the others.
        action = bot.step(table.at(sampler.sample(seed)))
        return Choice(table.shared.actions[action], self.iterations)
