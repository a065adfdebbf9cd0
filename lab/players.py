"""The players of the arena: configurations as short texts, and the players that they describe.

A configuration is a name, and options after a colon:

    search:ms=100                                        the search that answers hints
    search:iterations=2000,exploration=0.7,threads=2     the same with any of its Parameters
    search:ms=100,model=none                             the same as if nothing had been learned
    search:ms=100,model=FILE,uses=beliefs+value          the same with the weights of a file
    search:ms=100,sharpness=0.5                          the same against a person, by its beliefs
    random, beginner, casual, regular, skilled, expert   the bots
    policy                                               the game's playout policy, without a search
    search@HEAD:ms=100                                   the search of a git revision
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ai.results import Parameters
from ai.search import search
from ai.strengths import STRENGTHS, Strength, random_action
from engine.game import Game, SeatView
from engine.model import Model, learned, nothing
from engine.playout_policy import PlayoutPolicy
from engine.sampler import Sampler
from lab.player import Choice, ConfigurationError, Player, shares_of

LEARNED, NO_MODEL = "learned", "none"
LIMITS = {"iterations": int, "ms": int}
TRUTHS = {"true": True, "false": False}


@dataclasses.dataclass(frozen=True)
class BotPlayer:
    """A bot of the server."""

    strength: Strength

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        if not self.strength.iterations:
            shares = tuple((action, 1 / len(legal)) for action in legal)
            return Choice(random_action(legal, chance), 0, shares)
        result = search(
            view,
            iterations=self.strength.iterations,
            seed=chance % 2**64,
            parameters=Parameters(temperature=self.strength.temperature(view.game)),
            model=learned(view.game),
        )
        return Choice(result.action, result.iterations, shares_of(result.actions))


@dataclasses.dataclass(frozen=True)
class SearchPlayer:
    """The search that answers hints."""

    iterations: int
    seconds: float
    threads: int
    parameters: Parameters
    model: str = LEARNED  # Or NO_MODEL, or the file of one.
    uses: tuple[str, ...] | None = None  # Of the model; None: as it says.
    sharpness: float = 1.0  # How sharply it foresees the opponent (Model.against).

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        result = search(
            view,
            iterations=self.iterations,
            seconds=self.seconds,
            threads=self.threads,
            seed=chance % 2**64,
            parameters=self.parameters,
            model=self._model(view.game),
        )
        return Choice(result.action, result.iterations, shares_of(result.actions))

    def _model(self, game: Game) -> Model | None:
        if self.model == NO_MODEL:
            return nothing(game)
        model = learned(game) if self.model == LEARNED else _read_model(self.model, self.uses, game)
        return None if model is None else model.against(self.sharpness)


@cache
def _read_model(path: str, uses: tuple[str, ...] | None, game: Game) -> Model:
    return Model.read(Path(path), game, uses)


@dataclasses.dataclass(frozen=True)
class PolicyPlayer:
    """The game's playout policy, without a search."""

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        # A policy chooses by what its seat can know, so any world that fits will do.
        world = Sampler.of(view).sample(chance % 2**64)
        return Choice(
            PlayoutPolicy.of(view.game).action(world, view.seat, chance >> 64 & 2**64 - 1), 0
        )


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A player in words.

    `Configuration.read` checks the words; each worker process makes the player for itself.
    """

    text: str

    @classmethod
    def read(cls, text: str) -> "Configuration":
        """Reads a configuration; raises ConfigurationError."""
        one = cls(text.strip())
        if one.name not in KINDS and one.name not in STRENGTHS:
            known = ", ".join([*KINDS, *STRENGTHS])
            raise ConfigurationError(f"there is no player {one.name!r}: known are {known}")
        if one.revision and one.name != "search":
            raise ConfigurationError(f"{one}: only search can be of a revision")
        if "@" in one.text and not one.revision:
            raise ConfigurationError(f"{one}: names no revision after @")
        if one.revision:
            one.limits(one.take(LIMITS, others=True))
        else:
            one.player()
        return one

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The kind of player."""
        return self.text.partition(":")[0].partition("@")[0]

    @property
    def revision(self) -> str:
        """The git revision whose code plays; empty for this checkout."""
        return self.text.partition(":")[0].partition("@")[2]

    @cached_property
    def options(self) -> dict[str, str]:
        """The options as they are written; raises ConfigurationError."""
        found: dict[str, str] = {}
        for part in filter(None, self.text.partition(":")[2].split(",")):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not (key and equals and value):
                raise ConfigurationError(f"{self}: {part!r} is not NAME=VALUE")
            if key in found:
                raise ConfigurationError(f"{self}: {key} is given twice")
            found[key] = value
        return found

    @property
    def threads(self) -> int:
        """How many threads the search uses."""
        return int(self.options.get("threads", "1"))

    @property
    def timed(self) -> bool:
        """Whether a limit is in milliseconds, so that play depends on how busy the machine is."""
        return "ms" in self.options

    def player(self) -> Player:
        """Makes the player; raises ConfigurationError."""
        if self.revision:
            from lab.revision import RevisionPlayer, build

            return RevisionPlayer(build(self.revision), self.options)
        if self.name in STRENGTHS:
            self.take({})
            return BotPlayer(STRENGTHS[self.name])
        return KINDS[self.name](self)

    def take(self, types: Mapping[str, Any], others: bool = False) -> dict[str, Any]:
        """The values of the options in `types`.

        Raises ConfigurationError for a wrong value and, unless `others` are allowed, for any other
        option.
        """
        values = {}
        for key, value in self.options.items():
            if key not in types and others:
                continue
            if key not in types:
                known = ", ".join(types) or "none"
                raise ConfigurationError(f"{self}: {key} is no option of {self.name}: {known}")
            values[key] = self._value(key, value, types[key])
        return values

    def limits(self, values: dict[str, Any]) -> tuple[int, float]:
        """Takes the limits out of the values: iterations and seconds, at least one above 0."""
        iterations, ms = values.pop("iterations", 0), values.pop("ms", 0)
        if iterations <= 0 and ms <= 0:
            raise ConfigurationError(f"{self}: needs a limit above 0: iterations=N or ms=N")
        return iterations, ms / 1000

    def _value(self, key: str, text: str, kind: Any) -> Any:
        choices = typing.get_args(kind) or (kind,)
        if type(None) in choices and text == "none":
            return None
        try:
            return TRUTHS[text] if bool in choices else choices[0](text)
        except (KeyError, ValueError):
            what = {int: "a whole number", float: "a number"}.get(choices[0], "true or false")
            raise ConfigurationError(f"{self}: {key}={text} is not {what}") from None


