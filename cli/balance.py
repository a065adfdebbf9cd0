"""`croupier balance`: is a game fair, is it fun, and what does one number change?"""

import argparse
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cli import arguments
from cli.arguments import Commands, UsageError
from engine import games
from engine.errors import RulesetError
from engine.model import learned
from lab import arena, workers
from lab.arena import workers_for
from lab.player import ConfigurationError
from lab.players import Configuration

if TYPE_CHECKING:
    from lab.balance.report import Report
    from lab.balance.study import Settings, Study
    from lab.balance.targets import Proposal, Target

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
        description="Plays matches of equal players and reports, with intervals of 95 %: how fair "
        "the seats are, how long and how open matches are, how much is luck, and what each card "
        "adds. With --vary, compares two rulesets on the same deals. Writes report.html, "
        "report.md, figures.jsonl and matches.jsonl. Ctrl-C ends it with a report of the matches "
        "so far; the same command continues it.",
    )
    parser.add_argument("game", metavar="GAME", help="any game of `croupier games`")
    whole = arguments.whole
    types = {"N": whole(1), "--seed": whole(), "POINTS": arguments.fraction(0, 100)}
    arguments.declare(parser, OPTIONS, types)
    workers.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays, and writes the report."""
    if not (find_spec("numpy") and find_spec("markdown_it")):
        raise UsageError("balance needs NumPy: pip install 'croupier-server[balance]'")
    # Imported here because NumPy is optional.
    from lab.balance.report import Report
    from lab.balance.study import Study
    from lab.balance.targets import read
    from lab.training.state import StateError

    try:
        settings = _settings(args)
        processes = workers_for([Configuration.read(settings.player)], args.workers)
        played = [arena.game_of(settings.game_id, each) for each in settings.rulesets]
        targets = [read(text, played) for text in args.target or TARGETS]
        folder = args.folder or Path("build/balance", settings.game_id)
        study = Study(settings, folder, processes)
        for path in (*folder.glob("figures.jsonl"), *folder.glob("report.*")):
            path.open("a").close()  # What cannot be written is told before hours of matches.
    except (ConfigurationError, RulesetError, StateError, ValueError) as error:
        raise UsageError(str(error)) from error
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tell, proposal, ended = workers.Teller(sys.stderr), None, 0
    try:
        study.play(args.matches, args.until or 0.0, tell)
        if args.propose:
            proposal, study = _propose(args, study, targets, folder, tell)
    except KeyboardInterrupt:
        ended = 130
    report = Report(study, targets, looked=bool(args.until), proposal=proposal)
    _tell(report, report.write(folder, plots=find_spec("matplotlib") is not None))
    if ended:
        print("interrupted; the same command continues")
    return ended


def _settings(args: argparse.Namespace) -> "Settings":
    from lab.balance.rulesets import changed
    from lab.balance.study import Settings

    game_id = args.game.replace("-", "_")
    if game_id not in games():
        raise UsageError(f"no game is called {args.game}; there are {', '.join(games())}")
    if args.propose and args.vary:
        raise UsageError("--propose and --vary do not go together")
    if args.until and not args.vary:
        raise UsageError("--until is for a comparison: it needs --vary")
    first = changed(game_id, args.option)
    rulesets = (first, changed(game_id, args.vary, first)) if args.vary else (first,)
    player, stronger = args.player, args.stronger
    if stronger is None:
        read = Configuration.read(player)
        iterations = int(read.options.get("iterations", 0)) if read.name == "search" else 0
        stronger = f"search:iterations={TIMES * iterations}" if iterations else "none"
    # A model is for the default ruleset alone, and would make one of two arms stronger.
    compared = bool(args.vary or args.propose) and learned(games()[game_id]()) is not None
    if compared:
        player, stronger = _without_model(player), _without_model(stronger)
    for each in {player, stronger} - {"none"}:
        Configuration.read(each)
    return Settings(game_id, player, "" if stronger == "none" else stronger, args.seed, rulesets)


def _without_model(player: str) -> str:
    if player.partition(":")[0] != "search" or "model=" in player:
        return player
    return f"{player},model=none"


def _propose(
    args: argparse.Namespace,
    study: "Study",
    targets: "list[Target]",
    folder: Path,
    tell: workers.Teller,
) -> "tuple[Proposal, Study]":
    # Returns what is proposed, and a study that compares it with what there is.
    from lab.balance.study import Study
    from lab.balance.targets import Search

    search = Search(study.settings, targets, args.matches, study.processes, tell)
    proposal = search.run()
    if not proposal.changes:
        return proposal, study
    rulesets = (study.settings.rulesets[0], proposal.ruleset)
    settings = study.settings._replace(rulesets=rulesets, stronger="")
    compared = Study(settings, folder / "proposal", study.processes)
    compared.play(args.matches, tell=tell)
    return proposal, compared


def _tell(report: "Report", paths: list[Path]) -> None:
    print(f"{report.title}: {report.study.count:,} matches")
    for sentence in report.sentences():
        print(f"- {sentence}")
    print(f"{', '.join(map(str, paths))}")
