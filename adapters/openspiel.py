"""The games as Python games of OpenSpiel, and the search that answers hints as a bot of it.

    from adapters import openspiel

    game = openspiel.load_game(game_id, chance="explicit")
    state = game.new_initial_state()

Each game of `engine.games()` is registered as "croupier_" and its id, with these parameters:

`ruleset`   the options of the game, as JSON, quoted as in a URL; `load_game` writes it;
`chance`    "sampled": a chance node after the deal and each decision, with one outcome: the game
            draws when it is applied. "explicit": a chance node, with the probability of every
            outcome, only where chance decides. For small rulesets: at most MAX_OUTCOMES at a node;
`turns`     of simultaneous decisions, player `leader` makes its own first, unseen by the other one,
            which moves next; otherwise they are a simultaneous node;
`scale`     what lies between a win and a loss; utilities are from -scale / 2 to scale / 2. 0: as
            the literature counts, so in chips where a game has them (`Game.utility_range`);
`survey`, `spare`   the numbers of actions (engine/encoding.py): how many random matches make the
            table, and how many legal actions it may lack. -1: with explicit chance a table, and
            else none, so that a number is the place of an action among the legal ones, and as many
            as the game needs;
`seed`      of the chance that is sampled.

The string of an information state is a key of all that the player has seen and done. Its tensor is
that of an observation: the numbers of the view, which remembers what matters, and the player's own
decision that is still held back, plus 1. Public observations are the view of spectators.
"""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

try:
    import numpy as np
    import pyspiel

    from ai.search import search
    from engine import games
    from engine.batch import ViewLayout
    from engine.encoding import Numbering, decisions, survey
    from engine.game import SEATS, SPECTATOR, Game, SeatView
    from engine.model import learned
    from engine.position import Position
    from engine.sampler import Sampler
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"adapters.openspiel needs {error.name}: pip install 'croupier-server[openspiel]'",
        name=error.name,
    ) from None

PREFIX = "croupier_"
MAX_OUTCOMES = 1 << 12  # Of one chance node, equal ones included.
MAX_DECISIONS = 10_000
MOST_SEEN = 16  # Positions that a state keeps until somebody asks what a player has seen.
PROBED = 20  # Random matches that show whether a game has simultaneous decisions.
TABLE = (1000, 8)  # What `survey` and `spare` are with explicit chance, unless it is said.
DEFAULTS: dict[str, Any] = {
    "ruleset": "",
    "chance": "sampled",
    "turns": False,
    "leader": 0,
    "scale": 0.0,
    "survey": -1,
    "spare": -1,
    "seed": 0,
}
_IDS = pyspiel.PlayerId
CHANCE, TERMINAL, SIMULTANEOUS = map(int, (_IDS.CHANCE, _IDS.TERMINAL, _IDS.SIMULTANEOUS))


def load_game(game: str, ruleset: Mapping[str, Any] | None = None, **parameters: Any) -> Any:
    """The OpenSpiel game of a game by its id, under the options of a ruleset.

    Raises KeyError if there is no such game, RulesetError for an option, ValueError if chance is to
    be explicit and has too many outcomes.
    """
    if game not in games():
        raise KeyError(f"there is no game {game!r}, only {', '.join(games())}")
    options = quote(json.dumps(ruleset)) if ruleset else ""
    return CroupierGame(games()[game](ruleset), {"ruleset": options, **parameters})