def _search(configuration: Configuration) -> Player:
    parameters = typing.get_type_hints(Parameters)
    options = {"threads": int, "model": str, "uses": str, "sharpness": float}
    values = configuration.take({**LIMITS, **options, **parameters})
    iterations, seconds = configuration.limits(values)
    threads = values.pop("threads", 1)
    if threads < 1:
        raise ConfigurationError(f"{configuration}: threads must be 1 or more")
    model, uses = values.pop("model", LEARNED), values.pop("uses", None)
    sharpness = values.pop("sharpness", 1.0)
    if not 0 <= sharpness <= 1:
        raise ConfigurationError(f"{configuration}: sharpness must be from 0 to 1")
    if model not in (LEARNED, NO_MODEL) and not Path(model).is_file():
        raise ConfigurationError(f"{configuration}: there is no file {model}")
    if uses is not None and model in (LEARNED, NO_MODEL):
        raise ConfigurationError(f"{configuration}: uses needs model=FILE")
    return SearchPlayer(
        iterations,
        seconds,
        threads,
        Parameters(**values),
        model,
        None if uses is None else tuple(filter(None, uses.split("+"))),
        sharpness,
    )


def _policy(configuration: Configuration) -> Player:
    configuration.take({})
    return PolicyPlayer()


KINDS: dict[str, Callable[[Configuration], Player]] = {"policy": _policy, "search": _search}
