"""A training: generations of matches, a fit, and gates for what was learned.

The first generation plays by the playout policy of the game, learns how the search decides and what
positions are worth, and tries the uses of that one by one. Each later one plays by the model so
far, and renews its net from these matches, so that values are those of stronger and stronger play.

A better loss need not be better play. So each use of a model, and each new net, has to pass a gate:
matches in the arena, of the search with it against the search without it, until a sequential test
decides. What passes is kept, and is what the next is measured against. A model has the uses that
passed; without any there is no model.
"""

from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from croupier.files import write_whole
from engine import games
from engine.features import Features
from engine.game import Game
from engine.model import VALUE, Model
from lab import arena, elo
from lab.arena import Pair, Pairing, Result
from lab.players import NO_MODEL, Configuration
from lab.training import policies, self_play, values
from lab.training.state import State
from lab.workers import in_order

MATCHES, FIT, CANDIDATE = "matches.jsonl", "fit.json", "candidate.json"
NET = "net.json"
PRESENT = "present.json"  # The model that a later generation plays by.
NOT_SETTINGS = {"gate_games", "generations"}  # There may be more later.

Tell = Callable[[str], object]


class Settings(NamedTuple):
    """What the result of a training depends on."""

    game_id: str
    seed: int
    generations: int
    matches: int  # Of each generation.
    iterations: int  # Of each search in these matches.
    policy_matches: int  # Of the playout policy, for a net.
    uses: tuple[str, ...]  # In the order in which they are tried.
    gate_limit: str  # Of each search in a gate, as the arena writes it: iterations=1000, ms=20.
    gate_games: int  # The most games of a gate.
    elo0: float
    elo1: float
    begun_from: str = ""  # The name of the model that the first generation renews; "": none.
    against: str = ""  # That of the model of a fixed opponent; "": the search plays itself.


