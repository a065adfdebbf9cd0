"""`croupier arena`: plays matches between configurations, without a server."""

import argparse
import signal
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from ai.strengths import STRENGTHS
from cli import arguments
from cli.arguments import Commands, UsageError
from engine import games
from lab import arena, elo, workers
from lab.arena import Pairing, Result
from lab.player import ConfigurationError
from lab.players import Configuration
from lab.revision import build, folder_of

WIDTH = 100
ENDS = {"games": "all played", "interrupted": "interrupted"}

OPTIONS = f"""
--game GAME,...
    the games; "all" for all that are hosted
--games N [400]
    games of each pairing
--seed N [0]
    the seed of all chance
--sprt ELO0,ELO1
    stop a pairing when a sequential test accepts one of the differences in Elo, each at a risk of
    5 %
--aivat
    also print score and Elo by AIVAT, which takes luck out of the games
--aivat-playouts N [{arena.PLAYOUTS}]
    playouts of each position for AIVAT: more remove more luck
--json FILE
    write the results to a file
"""
PAIRINGS = """
--ladder
    play each player against the one before it; without players, the bots
--round-robin
    play each player against all others
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "arena",
        help="measure how strong players are, in matches",
        description="Plays matches between configurations, in pairs of games with the same deal "
        "and the seats exchanged, and says how much stronger the first is than the second. Ctrl-C "
        "ends it with the results so far.",
        epilog="A configuration is a player and its options: search:ms=100, "
        "search:iterations=2000,threads=2,exploration=0.7, "
        f"a bot ({', '.join(STRENGTHS)}), or the search of a git revision: search@HEAD:ms=100.",
    )
    parser.add_argument("players", metavar="PLAYER", nargs="*", help="a configuration")
    types = {"N": arguments.even, "--seed": int, "--sprt": arguments.ascending}
    types |= {"--aivat-playouts": arguments.whole(1), "--json": arguments.new_file}
    arguments.declare(parser, OPTIONS, types, {"--game": {"required": True}})
    workers.add_options(parser)
    arguments.add_no_color(parser)
    arguments.declare(parser.add_mutually_exclusive_group(), PAIRINGS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays as the command line says."""
    console = Console(highlight=False, color_system=None if args.no_color else "auto")
    if not console.is_terminal:
        console.width = WIDTH
    try:
        configurations = _configurations(args)
        pairings = arena.pairings(_game_ids(args.game), configurations, args.ladder)
        played_by = arena.workers_for(configurations, args.workers)
        for configuration in configurations:
            if configuration.revision:
                _build(configuration.revision, console)
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    results: list[Result] = []
    # Whatever ends the command, the results so far are reported.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for pairing in pairings:
            _play(pairing, args, played_by, console, results)
    finally:
        # Also after an error, so that hours of games are not lost with the last one.
        _report(results, args, console)
    return 0


# The settings


def _configurations(args: argparse.Namespace) -> list[Configuration]:
    texts = args.players
    if args.ladder and not texts:
        texts = list(STRENGTHS)
    if len(texts) < 2:
        raise UsageError("the arena needs two players")
    if len(texts) > 2 and not (args.ladder or args.round_robin):
        raise UsageError("more than two players need --ladder or --round-robin")
    return [Configuration.read(text) for text in texts]


