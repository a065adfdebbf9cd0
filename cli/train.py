"""`croupier train`: learns from self-play what a game's model knows."""

import argparse
import signal
import time
from importlib.util import find_spec
from pathlib import Path

from cli import arguments
from cli.arguments import Commands, UsageError
from engine import games
from engine.features import Features
from engine.model import FILE, Model, ModelError
from lab import workers
from lab.player import ConfigurationError
from lab.workers import RayCluster, WorkersError

TELL_EVERY = 10.0  # Seconds between lines of progress.


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "train",
        help="learn from matches of the search against itself",
        description="Plays matches of the search against itself, fits to its answers how likely "
        "each action is and to their ends what a position is worth, and plays matches to find out "
        "which uses of that make the search stronger. Those that do make a model, which is written "
        "to the folder. More generations play by the model and renew its net for values. Ctrl-C "
        "ends it; the same command continues it.",
        epilog="A model that is copied to the folder of its game, engine/GAME/weights.json, is "
        "used for hints and bots.",
    )
    add = parser.add_argument
    add("game", metavar="GAME", help="the game: one with a file engine/GAME/features.pyx")
    add(
        "--folder",
        metavar="DIR",
        type=Path,
        help="where to keep what is done so far, and the model (default: build/training/GAME)",
    )
    add("--seed", metavar="N", type=int, default=0, help="the seed of all chance (default: 0)")
    add(
        "--matches",
        metavar="N",
        type=arguments.whole(1),
        default=1000,
        help="matches of a generation (default: %(default)s)",
    )
    add(
        "--generations",
        metavar="N",
        type=arguments.whole(1),
        default=2,
        help="of matches: the first without a model, each later one by the model so far (default: "
        "%(default)s)",
    )
    add(
        "--from",
        dest="begin_from",
        metavar="FILE",
        type=Path,
        help="a model to begin from: the first generation plays by it, too",
    )
    add(
        "--iterations",
        metavar="N",
        type=arguments.whole(1),
        default=5000,
        help="of each search in these matches (default: %(default)s)",
    )
    add(
        "--policy-matches",
        metavar="N",
        type=arguments.whole(0),
        default=60_000,
        help="quick matches, without a search, that a net for values learns from first (default: "
        "%(default)s)",
    )
    add(
        "--uses",
        metavar="USE,...",
        help="what a model may be used for, in the order in which it is tried (default: all that "
        "the game has)",
    )
    add(
        "--gate",
        metavar="LIMIT",
        default="iterations=1000",
        help="of each search in the matches that a use has to pass: iterations=N, or ms=N to "
        "compare at equal time, which depends on the machine (default: %(default)s)",
    )
    add(
        "--gate-games",
        metavar="N",
        type=arguments.even,
        default=10_000,
        help="the most games of a use; one that has not passed by then is left out (default: "
        "%(default)s)",
    )
    add(
        "--sprt",
        metavar="ELO0,ELO1",
        type=arguments.ascending,
        default=(0.0, 15.0),
        help="a use passes when a sequential test accepts the second difference in Elo, at a "
        "risk of 5 %% (default: 0,15)",
    )
    workers.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains as the command line says."""
    if not find_spec("scipy"):
        raise UsageError("train needs SciPy: pip install 'croupier-server[train]'")
    # Imported here because SciPy is optional and takes a second to import.
    from lab.training.state import StateError
    from lab.training.training import Settings, Training

    game_id = args.game.replace("-", "_")
    known = [each for each, game in games().items() if Features.of(game()) is not None]
    if game_id not in known:
        raise UsageError(f"{args.game} is no game that can be trained: {', '.join(known)}")
    features = Features.of(games()[game_id]())
    assert features is not None
    elo0, elo1 = args.sprt
    try:
        begin_from = args.begin_from and Model.read(args.begin_from, features.game)
    except ModelError as error:
        raise UsageError(str(error)) from error
    settings = Settings(
        game_id=game_id,
        seed=args.seed,
        generations=args.generations,
        matches=args.matches,
        iterations=args.iterations,
        policy_matches=args.policy_matches,
        uses=tuple(args.uses.split(",")) if args.uses else features.uses,
        gate_limit=args.gate,
        gate_games=args.gate_games,
        elo0=elo0,
        elo1=elo1,
        begun_from=begin_from.name if begin_from else "",
    )
    folder = args.folder or Path("build/training", game_id)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    played_by: int | RayCluster | None = None
    try:
        played_by = RayCluster(args.ray) if args.ray else args.workers or workers.processors()
        model = Training(settings, folder, played_by, _Teller(), begin_from).run()
    except KeyboardInterrupt:
        print(f"interrupted; the same command continues in {folder}")
        return 130
    except (ConfigurationError, StateError, ValueError, WorkersError) as error:
        raise UsageError(str(error)) from error
    finally:
        if isinstance(played_by, RayCluster):
            played_by.close()
    if model is None:
        print("no use has passed, so there is no model")
        return 1
    path = folder / FILE
    path.write_text(model.write())
    print(f"{model.name} for {', '.join(model.uses)}: {path}")
    return 0


class _Teller:
    # Prints a line of progress now and then.

    def __init__(self) -> None:
        self._told = 0.0

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._told >= TELL_EVERY:
            self._told = time.monotonic()
            print(text, flush=True)