class CroupierGame(pyspiel.Game):  # type: ignore[misc]
    """A game of the engine, for OpenSpiel."""

    def __init__(self, game: Game, parameters: Mapping[str, Any] | None = None) -> None:
        parameters = {**DEFAULTS, **(parameters or {})}
        if parameters["chance"] not in ("sampled", "explicit"):
            raise ValueError(f"chance is sampled or explicit, not {parameters['chance']!r}")
        self.game = game
        self.parameters = parameters
        self.scale = float(parameters["scale"]) or game.utility_range
        self.explicit = parameters["chance"] == "explicit"
        self.leader: int | None = parameters["leader"] if parameters["turns"] else None
        matches, spare = TABLE if self.explicit else (0, game.most_legal)
        matches = matches if parameters["survey"] < 0 else parameters["survey"]
        spare = spare if parameters["spare"] < 0 else parameters["spare"]
        self.numbering = Numbering(survey(game, matches), spare)
        self.rng = random.Random(parameters["seed"])
        self.layout = ViewLayout(game)
        self.labels = [*self.layout.labels, "held"]
        found = Position.deals(game, MAX_OUTCOMES) if self.explicit else []
        self.deals = self.all_of(found)  # Each with its probability.
        info = pyspiel.GameInfo(
            num_distinct_actions=self.numbering.size,
            max_chance_outcomes=MAX_OUTCOMES if self.explicit else 1,
            num_players=SEATS,
            min_utility=-self.scale / 2,
            max_utility=self.scale / 2,
            utility_sum=0.0,
            max_game_length=MAX_DECISIONS,
        )
        super().__init__(
            game_type(game, self.explicit, bool(parameters["turns"])), info, parameters
        )

    @property
    def rules(self) -> tuple[Any, ...]:
        """What `_game_again` makes the game of."""
        return self.game.id, json.dumps(self.game.ruleset), tuple(self.parameters.items())

    # OpenSpiel itself copies no game whose chance is sampled.
    def __reduce__(self) -> tuple[Any, ...]:
        return _game_from, (self.rules, self.rng.getstate())

    def all_of(self, outcomes: list[tuple[float, Position]] | None) -> list[tuple[float, Position]]:
        """The outcomes of chance; raises ValueError if they are too many to enumerate."""
        if outcomes is None:
            raise ValueError(
                f"chance in {self.game.id} has more than {MAX_OUTCOMES} outcomes under this"
                " ruleset, or some that cannot be enumerated: take a smaller one, or"
                ' chance="sampled"'
            )
        return outcomes

    def new_initial_state(self) -> "CroupierState":
        return CroupierState(self, Progress(self))

    def at(self, position: Position) -> "CroupierState":
        """The state of a position, as if a match began there."""
        progress = Progress(self)
        progress.arrive(position)
        return CroupierState(self, progress)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "Observer":
        return Observer(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False))


def game_type(game: Game, explicit: bool, turns: bool) -> Any:
    """What OpenSpiel wants to know of a game in general."""
    kinds, modes = pyspiel.GameType.Dynamics, pyspiel.GameType.ChanceMode
    both = not turns and any(len(legal) > 1 for legal in decisions(game, PROBED))
    return pyspiel.GameType(
        short_name=f"{PREFIX}{game.id}",
        long_name=game.title,
        dynamics=kinds.SIMULTANEOUS if both else kinds.SEQUENTIAL,
        chance_mode=modes.EXPLICIT_STOCHASTIC if explicit else modes.SAMPLED_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=SEATS,
        min_num_players=SEATS,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=DEFAULTS,
    )


