"""A command that plays a match in the terminal: `croupier play`, and alone `croupier-play`."""

import argparse
import shutil
from dataclasses import fields, replace

from rich.console import Console, ConsoleDimensions

from croupier.client import STRENGTHS
from croupier.errors import CroupierError
from croupier.terminal import arguments, program, resuming, texts
from croupier.terminal.arguments import CommandError, UsageError
from croupier.terminal.drawing import printable
from croupier.terminal.play import PlayError, SettingsError, play
from croupier.terminal.screen import Left
from croupier.terminal.settings import HINT_ITERATIONS, Settings
from croupier.transport import CLEARTEXT, Security

ALONE = "croupier-play"
WIDTH, LINES = 100, 24
MAX_SECONDS = 60
MAX_CLOCK_SECONDS = 86400
MAX_NAME = 32  # Characters.
REVIEW_ITERATIONS = 100, 1_000_000  # The fewest and the most.
EXPECTED = CommandError | CroupierError | OSError  # What is said in a line.
HINT_CHOICES = {"allow": "allowed", "after-end": "after_end"}

DESCRIPTION = (
    "Plays a match in the terminal, on a server that is running: against a bot, or with --invite"
    " against a friend, who joins with --join. --resume comes back to a match;"
    " --puzzle sets puzzles."
)

OPPONENTS = f"""
--opponent {"|".join(STRENGTHS)} (casual)
    the bot, the weakest first: all but random see gross blunders, and the stronger it is, the less
    it plays what is only nearly as good
--invite
    play against a friend: print an invitation, and wait until your friend has joined
--join INVITATION
    join the match of a friend who has invited you
--puzzle N (1)
    solve the puzzles of the game, positions in which one move is clearly the best, from this one on
--resume MATCH (the one that still runs)
    come back to a match that you have left
"""
OPTIONS = f"""
--seat 0|1 (0)
    the seat that you play
--no-save
    do not save the seat in a file, by which --resume finds it
--yes
    join without a question
--name NAME []
    what the other player shall call you: up to {MAX_NAME} characters
--hide
    do not tell the other player whether you are there; you are not told either
--hints {"|".join(HINT_CHOICES)} (allow against a bot, after-end against a friend)
    whether both players may ask for hints before the end of the match
--option NAME=VALUE ...
    an option of the game; can be repeated
--clock S
    seconds that you, and a friend, have for a decision
--auto
    let hints play your seat to the end
--seed N
    repeat a match, with its bot and hints; the server must run with --allow-seeds
--review-iterations N (the server chooses)
    iterations of each search of a review after the end
--delay S [0]
    seconds between decisions of --auto
"""
LIMITS = f"""
--hint-iterations N ({HINT_ITERATIONS})
    iterations of the search for a hint
--hint-time S
    seconds of the search for a hint
"""


def main() -> None:
    """Runs `croupier-play` and exits with its status."""
    program.take_interrupts()
    parser = arguments.Parser(prog=ALONE, description=DESCRIPTION)
    add_arguments(parser)
    program.run(
        lambda: run(parser.parse_args(), ALONE),
        lambda error: f"{ALONE}: {error}" if isinstance(error, EXPECTED) else None,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    parser.add_argument(
        "game",
        metavar="GAME",
        nargs="?",
        help="the id of the game; the server lists its games. Not with --join and --resume",
    )
    arguments.add_server(
        parser,
        default=None,
        help=f"the server (default: {arguments.DEFAULT_ADDRESS}, or that of the match to resume)",
    )
    whole, seconds = arguments.whole, arguments.seconds(MAX_SECONDS)
    types = {"--seat": int, "--name": _name, "--clock": whole(1, MAX_CLOCK_SECONDS), "S": seconds}
    types |= {"N": whole(), "--hint-iterations": whole(1, arguments.MAX_ITERATIONS)}
    types |= {"--review-iterations": whole(*REVIEW_ITERATIONS)}
    more = {
        "--join": {"dest": "invitation"},
        "--resume": {"nargs": "?", "const": ""},
        "--puzzle": {"nargs": "?", "const": 1, "type": whole(1)},
        "--no-save": {"dest": "save", "action": "store_false"},
        "--option": {"dest": "options"},
    }
    arguments.declare(parser.add_mutually_exclusive_group(), OPPONENTS, more=more)
    arguments.declare(parser, OPTIONS, types, more)
    arguments.declare(parser.add_mutually_exclusive_group(), LIMITS, types)
    arguments.add_language(parser)
    arguments.add_no_color(parser)


def run(chosen: argparse.Namespace, program: str) -> int:
    """Plays as the command line says; `program` is how a friend starts the same command."""
    if chosen.auto and chosen.seed is not None and chosen.hint_time is not None:
        raise UsageError("--seed repeats a match only with --hint-iterations, not with --hint-time")
    _check(chosen)
    console = _console(chosen.no_color)
    # What is not given has the default of the settings.
    named = {each.name for each in fields(Settings)}
    given = {k: v for k, v in vars(chosen).items() if k in named and v is not None}
    given["hints"] = HINT_CHOICES.get(chosen.hints, "")
    settings = Settings(program=program, security=arguments.security(chosen), **given)
    try:
        if chosen.resume is None:
            return play(settings, console)
        return _resume(chosen, settings, console)
    except PlayError as error:
        kind = UsageError if isinstance(error, SettingsError) else CommandError
        raise kind(error.said(texts.in_language(chosen.language))) from error


def _resume(chosen: argparse.Namespace, settings: Settings, console: Console) -> int:
    try:
        saved = resuming.find(chosen.resume, chosen.server, console, chosen.language)
    except Left:
        return 0
    chosen.language = chosen.language or saved.language
    same = settings.security == CLEARTEXT
    settings = replace(
        settings,
        server=saved.server,
        security=Security(**saved.security) if same else settings.security,  # type: ignore[arg-type]
        language=chosen.language,
    )
    return play(settings, console, saved)


def _check(chosen: argparse.Namespace) -> None:
    if chosen.invitation is None and chosen.resume is None:
        if chosen.game is None:
            raise UsageError("name a GAME, join a match with --join, or come back with --resume")
        return
    for name in ("game", "seat", "options", "clock", "hints", "seed"):
        value = getattr(chosen, name)
        flag = {"game": "GAME", "options": "--option"}.get(name, f"--{name}")
        if value in (None, []):
            continue
        if chosen.invitation is not None:
            raise UsageError(f"{flag} does not go with --join: your friend has chosen it")
        raise UsageError(f"{flag} does not go with --resume: the match has it")
    if chosen.name and chosen.resume is not None:
        raise UsageError("--name does not go with --resume: the match has it")


def _name(text: str) -> str:
    if text != printable(text) or len(text) > MAX_NAME:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a name of up to {MAX_NAME} characters that can be printed"
        )
    return text


def _console(no_color: bool) -> Console:
    console = Console(
        highlight=False, markup=False, emoji=False, color_system=None if no_color else "auto"
    )
    if console.is_dumb_terminal:  # Which is taken for one of 80 columns.
        console.size = ConsoleDimensions(*shutil.get_terminal_size((WIDTH, LINES)))
    if not console.is_terminal or console.width > WIDTH:
        console.width = WIDTH
    return console