class Training:
    """One training, in a folder."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        workers: int | None,
        tell: Tell,
        begin_from: Model | None = None,
    ) -> None:
        """`tell` is called with each line of progress.

        Raises StateError, ConfigurationError (for the limit of the gates) and ValueError.

        Without a model to begin from, the first generation learns from nothing.
        """
        self.settings = settings
        self._begin_from = begin_from
        self._workers = workers
        self._tell = tell
        self._game, self._features = _described(settings)
        Configuration.read(f"search:{settings.gate_limit}")
        if begin_from is not None and VALUE not in settings.uses:
            raise ValueError(f"of a model to begin from, {VALUE} alone is renewed")
        kept = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in settings._asdict().items()
            if name not in NOT_SETTINGS
        }
        self._folder = folder
        self._settings_kept = kept
        self._generation = 0
        self._begin(1)

    def run(self) -> Model | None:
        """Trains; returns the model with all that passed its gate, None if nothing did."""
        model = self._begin_from
        for generation in range(1, self.settings.generations + 1):
            if generation > 1 and (model is None or VALUE not in self.settings.uses):
                break  # Later generations renew a net.
            self._begin(generation)
            model = self._first() if model is None else self._renew(model)
        return model

    def _begin(self, generation: int) -> None:
        self._generation = generation
        self._state = self._of(generation)

    def _of(self, generation: int) -> State:
        return State(self._folder / f"generation-{generation}", self._settings_kept)

    def _first(self) -> Model | None:
        matches = self._play_matches("")
        fitted = self._fit(matches)
        net = self._fit_net(matches, None) if VALUE in self.settings.uses else None
        if net:
            fitted["losses"][VALUE] = net["losses"]
        layers = net and net["layers"]
        uses = self.settings.uses
        path = self._write(
            CANDIDATE,
            Model(self._game, fitted["weights"], uses, self._made(fitted["losses"], []), layers),
        )
        passed: list[str] = []
        gates = []
        for use in uses:
            with_use = f"model={path},uses={'+'.join([*passed, use])}"
            # Not against the model that the game may have: the same seed gives the same file.
            without = f"model={path},uses={'+'.join(passed)}" if passed else f"model={NO_MODEL}"
            gates.append({"use": use, "against": list(passed)} | self._gate(use, with_use, without))
            if gates[-1]["verdict"] == "elo1":
                passed.append(use)
        if not passed:
            return None
        return Model(
            self._game,
            fitted["weights"] if set(passed) - {VALUE} else {},
            passed,
            self._made(fitted["losses"], gates),
            layers if VALUE in passed else None,
        )

    def _renew(self, model: Model) -> Model:
        present = self._write(PRESENT, model)
        net = self._fit_net(self._matches_so_far(present), model)
        uses = [use for use in self._features.uses if use in (*model.uses, VALUE)]

        def renewed(gates: list[dict[str, Any]]) -> Model:
            made = self._made({VALUE: net["losses"]}, gates)
            made["from"] = {"model": model.name, "provenance": model.provenance}
            return Model(self._game, model.weights, uses, made, net["layers"])

        path = self._write(CANDIDATE, renewed([]))
        gate = self._gate(VALUE, f"model={path}", f"model={present}")
        gate = {"use": VALUE, "against": list(model.uses)} | gate
        return renewed([gate]) if gate["verdict"] == "elo1" else model

    def _write(self, name: str, model: Model) -> Path:
        path = self._state.folder / name
        write_whole(path, model.write().encode())
        return path

    def _matches_so_far(self, model: Path) -> list[dict[str, Any]]:
        # The matches of earlier generations still say how much each card is worth.
        before = [
            match
            for generation in range(1, self._generation)
            for match in self._of(generation).lines(MATCHES)
        ]
        return [*before, *self._play_matches(str(model))]

    def _play_matches(self, model: str) -> list[dict[str, Any]]:
        settings = self.settings
        played = list(self._state.lines(MATCHES))
        tasks = [
            self_play.Task(
                settings.game_id,
                self._seed,
                number,
                settings.iterations,
                model,
                bool(settings.against),
            )
            for number in range(len(played), settings.matches)
        ]
        with in_order(self_play.play, tasks, self._workers) as results:
            for match in results:
                self._state.add_line(MATCHES, match)
                played.append(match)
                self._tell(
                    f"generation {self._generation}: match {len(played)} of {settings.matches}"
                )
        return played[: settings.matches]

    def _fit(self, matches: Sequence[dict[str, Any]], name: str = FIT) -> dict[str, Any]:
        done: dict[str, Any] | None = self._state.read(name)
        if done is None:
            self._tell("fitting")
            weights, losses = policies.fit(self._game, self._features, matches)
            done = {"weights": weights, "losses": _rounded(losses)}
            self._state.write(name, done)
        return done

    def _fit_net(
        self,
        matches: Sequence[dict[str, Any]],
        model: Model | None,
        begin_from: dict[str, list[int]] | None = None,
    ) -> dict[str, Any]:
        done: dict[str, Any] | None = self._state.read(NET)
        if done is None:
            self._tell("fitting the net")
            game, features = self._game, self._features
            fitted, held_out = (
                values.of_matches(
                    game,
                    features,
                    model,
                    [each for each in matches if policies.is_held_out(each["match"]) == out],
                )
                for out in (False, True)
            )
            by_policy = values.of_policy(
                game, features, model, self.settings.policy_matches, self._seed
            )
            inputs = len(features.inputs)
            layers = values.learn(by_policy, fitted, inputs, self._seed, begin_from)
            losses = {
                "positions": len(fitted.rows),
                "held_out": len(held_out.rows),
                "present": values.present_loss(held_out),
                "fitted": values.loss(layers, inputs, held_out),
            }
            done = {"layers": layers, "losses": _rounded(losses)}
            self._state.write(NET, done)
        return done

    @property
    def _seed(self) -> int:
        return self.settings.seed + self._generation - 1

    def _gate(self, use: str, first: str, second: str) -> dict[str, Any]:
        settings = self.settings
        sprt = elo.Sprt(settings.elo0, settings.elo1)
        result = self._play_games(f"gate-{use}", first, second, settings.seed, sprt)
        estimate, low, high = elo.elo(result.outcomes)
        won, drawn, lost = result.wins_draws_losses()
        return {
            "limit": settings.gate_limit,
            "seed": settings.seed,
            "games": [won, drawn, lost],
            "elo": _rounded([estimate, low, high]),
            "sprt": list(sprt),
            "llr": round(sprt.llr(result.outcomes), 2),
            "verdict": sprt.verdict(result.outcomes),
        }

    def _play_games(
        self, name: str, first: str, second: str, seed: int, sprt: elo.Sprt | None = None
    ) -> Result:
        # Of the search with one model against that with another. Games that were interrupted go on
        # where they were.
        settings = self.settings
        one, other = (
            Configuration.read(f"search:{settings.gate_limit},{each}") for each in (first, second)
        )
        pairing = Pairing(settings.game_id, one, other)
        result = Result(pairing, seed, sprt)
        for scores in self._state.lines(f"{name}.jsonl"):
            number = len(result.pairs)
            result.add(Pair(number, tuple(scores), (0, 0), (arena.Effort(), arena.Effort())))
        pairs = settings.gate_games // 2
        if len(result.pairs) < pairs and not (sprt and sprt.verdict(result.outcomes)):

            def add(result: Result) -> None:
                self._state.add_line(f"{name}.jsonl", result.pairs[-1].scores)
                points = f"{elo.points(result.outcomes).estimate:+.1f} points"
                llr = f", LLR {sprt.llr(result.outcomes):.2f}" if sprt else ""
                games = f"{2 * len(result.pairs)} games"
                self._tell(f"generation {self._generation}, {name}: {games}, {points}{llr}")

            arena.run(
                pairing,
                pairs=pairs,
                seed=seed,
                sprt=sprt,
                workers=self._workers,
                on_pair=add,
                result=result,
            )
        return result

    def _made(self, losses: dict[str, Any], gates: Sequence[dict[str, Any]]) -> dict[str, Any]:
        # The provenance of a model. Without a date or a machine, so that the same training writes
        # the same file.
        settings = self.settings
        return {
            "version": metadata.version("croupier-server"),
            "seed": self._seed,
            "matches": settings.matches,
            "iterations": settings.iterations,
            "policy_matches": settings.policy_matches,
            "losses": losses,
            "gates": list(gates),
        }


def _described(settings: Settings) -> tuple[Game, Features]:
    game = games()[settings.game_id]()
    features = Features.of(game)
    if features is None:
        raise ValueError(f"{game.id} has no features to learn from (engine/{game.id}/features.pyx)")
    for use in settings.uses:
        if use not in features.uses:
            raise ValueError(f"{use} is no use of a model of {game.id}: {', '.join(features.uses)}")
    return game, features


def _rounded(figures: Any) -> Any:
    # An infinite figure, or one of nothing, is null.
    if isinstance(figures, dict):
        return {name: _rounded(value) for name, value in figures.items()}
    if isinstance(figures, list):
        return [_rounded(value) for value in figures]
    if isinstance(figures, float):
        return round(figures, 4) if abs(figures) < float("inf") else None
    return figures
