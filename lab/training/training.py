"""A training: matches, a fit, and a gate for each use of what was learned.

A better loss need not be better play. So each use of a model has to pass a gate: matches in the
arena, of the search with that use against the search without it, until a sequential test decides. A
use that passes is kept, and is what the next one is measured against. A model has the uses that
passed; without any there is no model.
"""

from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from engine import games
from engine.features import Features
from engine.game import Game
from engine.model import Model
from lab import arena, elo
from lab.arena import Pair, Pairing, Result
from lab.players import NO_MODEL, Configuration
from lab.training import fit, hidden_cards, self_play
from lab.training.state import State
from lab.workers import RayCluster, in_order

MATCHES, FIT, CANDIDATE = "matches.jsonl", "fit.json", "candidate.json"
BELIEFS = "beliefs"  # The use for which the loss of the hidden cards is computed,
MATCHES_SEEN = 20  # in at most so many matches.
NOT_SETTINGS = {"gate_games"}  # More games may be allowed later.

Tell = Callable[[str], object]


class Settings(NamedTuple):
    """What the result of a training depends on."""

    game_id: str
    seed: int
    matches: int
    iterations: int  # Of each search in these matches.
    uses: tuple[str, ...]  # In the order in which they are tried.
    gate_limit: str  # Of each search in a gate, as the arena writes it: iterations=1000, ms=20.
    gate_games: int  # The most games of a gate.
    elo0: float
    elo1: float


class Training:
    """One training, in a folder."""

    def __init__(
        self, settings: Settings, folder: Path, workers: int | RayCluster, tell: Tell
    ) -> None:
        """`tell` is called with each line of progress. Raises StateError and ValueError."""
        self.settings = settings
        self._workers = workers
        self._tell = tell
        self._game = _described(settings)
        kept = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in settings._asdict().items()
            if name not in NOT_SETTINGS
        }
        self._state = State(folder, kept)

    def run(self) -> Model | None:
        """Trains; returns the model with the uses that passed their gates, None if none did."""
        matches = self._play_matches()
        fitted = self._fit(matches)
        candidate = Model(
            self._game, fitted["weights"], self.settings.uses, self._provenance(fitted, [])
        )
        path = self._state.folder / CANDIDATE
        path.write_text(candidate.write())
        passed: list[str] = []
        gates = []
        for use in self.settings.uses:
            record = self._gate(path, use, passed)
            gates.append(record)
            if record["verdict"] == "elo1":
                passed.append(use)
        if not passed:
            return None
        return Model(self._game, fitted["weights"], passed, self._provenance(fitted, gates))

    def _play_matches(self) -> list[dict[str, Any]]:
        settings = self.settings
        played = list(self._state.lines(MATCHES))
        tasks = [
            self_play.Task(settings.game_id, settings.seed, number, settings.iterations)
            for number in range(len(played), settings.matches)
        ]
        with in_order(self_play.play, tasks, self._workers) as results:
            for match in results:
                self._state.add_line(MATCHES, match)
                played.append(match)
                self._tell(f"match {len(played)} of {settings.matches}")
        return played[: settings.matches]

    def _fit(self, matches: Sequence[dict[str, Any]]) -> dict[str, Any]:
        done: dict[str, Any] | None = self._state.read(FIT)
        if done is None:
            features = Features.of(self._game)
            assert features is not None
            self._tell("fitting")
            weights, losses = fit.fit(self._game, features, matches)
            done = {"weights": weights, "losses": _rounded(losses)}
            if BELIEFS in self.settings.uses:
                done["losses"]["hidden cards"] = self._hidden_cards(weights, matches)
            self._state.write(FIT, done)
        return done

    def _hidden_cards(
        self, weights: dict[str, dict[str, int]], matches: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        model = Model(self._game, weights, [BELIEFS])
        seen = [
            match
            for match in matches
            if fit.is_held_out(match["match"]) and self_play.is_clean(match["match"])
        ][:MATCHES_SEEN]
        return {
            "matches": len(seen),
            "by_hand": _rounded(hidden_cards.loss(self._game, seen, None)),
            "weighted": _rounded(hidden_cards.loss(self._game, seen, model)),
        }

    def _gate(self, path: Path, use: str, passed: Sequence[str]) -> dict[str, Any]:
        # A gate that was interrupted goes on where it was.
        settings = self.settings
        name = f"gate-{use}.jsonl"
        limit = settings.gate_limit
        # Not against the model that the game may have: the same seed gives the same file.
        present = f"search:{limit},model={NO_MODEL}"
        if passed:
            present = f"search:{limit},model={path},uses={'+'.join(passed)}"
        with_use = f"search:{limit},model={path},uses={'+'.join([*passed, use])}"
        sprt = elo.Sprt(settings.elo0, settings.elo1)
        pairing = Pairing(
            settings.game_id, Configuration.read(with_use), Configuration.read(present)
        )
        result = Result(pairing, settings.seed, sprt)
        for scores in self._state.lines(name):
            number = len(result.pairs)
            result.add(Pair(number, tuple(scores), (0, 0), (arena.Effort(), arena.Effort())))
        pairs = settings.gate_games // 2
        if len(result.pairs) < pairs and not sprt.verdict(result.outcomes):

            def add(result: Result) -> None:
                self._state.add_line(name, result.pairs[-1].scores)
                llr = sprt.llr(result.outcomes)
                self._tell(f"gate of {use}: {2 * len(result.pairs)} games, LLR {llr:.2f}")

            arena.run(
                pairing,
                pairs=pairs,
                seed=settings.seed,
                sprt=sprt,
                workers=self._workers,
                on_pair=add,
                result=result,
            )
        estimate, low, high = elo.elo(result.outcomes)
        won, drawn, lost = result.wins_draws_losses()
        return {
            "use": use,
            "against": list(passed),
            "limit": limit,
            "seed": settings.seed,
            "games": [won, drawn, lost],
            "elo": _rounded([estimate, low, high]),
            "sprt": list(sprt),
            "llr": round(sprt.llr(result.outcomes), 2),
            "verdict": sprt.verdict(result.outcomes),
        }

    def _provenance(
        self, fitted: dict[str, Any], gates: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        # Without a date or a machine, so that the same training writes the same file.
        settings = self.settings
        return {
            "version": metadata.version("croupier-server"),
            "seed": settings.seed,
            "matches": settings.matches,
            "iterations": settings.iterations,
            "losses": fitted["losses"],
            "gates": list(gates),
        }


def _described(settings: Settings) -> Game:
    game = games()[settings.game_id]()
    features = Features.of(game)
    if features is None:
        raise ValueError(f"{game.id} has no features to learn from (engine/{game.id}/features.pyx)")
    for use in settings.uses:
        if use not in features.uses:
            raise ValueError(f"{use} is no use of a model of {game.id}: {', '.join(features.uses)}")
    return game


def _rounded(figures: Any) -> Any:
    # An infinite figure, or one of nothing, is null.
    if isinstance(figures, dict):
        return {name: _rounded(value) for name, value in figures.items()}
    if isinstance(figures, list):
        return [_rounded(value) for value in figures]
    if isinstance(figures, float):
        return round(figures, 4) if abs(figures) < float("inf") else None
    return figures