def _game_ids(text: str) -> list[str]:
    known = games()
    if text == "all":
        return [game_id for game_id, game in known.items() if not game.reference]
    names = [name.strip().replace("-", "_") for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no game {name!r}: known are {', '.join(known)}")
    return names


def _build(revision: str, console: Console) -> None:
    # Before the workers start, which would all build it.
    if not folder_of(revision).exists():
        console.print(f"Building {revision}; this takes a minute.")
    build(revision)


# Playing


def _play(
    pairing: Pairing,
    args: argparse.Namespace,
    played_by: int,
    console: Console,
    results: list[Result],
) -> None:
    sprt = None
    if args.sprt:
        elo0, elo1 = args.sprt
        sprt = elo.Sprt(elo0, elo1)
    result = Result(pairing, args.seed, sprt)
    results.append(result)
    pairs = args.games // 2
    tell = workers.Teller(sys.stdout)

    def show(result: Result) -> None:
        if len(result.pairs) < pairs:
            tell(f"{2 * len(result.pairs)} games, {_running(result)}")

    arena.run(
        pairing,
        pairs=pairs,
        seed=args.seed,
        sprt=sprt,
        playouts=args.aivat_playouts if args.aivat else 0,
        workers=played_by,
        on_pair=show,
        result=result,
    )
    console.print("\n".join(_lines(result)), soft_wrap=True)


def _running(result: Result) -> str:
    text = f"Elo {_elo(result)}"
    if result.sprt:
        text += f", LLR {result.sprt.llr(result.outcomes):.2f}"
    return text


# The results


def _report(results: Sequence[Result], args: argparse.Namespace, console: Console) -> None:
    played = [result for result in results if result.pairs]
    if played and played[-1].ended == "interrupted":
        console.print("\n".join(_lines(played[-1])), soft_wrap=True)
    if len(played) > 1:
        console.print(_table(played))
    if args.json:
        arena.write_json(results, args.json)


def _lines(result: Result) -> list[str]:
    # In the format of fastchess.
    first, second = result.pairing.first, result.pairing.second
    figures = result.statistics()
    lines = [f"{result.pairing.game_id}: {first} against {second}, {_end(result)}"]
    lines += [
        f"  Elo {_elo(result)}, score {_score(result)}",
        f"  games {figures['games']}: {figures['wins']} won, {figures['draws']} drawn, "
        f"{figures['losses']} lost; by seat "
        + ", ".join(f"{100 * share:.1f} %" for share in figures["score_by_seat"]),
    ]
    if result.playouts:
        corrected = result.corrected()
        lines.insert(
            2, f"  AIVAT: Elo {_shown_elo(corrected.elo)}, score {_shown_score(corrected.score)}"
        )
        ratio = corrected.variance_ratio
        lines.insert(
            3,
            f"  AIVAT: variance {'-' if ratio is None else f'{ratio:.2f}'} of the plain one, "
            f"coefficient {corrected.coefficient:.2f}, "
            f"{result.correction_share():.0%} of the processor time",
        )
    if "pentanomial" in figures:
        lines.append(f"  pairs by points 0, ½, 1, 1½, 2: {figures['pentanomial']}")
    if result.sprt:
        low, high = result.sprt.bounds
        lines.append(
            f"  SPRT of {result.sprt.elo0:g} against {result.sprt.elo1:g}: "
            f"LLR {figures['sprt']['llr']:.2f} ({low:.2f}, {high:.2f})"
        )
    for name, effort in zip((first, second), result.efforts(), strict=True):
        if effort.decisions and effort.seconds:
            lines.append(
                f"  {name}: {1000 * effort.seconds / effort.decisions:.1f} ms a decision, "
                f"{effort.iterations / effort.decisions:,.0f} iterations, "
                f"{effort.iterations / effort.seconds:,.0f} a second"
            )
    return lines


def _table(results: Sequence[Result]) -> Table:
    players = Column("Players", overflow="fold")
    table = Table("Game", players, "Games", "Score", "Elo, 95 %", "Ended")
    for result in results:
        first, second = result.pairing.first.text, result.pairing.second.text
        table.add_row(
            result.pairing.game_id,
            escape(f"{first}\n{second}"),
            str(2 * len(result.pairs)),
            _score(result).partition(" (")[0],
            _elo(result),
            _end(result),
        )
    return table


def _end(result: Result) -> str:
    sprt = result.sprt
    if sprt and result.ended in ("elo0", "elo1"):
        return f"SPRT accepts {getattr(sprt, result.ended):g} Elo"
    return ENDS[result.ended]


def _elo(result: Result) -> str:
    return _shown_elo(elo.elo(result.outcomes))


def _shown_elo(interval: elo.Interval) -> str:
    estimate, low, high = interval
    return f"{estimate:+.0f} ({low:+.0f} to {high:+.0f})"


def _score(result: Result) -> str:
    return _shown_score(elo.score(result.outcomes))


def _shown_score(interval: elo.Interval) -> str:
    estimate, low, high = (100 * value for value in interval)
    return f"{estimate:.1f} % ({low:.1f} to {high:.1f})"
