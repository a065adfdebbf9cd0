"""Many matches at once, as environments: of Gymnasium against an opponent, or with both seats.

    from adapters import vector

    env = vector.env(game_id, 1024, opponent="random")
    observations, infos = env.reset(seed=1)
    numbers = vector.random_numbers(observations["action_mask"], env.np_random)
    observations, rewards, terminations, truncations, infos = env.step(numbers)

`env` is a `gymnasium.vector.VectorEnv`: an agent has one seat of each match, and the opponent plays
the other one. `parallel_env` has both seats, as PettingZoo's parallel environments have, with an
axis for the matches before all others. Observations, numbers and rewards are those of
`adapters.pettingzoo`, of a seat that must decide; where it owes no decision, which `infos` tell
("decides"), the number 0 alone stands for no action, and the view is the last one that it had.

A match that is over begins anew with the next step, whose number is not looked at and whose reward
is 0: `gymnasium.vector.AutoresetMode.NEXT_STEP`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from adapters.encodings import Encoding, fitting, game_of, observation_space
from adapters.encodings import random_numbers as random_numbers
from adapters.pettingzoo import AGENTS
from ai.search import search
from engine.batch import Batch
from engine.encoding import Numbering
from engine.game import SEATS
from engine.model import learned

Observations = dict[str, Any]
# The numbers with which the seats of some matches decide: gets the batch, the places of the
# matches, their seats, and where chance comes from.
Opponent = Callable[[Batch, Any, Any, np.random.Generator], Any]


def play_at_random(batch: Batch, matches: Any, seats: Any, rng: np.random.Generator) -> Any:
    """An opponent to which all legal actions are alike."""
    return random_numbers(np.asarray(batch.mask)[matches, seats], rng)


def searching(iterations: int) -> Opponent:
    """An opponent that searches as the bots of a server do."""

    def play(batch: Batch, matches: Any, seats: Any, rng: np.random.Generator) -> Any:
        chosen = []
        for match, seat in zip(matches.tolist(), seats.tolist(), strict=True):
            found = search(
                batch.position(match).view(seat),
                iterations=iterations,
                seed=int(rng.integers(1 << 63)),
                model=learned(batch.game),
            )
            chosen.append(np.flatnonzero(np.asarray(batch.codes)[match, seat] == found.action)[0])
        return np.array(chosen, np.int64)

    return play


class _Batched:
    # What both environments have in common.
    def _begin(
        self,
        game: str,
        num_envs: int,
        ruleset: Mapping[str, Any] | None,
        table: Sequence[int],
        spare: int | None,
        encoding: Encoding | None,
        copy: bool,
    ) -> None:
        made = game_of(game, ruleset)
        spare = made.most_legal if spare is None else spare
        self.batch = Batch(made, num_envs, Numbering(table, spare))
        self.num_envs = num_envs
        self.encoding = fitting(encoding, self.batch.layout.labels)
        self.labels = self.encoding.labels
        self._copies = copy
        self._deciders = np.asarray(self.batch.deciders)
        self._numbers = np.zeros((num_envs, SEATS), np.int64)
        self._all = np.ones(num_envs, np.uint8)
        width = self.batch.numbering.size
        self.single_action_space = spaces.Discrete(width)
        self.single_observation_space = observation_space(self.encoding, width)

    def _seen(self, matches: Any, seats: Any) -> Observations:
        codes = np.asarray(self.batch.codes)[matches, seats]
        seen = {
            "observation": self.encoding(np.asarray(self.batch.observations)[matches, seats]),
            "action_mask": np.asarray(self.batch.mask)[matches, seats],
            "actions": codes.view(np.uint8).reshape(*codes.shape, 8),
        }
        return {name: each.copy() for name, each in seen.items()} if self._copies else seen

    def _rewards(self) -> Any:
        # By match and seat.
        over = self._deciders == 0
        return np.where(over[:, None], 2 * np.asarray(self.batch.scores) - 1, 0.0)


class VectorEnv(_Batched, gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """One seat of each match, against an opponent."""

    def __init__(
        self,
        game: str,
        num_envs: int,
        opponent: str | int | Opponent = "random",
        *,
        seat: int | None = None,
        ruleset: Mapping[str, Any] | None = None,
        table: Sequence[int] = (),
        spare: int | None = None,
        encoding: Encoding | None = None,
        copy: bool = True,
    ) -> None:
        """`num_envs` matches of a game against an `opponent`.

        It is "random", the iterations of a search, or a function (`Opponent`). The agent has the
        `seat`; if that is None, seat 0 of every other match and seat 1 of the rest. Without `copy`,
        what a step returns changes with the next one. The other arguments are those of
        `adapters.pettingzoo`, as are the errors.
        """
        self._begin(game, num_envs, ruleset, table, spare, encoding, copy)
        if isinstance(opponent, str) and opponent != "random":
            raise ValueError(f"an opponent is random, iterations or a function, not {opponent!r}")
        if seat not in (None, *range(SEATS)):
            raise ValueError(f"a seat is 0, 1 or None, not {seat!r}")
        self._opponent = (
            searching(opponent)
            if isinstance(opponent, int)
            else play_at_random
            if isinstance(opponent, str)
            else opponent
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self._rows = np.arange(num_envs)
        self.seats = self._rows % SEATS if seat is None else np.full(num_envs, seat)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        super().reset(seed=seed)
        self.batch.deal(int(self.np_random.integers(1 << 63)))
        self._wait()
        return self._seen(self._rows, self.seats), self._infos()

    def step(self, actions: Any) -> tuple[Observations, Any, Any, Any, dict[str, Any]]:
        self._numbers[self._rows, self.seats] = actions
        self._answer(self._all)
        self.batch.step(self._numbers, self._all)
        self._wait()
        over = self._deciders == 0
        rewards = self._rewards()[self._rows, self.seats]
        never = np.zeros(self.num_envs, bool)
        return self._seen(self._rows, self.seats), rewards, over, never, self._infos()

    def _answer(self, which: Any) -> None:
        # Lets the opponent decide in these matches, wherever it must.
        matches = np.flatnonzero(which & (self._deciders >> (1 - self.seats)) & 1)
        if matches.size:
            seats = 1 - self.seats[matches]
            chosen = self._opponent(self.batch, matches, seats, self.np_random)
            self._numbers[matches, seats] = chosen

    def _wait(self) -> None:
        # Plays on until the agent must decide, or the match is over.
        while True:
            alone = (self._deciders == 1 << (1 - self.seats)).astype(np.uint8)
            if not alone.any():
                return
            self._answer(alone)
            self.batch.step(self._numbers, alone)

    def _infos(self) -> dict[str, Any]:
        return {"decides": self._deciders != 0}


class ParallelVectorEnv(_Batched):
    """Both seats of each match."""

    def __init__(
        self,
        game: str,
        num_envs: int,
        *,
        ruleset: Mapping[str, Any] | None = None,
        table: Sequence[int] = (),
        spare: int | None = None,
        encoding: Encoding | None = None,
        copy: bool = True,
    ) -> None:
        """`num_envs` matches of a game; the other arguments are those of `VectorEnv`."""
        self._begin(game, num_envs, ruleset, table, spare, encoding, copy)
        self.possible_agents = list(AGENTS)

    def reset(self, seed: int = 0) -> tuple[dict[str, Observations], dict[str, Any]]:
        """Deals every match; the same seed deals the same."""
        self.batch.deal(seed)
        return self._by_agent(lambda seat: self._seen(slice(None), seat)), self._infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Takes numbers by agent, one for each match.

        Returns by agent observations, rewards, terminations, truncations and infos.
        """
        for seat, agent in enumerate(AGENTS):
            self._numbers[:, seat] = actions[agent]
        self.batch.step(self._numbers, self._all)
        rewards = self._rewards()
        never = np.zeros(self.num_envs, bool)
        return (
            self._by_agent(lambda seat: self._seen(slice(None), seat)),
            self._by_agent(lambda seat: rewards[:, seat]),
            self._by_agent(lambda seat: self._deciders == 0),
            self._by_agent(lambda seat: never),
            self._infos(),
        )

    def _infos(self) -> dict[str, Any]:
        return self._by_agent(lambda seat: {"decides": (self._deciders >> seat & 1).astype(bool)})

    def _by_agent(self, what: Callable[[int], Any]) -> dict[str, Any]:
        return {agent: what(seat) for seat, agent in enumerate(AGENTS)}


env, parallel_env = VectorEnv, ParallelVectorEnv
