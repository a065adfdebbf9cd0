"""What was learned of a game from matches, as data of the game.

A model is a file `play/weights.json` in the package of a game: whole numbers, one for each of the
game's features (engine/features.pyx), the layers of a net for values (engine/net.pyx), what play
uses them for, and where they come from. It was learned under the default ruleset, whose hash it
names. Uses that hold under another one (`Features.holding`) are by the same weights there,
since they are of features that tell what cards do and what their numbers are. `croupier train`
makes such files.
"""

import base64
import copy
import hashlib
import importlib
import json
import struct
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from engine.calibration import LIMIT, NONE, Calibration
from engine.features import SCALE, Features
from engine.game import Game
from engine.parts import package_of
from engine.position import Position

FORMAT = "croupier-model/2"
FILE = "weights.json"
MAX_BYTES = 400_000
MAX_WEIGHT = 1 << 16  # So that no sum of weighted features overflows.
NAME_DIGITS = 8
RULESETS = 64  # Other than the default one, whose models are kept.
BELIEFS = "beliefs"  # The use for which samplers foresee choices.
PLAYOUTS = "playouts"  # The use by which playout policies choose.
VALUE = "value"  # The use that needs a net.
STRETCH = "stretch"  # Of a calibration; its other numbers are the shifts at the game's moments.


class ModelError(ValueError):
    """A file of weights that cannot be used. The message names it."""


class Model:
    """The weights of one game under one ruleset, `game`, and what play uses them for."""

    def __init__(
        self,
        game: Game,
        weights: Mapping[str, Mapping[str, int]],
        uses: Collection[str],
        provenance: Mapping[str, Any] | None = None,
        net: Mapping[str, Sequence[int]] | None = None,
        calibration: Mapping[str, int] | None = None,
    ) -> None:
        """`weights` are by kind of decision, then by feature; `net` has the layers of a net.

        `calibration` has the stretch of its scores, by the name STRETCH, and the shift at each of
        the game's moments (engine/calibration.py), in units of 1 / SCALE; None: none was fitted. A
        model that is used for values alone needs no weights, any other no net. Raises ValueError.
        """
        self.weights = {kind: dict(named) for kind, named in weights.items()}
        described = Features.of(game)
        if described is None:
            raise ValueError(f"nothing is learned of {game.id}")
        named = {kind: tuple(weights) for kind, weights in self.weights.items()}
        if named != described.decisions and (named or set(uses) - {VALUE}):
            raise ValueError("the weights are not those of the game's features, in their order")
        for kind, of_kind in self.weights.items():
            for name, weight in of_kind.items():
                if type(weight) is not int or abs(weight) > MAX_WEIGHT:
                    raise ValueError(f"the weight of {kind}, {name}, is no whole number in range")
        if not set(uses) <= set(described.uses):
            raise ValueError(f"the uses must be among {', '.join(described.uses)}")
        if net is None and VALUE in uses:
            raise ValueError(f"the use {VALUE} needs a net")
        self.net = None if net is None else {name: list(layer) for name, layer in net.items()}
        self.calibration = None if calibration is None else dict(calibration)
        if self.calibration is not None:
            if self.calibration.keys() != {STRETCH, *described.moments}:
                raise ValueError("the calibration is not that of the game's moments")
            stretch, *shifts = map(self.calibration.__getitem__, (STRETCH, *described.moments))
            if any(type(each) is not int for each in (stretch, *shifts)):
                raise ValueError("the calibration has a number that is not whole")
            if abs(stretch) + max(map(abs, shifts), default=0) >= LIMIT * SCALE:
                raise ValueError("the calibration is so large that it turns scores around")
        self.uses = tuple(use for use in described.uses if use in uses)
        self.game = game
        self.game_id = game.id
        self.rules_version = game.rules_version
        self.ruleset = ruleset_hash(game)
        self.provenance = dict(provenance or {})
        self.features = Features.of(
            game,
            {kind: tuple(each.values()) for kind, each in self.weights.items()} or None,
            self.net,
        )
        # By what samplers foresee the choices of the opponent; None: they take these for uniform.
        self.foresight = self.features if BELIEFS in self.uses else None
        self._against: dict[float, Model] = {1.0: self}
        digest = hashlib.sha256(_canonical(self._played())).hexdigest()
        # Two models of one name play alike.
        self.name = f"{game.id}-{digest[:NAME_DIGITS]}"

    def against(self, sharpness: float) -> "Model":
        """The same model for an opponent who plays less well than the model foresees.

        A sampler then takes the likelihoods of the opponent's choices to the power of `sharpness`,
        from 0, which takes all choices for uniform, to 1. All else is as in this model. This is the
        quantal response of R. McKelvey, T. Palfrey, "Quantal Response Equilibria for Normal Form
        Games", Games and Economic Behavior 10(1), 1995.
        """
        if sharpness not in self._against:
            model = copy.copy(self)
            if self.foresight is not None:
                weights = {
                    kind: tuple(round(weight * sharpness) for weight in of_kind.values())
                    for kind, of_kind in self.weights.items()
                }
                model.foresight = Features.of(self.game, weights) if sharpness else None
            self._against[sharpness] = model
        return self._against[sharpness]

    def calibrated(self, position: Position, seat: int) -> Calibration:
        """What to make of the scores that a search foretells for a decision."""
        if self.calibration is None or self.features is None:
            return NONE
        moment = self.features.moment_of(position, seat)
        shift = 0 if moment is None else self.calibration[moment]
        return Calibration(shift / SCALE, self.calibration[STRETCH] / SCALE)

    def under(self, game: Game) -> "Model | None":
        """The model with its uses that hold under the ruleset of a game; None if none does."""
        if game.ruleset == self.game.ruleset:
            return self
        return _under(self, _canonical(game.ruleset))

    def _played(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "game": self.game_id,
            "rules_version": self.rules_version,
            "ruleset": self.ruleset,
            "uses": list(self.uses),
            "weights": self.weights,
            "net": None if self.net is None else _packed(self.net),
            **({} if self.calibration is None else {"calibration": self.calibration}),
        }

    def write(self) -> str:
        """The text of its file."""
        document = {**self._played(), "provenance": self.provenance}
        return json.dumps(document, indent=1, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path, game: Game, uses: Collection[str] | None = None) -> "Model":
        """Reads a file for a game under any ruleset; `uses` replaces those in the file.

        Raises ModelError.
        """
        learned_of = type(game)()
        try:
            data = path.read_bytes()
            if len(data) > MAX_BYTES:
                raise ValueError(f"has more than {MAX_BYTES:,} bytes")
            document = json.loads(data)
            if not isinstance(document, dict) or document.get("format") != FORMAT:
                raise ValueError(f"is not of the format {FORMAT}")
            for key, expected in (
                ("game", game.id),
                ("rules_version", game.rules_version),
                ("ruleset", ruleset_hash(learned_of)),
            ):
                if document.get(key) != expected:
                    raise ValueError(f"is for another {key}: {document.get(key)}, not {expected}")
            model = cls(
                learned_of,
                document["weights"],
                document["uses"] if uses is None else uses,
                document["provenance"],
                None if document["net"] is None else _unpacked(document["net"]),
                document.get("calibration") if uses is None else None,
            ).under(game)
            if model is None:
                raise ValueError("has no use under another ruleset")
            return model
        except KeyError as error:
            raise ModelError(f"{path}: has no {error}") from error
        except (OSError, AttributeError, TypeError, ValueError) as error:
            raise ModelError(f"{path}: {error}") from error


