"""A baseline: a network learns a game by playing against itself.

    python train.py skystones --seeds 1 2 3 --plot curve.svg

The learner is PPO with masked actions, MaskablePPO of sb3-contrib. Now and then it is measured
against random play and against the search of the server's bots, which makes a line of JSON.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv

from adapters import encodings, vector
from engine import games
from engine.encoding import survey

MATCHES = 256  # Side by side, while it learns.
LEARNER = {
    "n_steps": 64,  # Of each match between two updates.
    "batch_size": 2048,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 1.0,  # A match counts by its end alone.
    "ent_coef": 0.003,
    "policy_kwargs": {"net_arch": [256, 256], "activation_fn": torch.nn.ReLU},
}
SEARCH = 100  # Iterations of a decision of the bots that it is measured against.
OPPONENTS = {"random": "random", "search": SEARCH}


class Matches(VecEnv):
    """`adapters.vector.VectorEnv` as the library wants it.

    A match that is over has one more step, which deals anew. The library hears of the end then, so
    it learns that a table at its end is worth nothing more.
    """

    render_mode = None

    def __init__(self, env: vector.VectorEnv) -> None:
        self.env = env
        super().__init__(env.num_envs, env.encoding.space, env.single_action_space)

    def reset(self) -> Any:
        seen, _ = self.env.reset(seed=self._seeds[0])
        self.mask, self.over = seen["action_mask"], np.zeros(self.num_envs, bool)
        return seen["observation"]

    def step_async(self, actions: Any) -> None:
        self.numbers = actions

    def step_wait(self) -> Any:
        dealt = self.over
        seen, rewards, self.over, _, _ = self.env.step(self.numbers)
        self.mask = seen["action_mask"]
        return seen["observation"], rewards, dealt, [{} for _ in dealt]

    def action_masks(self) -> Any:
        return self.mask

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        return getattr(self, method_name)(*args, **kwargs)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        pass


def learn(game: str, seed: int, steps: int, every: int, matches: int) -> Any:
    """Yields a measurement each time that it has learned from `every` decisions, and before."""
    coded = {"table": survey(games()[game]()), "encoding": encodings.survey(game)}

    def oneself(batch: Any, places: Any, seats: Any, rng: Any) -> Any:
        seen = coded["encoding"](np.asarray(batch.observations)[places, seats])
        return model.predict(seen, action_masks=np.asarray(batch.mask)[places, seats])[0]

    env = Matches(vector.env(game, MATCHES, oneself, **coded))
    model = MaskablePPO("MlpPolicy", env, seed=seed, **LEARNER)
    seconds = 0.0
    for learned in range(0, steps + 1, every):
        if learned:
            before = time.process_time()
            model.learn(every, reset_num_timesteps=False)
            seconds += time.process_time() - before
        found = {"game": game, "seed": seed, "decisions": model.num_timesteps}
        for name, opponent in OPPONENTS.items():
            scores = measure(model, vector.env(game, matches, opponent, **coded), seed)
            error = scores.std() / len(scores) ** 0.5
            found |= {name: round(scores.mean(), 4), f"{name}_error": round(error, 4)}
        yield found | {"processor_seconds": round(seconds, 1)}


def measure(model: Any, env: vector.VectorEnv, seed: int) -> Any:
    """The scores of a match of each environment: 1 for a win, 0.5 for a draw, 0 for a loss."""
    seen, _ = env.reset(seed=seed)
    scores = np.full(env.num_envs, np.nan)
    while np.isnan(scores).any():
        numbers, _ = model.predict(seen["observation"], action_masks=seen["action_mask"])
        seen, rewards, over, _, _ = env.step(numbers)
        first = over & np.isnan(scores)
        scores[first] = (rewards[first] + 1) / 2
    return scores


def plot(lines: list[dict[str, Any]], path: str) -> None:
    """Draws the score by game and opponent against the decisions: each seed, and their mean."""
    from matplotlib import pyplot

    names = sorted({line["game"] for line in lines})
    figure, axes = pyplot.subplots(
        1, len(names), figsize=(4.5 * len(names), 3.2), sharey=True, squeeze=False
    )
    for axis, game in zip(axes[0], names, strict=True):
        for color, opponent in zip(("C0", "C1"), OPPONENTS, strict=True):
            own = [line for line in lines if line["game"] == game]
            curves = []
            for seed in sorted({line["seed"] for line in own}):
                points = [
                    (each["decisions"], each[opponent]) for each in own if each["seed"] == seed
                ]
                curves.append(np.array(points).T)
                axis.plot(*curves[-1], color=color, alpha=0.3, linewidth=1)
            label = "random play" if opponent == "random" else f"a search of {SEARCH}"
            axis.plot(*np.mean(curves, axis=0), color=color, label=f"against {label}")
        axis.axhline(0.5, color="gray", linewidth=0.5)
        axis.set(title=game.replace("_", " "), xlabel="decisions learned from", ylim=(0, 1))
    axes[0][0].set_ylabel("mean score")
    axes[0][0].legend(loc="lower right", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Learns, and draws the curve of all that was measured."""
    formats = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], formatter_class=formats)
    parser.add_argument("games", nargs="*", help="ids of games, such as skystones")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one training each")
    parser.add_argument("--decisions", type=int, default=2**18, help="to learn from")
    parser.add_argument("--every", type=int, default=2**16, help="decisions between measurements")
    parser.add_argument("--matches", type=int, default=400, help="of a measurement")
    parser.add_argument("--lines", type=Path, default="curve.jsonl", help="takes the measurements")
    parser.add_argument("--plot", metavar="FILE", help="a picture (.svg, .png) of all --lines")
    options = parser.parse_args()
    if not options.games and not options.plot:
        parser.error("name a game, or what to --plot")
    if missing := [game for game in options.games if game not in games()]:
        parser.error(f"there is no game {missing[0]!r}, only {', '.join(games())}")
    torch.set_num_threads(1)
    for game in options.games:
        for seed in options.seeds:
            for found in learn(game, seed, options.decisions, options.every, options.matches):
                print(json.dumps(found), flush=True)
                with options.lines.open("a") as file:
                    print(json.dumps(found), file=file)
    if options.plot:
        plot([json.loads(line) for line in options.lines.open()], options.plot)


if __name__ == "__main__":
    main()
