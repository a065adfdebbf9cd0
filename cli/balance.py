"""`croupier balance`: is a game fair, is it fun, and what does one number change?"""

import argparse
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cli import arguments
from cli.arguments import CommandError, Commands, UsageError
from engine import games
from engine.errors import RulesetError, RulesFault
from lab import arena, workers
from lab.player import ConfigurationError
from lab.players import Configuration

if TYPE_CHECKING:
    from lab.balance.study import Settings

ITERATIONS, TIMES = 1000, 4  # Of the player, and how many more the stronger one has.
TARGETS = ("first_seat=48..52", "starter=45..55", "cards=-5..5")

OPTIONS = f"""
--matches N [1000]
    matches under each ruleset
--player PLAYER [search:iterations={ITERATIONS}]
    who plays both seats, as `croupier arena` names players
--stronger PLAYER
    who plays it in one more pair for every 8 matches, to tell how much strength wins (default: a
    search with {TIMES} times the iterations, or nobody); none: nobody
--option CHANGE ...
    a change of the default ruleset: hand_size=6, cards.KING.defend=8, cards.Giant.attack*=1.3,
    cards.SPY.copies+=1, or a file with options or with a Ruleset of the API; can be repeated
--vary CHANGE ...
    compare with the same ruleset and this change, on the same deals; also rules_version=N
--until POINTS
    end a comparison once the difference of the first seat's score is known to so many points
--target KEY=LOW..HIGH ... ({" ".join(TARGETS)})
    what a figure should be, by its key in figures.jsonl; `cards` is what each card adds
--propose
    search for the fewest changes of numbers with which all targets hold
--seed N [0]
    the seed of all chance
--folder DIR (build/balance/GAME)
    where matches and reports are kept; the same command continues there
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "balance",
        help="measure how balanced a game is, and what one number changes",
        description="Plays matches of equal players and reports how fair, long and open they are, "
        "how much is luck, and what each card adds, with intervals of 95 %. With --vary, compares "
        "two rulesets on the same deals. Ctrl-C ends it with a report of the matches so far.",
    )
    parser.add_argument("game", metavar="GAME", help="any game of `croupier games`")
    types = {"--matches": arguments.whole(1), "--seed": arguments.whole()}
    arguments.declare(parser, OPTIONS, types | {"POINTS": arguments.fraction(0, 100)})
    workers.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays, and writes the report."""
    if not (find_spec("numpy") and find_spec("markdown_it")):
        raise UsageError("balance needs NumPy: pip install 'croupier-server[balance]'")
    # Imported here because NumPy is optional.
    from lab.balance.report import Report
    from lab.balance.study import Study
    from lab.balance.targets import Search, read
    from lab.training.state import StateError

    tell, proposal, ended = workers.Teller(sys.stderr), None, 0
    try:
        settings = _settings(args)
        processes = arena.workers_for([Configuration.read(settings.player)], args.workers)
        played = [arena.game_of(settings.game_id, each) for each in settings.rulesets]
        targets = [read(text, played) for text in args.target or TARGETS]
        if "stronger" in {each.key for each in targets} and (args.propose or not settings.stronger):
            raise UsageError("a target of stronger needs --stronger, and is not for --propose")
        folder = args.folder or Path("build/balance", settings.game_id)
        study = Study(settings, folder, processes)
        for path in (*folder.glob("figures.jsonl"), *folder.glob("report.*")):
            path.open("a").close()  # What cannot be written is told before hours of matches.
    except (ConfigurationError, RulesetError, StateError, ValueError) as error:
        raise UsageError(str(error)) from error
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        study.play(args.matches, args.until or 0.0, tell)
        if args.propose:
            proposal = Search(study, targets, args.matches, folder / "tried", tell).run()
    except (RulesFault, StateError) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        ended = 130
    report = Report(proposal.study if proposal else study, targets, bool(args.until), proposal)
    written = report.write(folder, plots=find_spec("matplotlib") is not None)
    print(report.title, *(f"- {sentence}" for sentence in report.sentences()), sep="\n")
    print(", ".join(map(str, written)))
    if ended:
        print("interrupted; the same command continues")
    return ended


def _settings(args: argparse.Namespace) -> "Settings":
    from lab.balance.study import Settings
    from lab.rulesets import changed

    game_id = args.game.replace("-", "_")
    if game_id not in games():
        raise UsageError(f"no game is called {args.game}; there are {', '.join(games())}")
    if args.propose and args.vary:
        raise UsageError("--propose and --vary do not go together")
    if args.until and not args.vary:
        raise UsageError("--until is for a comparison: it needs --vary")
    first = changed(game_id, args.option)
    rulesets = (first, changed(game_id, args.vary, first)) if args.vary else (first,)
    if args.vary and first == rulesets[-1]:
        print("--vary changes nothing: both rulesets are equal", file=sys.stderr, flush=True)
    read = Configuration.read(args.player)
    iterations = int(read.options.get("iterations", 0)) if read.name == "search" else 0
    usual = f"search:iterations={TIMES * iterations}" if iterations else "none"
    players = [args.player, "" if (args.stronger or usual) == "none" else args.stronger or usual]
    if args.vary or args.propose:
        # Choices are foreseen under the default ruleset alone, which would make one arm stronger.
        searches = [each.startswith("search") and "sharpness=" not in each for each in players]
        players = [each + ",sharpness=0" * of for each, of in zip(players, searches, strict=True)]
    list(map(Configuration.read, filter(None, players)))  # It refuses what is none.
    of = players[0], players[1], args.seed, rulesets
    return Settings(game_id, *of, by_net=rulesets == ("{}",) and not args.propose)