def learned(game: Game) -> Model | None:
    """What was learned of a game, for its ruleset; None if there is nothing.

    Raises ModelError if the file of the game cannot be used.
    """
    game_class: type = type(game)
    model = _of_default_ruleset(game_class)
    return None if model is None else model.under(game)


def nothing(game: Game) -> Model | None:
    """A model without a use, by which play is as if nothing had been learned; None as `learned`."""
    return None if Features.of(game) is None else Model(game, {}, ())


def file_of(game: type) -> Path | None:
    """The file of weights of a game; None if it has none."""
    package = importlib.import_module(package_of(game)).__file__
    path = Path(package or "").parent / "play" / FILE
    return path if path.is_file() else None


@cache
def _of_default_ruleset(game_class: type) -> Model | None:
    # Not an earlier version of the rules, which is kept in the same folder.
    if not game_class.__module__.endswith(".rules") or (path := file_of(game_class)) is None:
        return None
    return Model.read(path, game_class())


@lru_cache(RULESETS)
def _under(model: Model, ruleset: bytes) -> Model | None:
    game = type(model.game)(json.loads(ruleset))
    described = Features.of(game)
    uses = [use for use in model.uses if described and use in described.holding]
    weights = model.weights if set(uses) - {VALUE} else {}
    return Model(game, weights, uses, model.provenance, model.net) if uses else None


def ruleset_hash(game: Game) -> str:
    """The SHA-256 hash of a ruleset, in hexadecimal digits."""
    return hashlib.sha256(_canonical(game.ruleset)).hexdigest()


def _packed(net: Mapping[str, Sequence[int]]) -> dict[str, str]:
    # A layer as base64 of 16-bit numbers, the lower byte first.
    return {
        name: base64.b64encode(struct.pack(f"<{len(layer)}h", *layer)).decode()
        for name, layer in net.items()
    }


def _unpacked(packed: Mapping[str, str]) -> dict[str, list[int]]:
    net = {}
    for name, text in packed.items():
        data = base64.b64decode(text, validate=True)
        if len(data) % 2:
            raise ValueError(f"the layer {name} does not have whole numbers of 16 bits")
        net[name] = list(struct.unpack(f"<{len(data) // 2}h", data))
    return net


def _canonical(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
