"""A learner of a best response to the search as it is served, and what it gains.

The opponent stays as it is: the search with the model of its game and a fixed number of iterations.
The learner is the search with as many iterations and a model of its own, which begins as that of
the opponent and is fitted to matches of both: its net to how these end, and the likelihoods of
choices, for the use `beliefs`, to the answers of the opponent alone. Of each fit, matches against
the opponent decide whether the learner keeps it; all have the same deals, so that luck cancels.
Its gain in the end comes from other matches, which chose nothing. This is a lower bound: a best
response gains at least as much, up to chance, whatever the learner has failed to learn.

    F. Timbers et al., "Approximate Exploitability: Learning a Best Response", IJCAI 2022: the same
    by deep reinforcement learning, where the learner also plans by a search.
"""

from pathlib import Path
from typing import Any

from engine import games
from engine.model import VALUE, Model, learned
from lab import elo
from lab.players import LEARNED
from lab.training.self_play import of_served
from lab.training.training import PRESENT, Settings, Tell, Training

BELIEFS = "beliefs"  # The use that is fitted to the answers of the opponent alone.


class Response(Training):
    """The training of a learner against the search as it is served, in a folder."""

    def __init__(self, settings: Settings, folder: Path, workers: int | None, tell: Tell) -> None:
        """As of `Training`; raises ValueError, too, if the opponent has no model to begin from."""
        served = learned(games()[settings.game_id]())
        if served is None:
            raise ValueError(f"{settings.game_id} has no model that is served")
        limit = f"iterations={settings.iterations}"
        settings = settings._replace(against=served.name, gate_limit=limit, policy_matches=0)
        super().__init__(settings, folder, workers, tell)
        self._served = served
        self._kept = 0.0  # The best gain in a gate. At first, the learner is its opponent.
        self._gates: list[dict[str, Any]] = []
        self._losses: dict[str, Any] = {}

    def run(self) -> Model:
        """Trains and measures; `provenance["against"]` of the model has what it gains."""
        model = self._served
        for generation in range(1, self.settings.generations + 1):
            self._begin(generation)
            model = self._improve(model)
        gain = self._gain("gain", model, self.settings.seed + 1)
        made = self._made(self._losses, self._gates)
        made["against"] = {
            "model": self._served.name,
            "matches": self.settings.generations * self.settings.matches,
            **gain,
        }
        made["from"] = {"model": self._served.name, "provenance": self._served.provenance}
        return Model(self._game, model.weights, model.uses, made, model.net, model.calibration)

    def _improve(self, model: Model) -> Model:
        present = model
        matches = self._matches_so_far(self._write(PRESENT, present))
        for use in self.settings.uses:
            weights, net = model.weights, model.net
            if use == VALUE:
                fitted = self._fit_net(matches, present, present.net)
                net = fitted["layers"]
            else:
                answered = map(of_served, matches) if use == BELIEFS else matches
                fitted = self._fit(list(answered), f"fit-{use}.json")
                weights = fitted["weights"]
            self._losses[use] = fitted["losses"]
            candidate = Model(self._game, weights, {*model.uses, use}, net=net)
            gain = self._gain(f"gate-{use}", candidate, self.settings.seed)
            self._gates.append({"generation": self._generation, "use": use, **gain})
            if gain["points"][0] > self._kept:
                model, self._kept = candidate, gain["points"][0]
        return model

    def _gain(self, name: str, model: Model, seed: int) -> dict[str, Any]:
        path = self._write(f"{name}.json", model)  # A file that was read is not read again.
        result = self._play_games(name, f"model={path}", f"model={LEARNED}", seed)
        points = [round(each, 2) for each in elo.points(result.outcomes)]
        return {"seed": seed, "games": list(result.wins_draws_losses()), "points": points}
