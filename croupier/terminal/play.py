"""`croupier play`: a match against a bot in the terminal."""

import argparse
import re
import sys
from contextlib import suppress

import grpc
from rich.console import Console

from croupier.client import OPEN, Client, CroupierError, bot, clock
from croupier.terminal import drawing, options
from croupier.terminal.session import HINT_ITERATIONS, Left, Session
from croupier.v1.match_pb2 import BotStrength

SERVER = "127.0.0.1:50051"
WIDTH = 100
MAX_SECONDS = 60
CLOCK_SECONDS = range(1, 86401)
STRENGTHS = tuple(name.removeprefix("BOT_STRENGTH_").lower() for name in BotStrength.keys()[1:])


class Failed(Exception):
    """Nothing more can be done; the message says why, `status` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command `play`; its default `run` plays and returns an exit status."""
    parser = subparsers.add_parser(
        "play",
        help="play a match against a bot in the terminal",
        description="Play a match against a bot in the terminal, on a server that is running.",
    )
    add = parser.add_argument
    add("game", metavar="GAME", help="the game, such as champion_chess; the server lists its own")
    add("--server", metavar="HOST:PORT", default=SERVER, help="the server (%(default)s)")
    add("--seat", type=int, choices=(0, 1), default=0, help="the seat to play (%(default)s)")
    add("--opponent", choices=STRENGTHS, default="casual", help="the bot (%(default)s)")
    add("--option", metavar="NAME=VALUE", action="append", default=[], help="an option of the game")
    add(
        "--language",
        metavar="CODE",
        default="",
        help="the language of the names and texts of the game, such as de, if the server has it",
    )
    add("--clock", type=_seconds_of_clock, metavar="S", help="seconds that you have a decision")
    add("--auto", action="store_true", help="let hints play the seat to the end")
    add(
        "--seed",
        type=_whole,
        metavar="N",
        help="repeat a match, bot and hints included (the server must run with --allow-seeds)",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--hint-iterations",
        type=_whole,
        metavar="N",
        help=f"how long a hint is searched for ({HINT_ITERATIONS})",
    )
    limit.add_argument("--hint-time", type=_seconds, metavar="S", help="the same, in seconds")
    add(
        "--delay",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="seconds between decisions of --auto",
    )
    add("--no-color", action="store_true", help="no colours (also: NO_COLOR in the environment)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays a match as the command line says; returns the exit status."""
    console = _console(args.no_color)
    if args.auto and args.seed is not None and args.hint_time is not None:
        return _fail("--seed repeats a match only with --hint-iterations, not with --hint-time", 2)
    with Client(args.server) as client:
        try:
            session = _open(client, args, console)
        except Failed as error:
            return _fail(str(error), error.status)
        except KeyboardInterrupt:
            return 130
        try:
            session.play()
        except Left:
            return session.leave("Left", 0)
        except KeyboardInterrupt:
            return session.leave("Interrupted", 130)
        except CroupierError as error:
            if error.code is grpc.StatusCode.UNAVAILABLE:
                return _fail(f"lost the server at {args.server}")
            return _fail(f"the server refused: {error}")
    return 0


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) or float(text) > MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds up to {MAX_SECONDS}")
    return float(text)


def _seconds_of_clock(text: str) -> int:
    if not text.isdecimal() or int(text) not in CLOCK_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds, {CLOCK_SECONDS[0]} to {CLOCK_SECONDS[-1]}"
        )
    return int(text)


def _console(no_color: bool) -> Console:
    with suppress(AttributeError):  # A stream that a test has put in place of stdout.
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    console = Console(highlight=False, color_system=None if no_color else "auto")
    if not console.is_terminal or console.width > WIDTH:
        console.width = WIDTH
    return console


def _fail(message: str, status: int = 1) -> int:
    print(f"croupier play: {message}", file=sys.stderr)
    return status


def _open(client: Client, args: argparse.Namespace, console: Console) -> Session:
    # Finds the game and creates the match.
    try:
        games = {game.name.removeprefix("games/"): game for game in client.games()}
    except CroupierError as error:
        if error.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            raise Failed(
                f"no server answers at {args.server}."
                f" Start one with: croupier serve --listen {args.server}"
            ) from error
        raise Failed(f"{args.server} is no Croupier server: {error}") from error
    name = args.game.replace("-", "_")
    if name not in games:
        known = ", ".join(games) or "none"
        raise Failed(f"there is no game {args.game!r}. Games of this server: {known}", 2)
    try:
        ruleset = options.ruleset(name, args.option)
    except options.OptionError as error:
        raise Failed(str(error), 2) from error
    seats = [OPEN, OPEN]
    seats[1 - args.seat] = bot(args.opponent)
    try:
        game = client.game(name, language=args.language)
        time_control = None if args.clock is None else clock(args.clock)
        match = client.create_match(ruleset, seats, seed=args.seed, time_control=time_control)
    except CroupierError as error:
        if error.reason == "SEEDS_NOT_ALLOWED":
            raise Failed(
                "this server takes no seeds. Start one that does with:"
                f" croupier serve --listen {args.server} --allow-seeds"
            ) from error
        if error.violations:
            faults = "; ".join(f"{v.field}: {v.description}" for v in error.violations)
            raise Failed(f"the server refused: {faults}", 2) from error
        raise Failed(f"the server refused: {error}") from error
    draw = drawing.find(game, args.seat, f"{args.opponent} bot")
    return Session(match.seats[args.seat], draw, args, console)
