"""The games as environments of PettingZoo: `env` for turns (AEC), `parallel_env` for both at once.

    from adapters import pettingzoo

    env = pettingzoo.env(game_id)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        over = termination or truncation
        env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

The engine plays in this process. An agent observes what its seat may know, and no more:

`observation`   the numbers of the seat's view, or what an encoding (`adapters/encodings.py`) makes
                of them; `env.labels` names them;
`action_mask`   1 for the number of each legal action;
`actions`       for each number, the 8 bytes of the action's code, the lowest first: what the action
                is, for a learner that rates actions by what they are. All 0 where none is legal.

`infos[agent]["actions"]` says in fields what each legal number means. `engine/encoding.py` says how
actions are numbered; `table` and `spare` are its arguments, where no `spare` is as many as the
game needs. A seat that owes no decision has the
number 0 alone, which stands for no action.

The reward is 0 until the end, and then from -1 for a loss to 1 for a win; the rewards of both add
up to 0. An illegal number loses the match: -1 for its seat, 1 for the other one, or -1 for both if
both have chosen one.

Of two simultaneous decisions in `env`, seat 0 makes its own first, and seat 1 does not see it.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

try:
    import numpy as np
    from gymnasium import spaces
    from pettingzoo import AECEnv, ParallelEnv

    from adapters.encodings import Encoding, fitting, game_of, observation_space
    from engine.batch import ViewLayout
    from engine.encoding import Numbering
    from engine.game import SEATS, SPECTATOR, Game, SeatView
    from engine.position import Position
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"adapters.pettingzoo needs {error.name}: pip install 'croupier-server[pettingzoo]'",
        name=error.name,
    ) from None

AGENTS = [f"seat_{seat}" for seat in range(SEATS)]
RENDER_MODES = ["ansi", "human"]  # A text, returned or printed.
LOST = -1.0
WIDTH = 100  # Columns of a rendered match.

Observation = dict[str, Any]


class Meanings(Mapping[int, dict[str, Any]]):
    """The legal actions of a seat in fields, by their numbers: each read when it is asked for."""

    def __init__(self, game: Game, codes: dict[int, int]) -> None:
        self._game, self._codes = game, codes

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self._game.read_action(self._codes[number])

    def __iter__(self) -> Iterator[int]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def __repr__(self) -> str:
        return repr(dict(self))


class Table:
    """One match after the other, as both environments have it."""

    def __init__(
        self,
        game: str,
        ruleset: Mapping[str, Any] | None,
        table: Sequence[int],
        spare: int | None,
        encoding: Encoding | None,
    ) -> None:
        self.game = game_of(game, ruleset)
        self.numbering = Numbering(table, self.game.most_legal if spare is None else spare)
        self.layout = ViewLayout(self.game)
        self.encoding = fitting(encoding, self.layout.labels)
        size = self.numbering.size
        space = observation_space(self.encoding, size)
        self.observation_spaces = dict.fromkeys(AGENTS, space)
        self.action_spaces = {agent: spaces.Discrete(size) for agent in AGENTS}
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self.deciders: tuple[int, ...] = ()
        self._codes: dict[int, dict[int, int]] = {}  # Of the deciders, by their numbers.
        self._rng = random.Random()

    def deal(self, seed: int | None) -> None:
        """Begins a match; with a seed, the one of this seed, and else the next one."""
        if seed is not None:
            self._rng = random.Random(seed)
        self.position = Position.deal(self.game, self._rng.getrandbits(64))
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._look()

    @property
    def over(self) -> bool:
        """Whether the match has ended, also by an illegal action."""
        return not self.deciders

    def decide(self, chosen: Mapping[int, int]) -> None:
        """Applies the numbers that all deciders have chosen, by seat."""
        joint = {seat: self._codes[seat].get(chosen[seat], 0) for seat in self.deciders}
        illegal = [seat for seat, code in joint.items() if not code]
        if illegal:
            for seat, agent in enumerate(AGENTS):
                self.rewards[agent] = LOST if seat in illegal else -LOST
            self.deciders, self._codes = (), {}
            return
        self.position.apply(joint, self._rng.getrandbits(64))
        if scores := self.position.scores:
            self.rewards = {
                agent: 2 * score - 1 for agent, score in zip(AGENTS, scores, strict=True)
            }
        self._look()

    def observe(self, seat: int) -> Observation:
        """What a seat may know."""
        size = self.numbering.size
        mask = np.zeros(size, np.int8)
        actions = np.zeros((size, 8), np.uint8)
        codes = self._codes.get(seat, {0: 0})
        places = list(codes)
        mask[places] = 1
        actions[places] = np.array(list(codes.values()), "<u8").view(np.uint8).reshape(-1, 8)
        view = np.empty(len(self.layout.labels), np.int64)
        self.layout.read(self.position.view(seat), view)
        return {"observation": self.encoding(view), "action_mask": mask, "actions": actions}

    def info(self, seat: int) -> dict[str, Any]:
        """What the legal numbers of a seat mean; empty if it owes no decision."""
        return {"actions": Meanings(self.game, self._codes.get(seat, {}))}

    def render(self, mode: str | None) -> str | None:
        """The match as those who must decide see it, or as spectators do; printed if human."""
        viewers = self.deciders or (SPECTATOR,)
        text = "\n".join(picture(self.position.view(viewer)) for viewer in viewers)
        if mode == "human":
            print(text)
            return None
        return text

    def _look(self) -> None:
        # Lists what may be done now.
        self.deciders = self.position.deciders
        self._codes = {
            seat: self.numbering.numbered(self.position.legal(seat)) for seat in self.deciders
        }


def picture(view: SeatView) -> str:
    """A view as the terminal client draws it; of a game without messages, its fields."""
    if view.game.reference:
        return "\n".join(f"{name}: {value}" for name, value in view.fields.items()) + "\n"
    # Much to import, for whoever renders alone.
    import wire
    from croupier.terminal.drawing import find
    from croupier.terminal.plain import plain
    from croupier.v1.game_pb2 import View

    seat = view.seat if view.seat in range(SEATS) else 0
    message = View.FromString(wire.write_view(view.game, view))
    message.ruleset.CopyFrom(wire.write_ruleset(view.game))
    draw = find(_described(view.game), seat, "opponent")
    draw.read_ruleset(message)
    return plain(draw.title(message), draw.view(message), width=WIDTH)


@cache
def _described(game: Game) -> Any:
    from service.api.catalog_service import describe

    return describe(game)


class _Environment:
    # What both environments have in common.
    metadata: dict[str, Any]
    agents: list[str]

    def __init__(
        self,
        game: str,
        ruleset: Mapping[str, Any] | None = None,
        *,
        table: Sequence[int] = (),
        spare: int | None = None,
        encoding: Encoding | None = None,
        render_mode: str | None = None,
    ) -> None:
        """An environment of a game of `engine.games()`, under the options of a ruleset.

        `table` and `spare` number the actions (see `engine/encoding.py`). An `encoding` has
        observations in its columns. `render_mode` is "ansi" for a text, "human" to print it. Raises
        ValueError for a game, and RulesetError for an option, that there is not.
        """
        super().__init__()
        self.table = Table(game, ruleset, table, spare, encoding)
        self.labels = self.table.encoding.labels
        self.render_mode = render_mode
        self.metadata = {
            "name": f"croupier_{self.table.game.id}",
            "render_modes": RENDER_MODES,
            "is_parallelizable": True,
        }
        self.possible_agents = list(AGENTS)
        self.agents = []
        self.observation_spaces = self.table.observation_spaces
        self.action_spaces = self.table.action_spaces

    def observation_space(self, agent: str) -> Any:
        """What the observations of an agent look like."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The numbers of the actions of an agent."""
        return self.action_spaces[agent]

    def render(self) -> str | None:
        """Shows the match to those who must decide."""
        return self.table.render(self.render_mode)

    def close(self) -> None:
        """Does nothing: nothing is open."""