class Progress:
    """How far a game is. OpenSpiel copies it with its state."""

    def __init__(self, game: CroupierGame) -> None:
        self.game = game
        self.position: Position | None = None  # None: not dealt yet.
        self.held: dict[int, int] = {}  # Decisions that are held back: codes, by seat.
        self._known = [b"", b""]  # By seat: a key of all that it has seen and done, but for:
        self._seen: list[tuple[dict[int, int], Position]] = []  # Decisions, and what they led to.
        self.codes: dict[int, dict[int, int]] = {}  # By seat: its legal codes, by their numbers.
        self.player = CHANCE  # Who acts, in the numbering of OpenSpiel.
        # What chance can do now, if it is explicit.
        self.outcomes: list[tuple[float, Position]] = game.deals if game.explicit else []

    def __reduce__(self) -> tuple[Any, ...]:
        rules, position = self.game.rules, self.position
        outcomes = [(probability, bytes(each)) for probability, each in self.outcomes]
        return _restore, (rules, position and bytes(position), self.held, self.known, outcomes)

    def __deepcopy__(self, memo: object) -> "Progress":
        other = Progress.__new__(Progress)
        other.__dict__.update(self.__dict__)
        other.held = dict(self.held)
        other._known, other._seen = list(self._known), list(self._seen)
        return other

    @property
    def known(self) -> list[bytes]:
        """By seat: a key of all that it has seen and done."""
        for held, position in self._seen:
            for seat in range(SEATS):
                done = held.get(seat, 0).to_bytes(8, "little")
                seen = hashlib.blake2b(self._known[seat] + done, digest_size=16)
                seen.update(bytes(position.view(seat)))
                self._known[seat] = seen.digest()
        self._seen.clear()
        return self._known

    def _next_player(self) -> int:
        if self.outcomes or self.position is None:
            return CHANCE
        if not self.codes:
            return TERMINAL
        owed = len(self.codes) - len(self.held)
        if owed == 1:
            return next(seat for seat in self.codes if seat not in self.held)
        if not owed:
            return CHANCE
        return SIMULTANEOUS if self.game.leader is None else self.game.leader

    def decide(self, seat: int, number: int) -> None:
        """Holds the decision of a seat; with explicit chance, applies both when both are there."""
        self.hold(seat, self.codes[seat][number])
        if self.game.explicit and len(self.held) == len(self.codes):
            assert self.position is not None
            self.outcomes = self.game.all_of(self.position.outcomes(self.held, MAX_OUTCOMES))
            if len(self.outcomes) == 1:
                self.draw(0)

    def hold(self, seat: int, code: int) -> None:
        """Holds back the decision of a seat."""
        self.held[seat] = code
        self.player = self._next_player()

    def draw(self, outcome: int) -> None:
        """Lets chance act: in the way of an outcome if chance is explicit, or at random."""
        if self.outcomes:
            self.arrive(self.outcomes[outcome][1])
            return
        seed = self.game.rng.getrandbits(64)
        if self.position is None:
            self.arrive(Position.deal(self.game.game, seed))
        else:
            after = self.position.copy()
            after.apply(self.held, seed)
            self.arrive(after)

    def arrive(self, position: Position) -> None:
        """Goes on from a position, which nobody changes from now on."""
        self._seen.append((self.held, position))
        if len(self._seen) > MOST_SEEN:
            _ = self.known  # Lets go of the positions.
        self.position, self.held, self.outcomes = position, {}, []
        legal = {seat: position.legal(seat) for seat in position.deciders}
        self.codes = {seat: self.game.numbering.numbered(all_) for seat, all_ in legal.items()}
        self.player = self._next_player()


@lru_cache
def _game_again(
    game_id: str, ruleset: str, parameters: tuple[tuple[str, Any], ...]
) -> CroupierGame:
    return CroupierGame(games()[game_id](json.loads(ruleset)), dict(parameters))


def _game_from(rules: Any, rng: Any) -> CroupierGame:
    game = _game_again.__wrapped__(*rules)
    game.rng.setstate(rng)
    return game


def _restore(rules: Any, position: bytes | None, held: Any, known: Any, outcomes: Any) -> Progress:
    progress = Progress(_game_again(*rules))
    game = progress.game.game
    if position is not None:
        progress.arrive(Position.from_bytes(game, position))
    progress.held, progress._known, progress._seen = held, known, []
    progress.outcomes = [(p, Position.from_bytes(game, each)) for p, each in outcomes]
    progress.player = progress._next_player()
    return progress


class CroupierState(pyspiel.State):  # type: ignore[misc]
    """A state of a CroupierGame."""

    def __init__(self, game: CroupierGame, progress: Progress) -> None:
        super().__init__(game)
        self.progress = progress

    def __reduce__(self) -> tuple[Any, ...]:
        return _state_of, (self.progress,)

    def view(self, player: int) -> SeatView:
        """What a player may know, once the cards are dealt."""
        assert self.progress.position is not None
        return self.progress.position.view(player)

    def current_player(self) -> int:
        return self.progress.player

    def is_terminal(self) -> bool:
        return self.progress.player == TERMINAL

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes = self.progress.outcomes
        return [(n, p) for n, (p, _) in enumerate(outcomes)] if outcomes else [(0, 1.0)]

    def returns(self) -> list[float]:
        position = self.progress.position
        scores = position.scores if position else None
        return [self.progress.game.scale * (s - 0.5) for s in scores] if scores else [0.0, 0.0]

    def _legal_actions(self, player: int) -> list[int]:
        progress = self.progress
        return [] if player in progress.held else list(progress.codes.get(player, {}))

    def _apply_action(self, action: int) -> None:
        if self.progress.player == CHANCE:
            self.progress.draw(action)
        else:
            self.progress.decide(self.progress.player, action)

    def _apply_actions(self, actions: Sequence[int]) -> None:
        for seat, action in enumerate(actions):
            self.progress.decide(seat, action)

    def _action_to_string(self, player: int, action: int) -> str:
        code = self.progress.codes.get(player, {}).get(action)
        if code is None:
            return f"chance {action}" if player == CHANCE else str(action)
        fields = self.progress.game.game.read_action(code)
        values = (f"{name}={value}" for name, value in fields.items() if name != "kind")
        return " ".join([fields["kind"], *values])

    def resample_from_infostate(self, player: int, sampler: Any = None) -> "CroupierState":
        """Another state that looks the same to a player; `sampler` gives numbers from 0 to 1."""
        rng = random.Random(sampler()) if sampler else self.progress.game.rng
        world = Sampler.of(self.view(player)).sample(rng.getrandbits(64))
        state = self.progress.game.at(world)
        state.progress.known[player] = self.progress.known[player]
        for seat, code in self.progress.held.items():
            legal = world.legal(seat)
            state.progress.hold(seat, code if seat == player else rng.choice(legal))
        return state

    def __str__(self) -> str:
        position = self.progress.position
        return f"{position.fields if position else 'not dealt'}, held: {self.progress.held}"


