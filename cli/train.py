"""`croupier train`: learns from self-play what a game's model knows, or a best response."""

import argparse
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli import arguments
from cli.arguments import Commands, UsageError
from croupier.files import write_whole
from engine import games
from engine.features import Features
from engine.model import FILE, Model, ModelError
from lab import workers
from lab.player import ConfigurationError

if TYPE_CHECKING:
    from lab.training.training import Settings

POLICY_MATCHES = 60_000
GATE, SPRT = "iterations=1000", (0.0, 15.0)
GATE_GAMES, AGAINST_GAMES = 10_000, 2_000
# Options of a training that a best response does not have.
NOT_AGAINST = ("--from", "--policy-matches", "--gate", "--sprt")

OPTIONS = f"""
--folder DIR (build/training/GAME, or GAME-against-served beside it)
    where to keep what is done so far, and the model
--seed N [0]
    the seed of all chance
--matches N [1000]
    matches of a generation
--generations N [2]
    of matches: the first by the playout policy of the game, each later one by the model so far
--from FILE
    a model to begin from: the first generation plays by it, too
--against served
    learn a best response: the learner begins from the model of the game, plays all matches against
    the search with that model, which stays as it is, and learns from how the opponent decides and
    how matches end. Of what it learns it keeps what gains, and prints how much it gains in a match
    in the end: a best response gains at least so much
--iterations N [5000]
    of each search in these matches
--policy-matches N ({POLICY_MATCHES})
    quick matches, without a search, that a net for values learns from first
--uses USE,... (all that the game has)
    what a model may be used for, in the order in which it is tried
--gate LIMIT ({GATE})
    of each search in the matches that a use has to pass: iterations=N, or ms=N to compare at equal
    time, which depends on the machine
--gate-games N
    the most games of a use; one that has not passed by then is left out (default: {GATE_GAMES}).
    With --against, all games of each use and of the measurement in the end (default:
    {AGAINST_GAMES})
--sprt ELO0,ELO1 (0,15)
    a use passes when a sequential test accepts the second difference in Elo, at a risk of 5 %
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "train",
        help="learn from matches of the search against itself",
        description="Plays matches of the search against itself, fits to its answers how likely "
        "each action is and to their ends what a position is worth, and plays matches to find out "
        "which uses of that make the search stronger. Those that do make a model, which is written "
        "to the folder. More generations play by the model and renew its net for values. Ctrl-C "
        "ends it; the same command continues it. With --against served, a learner "
        "plays against hints as they are served instead, and what it gains tells how exploitable "
        "they are.",
        epilog="A model that is copied to the folder of its game, games/GAME/play/weights.json, is "
        "used for hints and bots. One that was learned --against served fits this opponent: "
        "compare it first, by `croupier arena`.",
    )
    what = "the game: one with a file games/GAME/play/features.pyx"
    parser.add_argument("game", metavar="GAME", help=what)
    whole = arguments.whole
    types: dict[str, Any] = {"N": whole(1), "--seed": whole(), "--policy-matches": whole()}
    types |= {"--gate-games": arguments.even, "--sprt": arguments.ascending}
    more = {
        "--from": {"dest": "begin_from"},
        "--against": {"choices": ("served",), "metavar": None},
    }
    arguments.declare(parser, OPTIONS, types, more)
    workers.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains as the command line says."""
    if not find_spec("scipy"):
        raise UsageError("train needs SciPy: pip install 'croupier-server[train]'")
    # Imported here because SciPy is optional and takes a second to import.
    from lab.training.response import Response
    from lab.training.state import StateError
    from lab.training.training import Settings, Training

    game_id = args.game.replace("-", "_")
    known = [each for each, game in games().items() if Features.of(game()) is not None]
    if game_id not in known:
        raise UsageError(f"{args.game} is no game that can be trained: {', '.join(known)}")
    features = Features.of(games()[game_id]())
    assert features is not None
    elo0, elo1 = args.sprt or SPRT
    if args.against:
        given = (args.begin_from, args.policy_matches, args.gate, args.sprt)
        for option, value in zip(NOT_AGAINST, given, strict=True):
            if value is not None:
                raise UsageError(f"{option} does not go with --against {args.against}")
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
        policy_matches=POLICY_MATCHES if args.policy_matches is None else args.policy_matches,
        uses=tuple(args.uses.split(",")) if args.uses else features.uses,
        gate_limit=args.gate or GATE,
        gate_games=args.gate_games or (AGAINST_GAMES if args.against else GATE_GAMES),
        elo0=elo0,
        elo1=elo1,
        begun_from=begin_from.name if begin_from else "",
    )
    name = f"{game_id}-against-{args.against}" if args.against else game_id
    folder = args.folder or Path("build/training", name)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tell = workers.Teller(sys.stdout)
    try:
        training = (
            Response(settings, folder, args.workers, tell)
            if args.against
            else Training(settings, folder, args.workers, tell, begin_from)
        )
        model = training.run()
    except KeyboardInterrupt:
        print(f"interrupted; the same command continues in {folder}")
        return 130
    except (ConfigurationError, StateError, ValueError) as error:
        raise UsageError(str(error)) from error
    if model is None:
        print("no use has passed, so there is no model")
        return 1
    path = folder / FILE
    write_whole(path, model.write().encode())
    print(f"{model.name} for {', '.join(model.uses)}: {path}")
    if args.against:
        _print_gain(settings, model)
    return 0


def _print_gain(settings: "Settings", model: Model) -> None:
    for gate in model.provenance["gates"]:
        print(f"generation {gate['generation']}, {gate['use']}: {_points(gate)}")
    against = model.provenance["against"]
    print(
        f"A learner of {against['matches']:,} matches gains {_points(against)} a match of 100, in "
        f"{sum(against['games']):,} other matches against {against['model']}, "
        f"{settings.iterations:,} iterations each."
    )
    print(
        "This is a LOWER bound: a best response gains at least so much, up to chance, and a figure "
        "around 0 does not say that nothing can be gained."
    )


def _points(figures: dict[str, Any]) -> str:
    estimate, low, high = figures["points"]
    return f"{estimate:+.1f} points (95 %: {low:+.1f} to {high:+.1f})"