class TurnEnv(_Environment, AECEnv):  # type: ignore[misc]
    """A game in which the seats decide one after the other."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.table.deal(seed)
        self.agents = list(AGENTS)
        self._held: dict[int, int] = {}
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._next()

    def observe(self, agent: str) -> Observation:
        return self.table.observe(AGENTS.index(agent))

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._held[AGENTS.index(agent)] = int(action)
        if len(self._held) == len(self.table.deciders):
            self.table.decide(self._held)
            self._held = {}
        self._next()
        self._accumulate_rewards()

    def _next(self) -> None:
        self.rewards = dict(self.table.rewards)
        self.terminations = dict.fromkeys(AGENTS, self.table.over)
        owed = [seat for seat in self.table.deciders if seat not in self._held]
        self.agent_selection = AGENTS[owed[0] if owed else 0]
        self.infos = {agent: self.table.info(seat) for seat, agent in enumerate(AGENTS)}


class BothEnv(_Environment, ParallelEnv):  # type: ignore[misc]
    """A game in which both seats are asked at every step, also one that owes no decision."""

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Any]]:
        self.table.deal(seed)
        self.agents = list(AGENTS)
        return self._seen()

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, ...]:
        self.table.decide({AGENTS.index(agent): int(each) for agent, each in actions.items()})
        if self.table.over:
            self.agents = []
        observations, infos = self._seen()
        terminations = dict.fromkeys(AGENTS, self.table.over)
        truncations = dict.fromkeys(AGENTS, False)
        return observations, dict(self.table.rewards), terminations, truncations, infos

    def _seen(self) -> tuple[dict[str, Observation], dict[str, Any]]:
        seats = list(enumerate(AGENTS))
        return (
            {agent: self.table.observe(seat) for seat, agent in seats},
            {agent: self.table.info(seat) for seat, agent in seats},
        )


env, parallel_env = TurnEnv, BothEnv