def _state_of(progress: Progress) -> CroupierState:
    return CroupierState(progress.game, progress)


class Observer:
    """What a player knows, as a string and as numbers: see the module."""

    def __init__(self, game: CroupierGame, kind: Any) -> None:
        self.recalls = kind.perfect_recall
        self.is_public = kind.private_info == pyspiel.PrivateInfoType.NONE
        self.layout = game.layout
        self.whole = np.zeros(len(game.labels), np.int64)
        self.tensor = np.zeros(len(game.labels), np.float32)
        self.dict = {"view": self.tensor}

    def set_from(self, state: CroupierState, player: int) -> None:
        """Sets the tensor to what a player knows."""
        self.tensor.fill(0)
        progress = state.progress
        if progress.position is not None:
            viewer = SPECTATOR if self.is_public else player
            self.layout.read(state.view(viewer), self.whole)
            self.tensor[:-1] = self.whole[:-1]
            held = {code: n for n, code in progress.codes.get(player, {}).items()}
            if player in progress.held and not self.is_public:
                self.tensor[-1] = held[progress.held[player]] + 1

    def string_from(self, state: CroupierState, player: int) -> str:
        """What a player knows: a key of all it has seen and done, or the fields of its view."""
        progress = state.progress
        if progress.position is None:
            return f"player {player}: not dealt"
        if self.is_public:
            return str(state.view(SPECTATOR).fields)
        own = progress.held.get(player, "")
        if self.recalls:
            return f"player {player}: {progress.known[player].hex()} {own}".rstrip()
        return f"{state.view(player).fields} {own}".rstrip()


class SearchBot(pyspiel.Bot):  # type: ignore[misc]
    """The search that answers hints, with what was learned of the game.

    It looks at what its player may know, and never at the rest of a state.
    """

    def __init__(self, player_id: int, iterations: int = 1000, seed: int = 0) -> None:
        pyspiel.Bot.__init__(self)
        self._player = player_id
        self._iterations = iterations
        self._rng = random.Random(seed)

    def player_id(self) -> int:
        return self._player

    def restart_at(self, state: CroupierState) -> None:
        pass  # Each decision is new.

    def provides_policy(self) -> bool:
        return True

    def step_with_policy(self, state: CroupierState) -> tuple[list[tuple[int, float]], int]:
        """The probability of each legal action, and the action that was drawn from these."""
        view = state.view(self._player)
        found = search(
            view,
            iterations=self._iterations,
            seed=self._rng.getrandbits(64),
            model=learned(view.game),
        )
        shares = {one.action: one.probability for one in found.actions}
        codes = state.progress.codes[self._player]
        drawn = next(number for number, code in codes.items() if code == found.action)
        return [(number, shares.get(code, 0.0)) for number, code in codes.items()], drawn

    def get_policy(self, state: CroupierState) -> list[tuple[int, float]]:
        """The probability of each legal action."""
        return self.step_with_policy(state)[0]

    def step(self, state: CroupierState) -> int:
        return self.step_with_policy(state)[1]


def _register(kind: type[Game]) -> None:
    class Loaded(CroupierGame):
        # What `pyspiel.load_game` makes. A class, because OpenSpiel keeps it beyond Python's end.
        def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
            options = unquote((parameters or {}).get("ruleset", ""))
            super().__init__(kind(json.loads(options or "null")), parameters)

    pyspiel.register_game(game_type(kind(), False, False), Loaded)


for _kind in games().values():
    _register(_kind)
