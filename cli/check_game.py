"""`croupier check-game`: checks that a game fulfils the contract."""

import argparse
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from cli.arguments import CommandError, Commands, declare, json_option, whole
from engine import games
from engine.errors import RulesetError
from engine.game import Game
from lab import contract
from lab.contract_messages import check_kinds_of_events, check_messages, check_phrases

Check = Callable[[Game], object]

OPTIONS = """
--option NAME=JSON ... (the default ruleset)
    an option of the ruleset; can be given several times
--small NAME=JSON ... (that of --option)
    an option of the small ruleset under which leaks and proportions are checked; can be given
    several times
--matches N [20]
    matches for each property
--simulated N [16000]
    matches for the test of proportions
--longest N [1000]
    the most joint actions of a match
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "check-game",
        help="check that a game fulfils the contract",
        description="Plays random matches of a game and checks what every game promises: legal "
        "actions, events and views; that a seat learns nothing that it may not know; that its "
        "sampler's worlds are sound, complete and in proportion; and its messages. Prints a "
        "line for each property, and exits with status 1 if one does not hold.",
        epilog="For example: croupier check-game german_whist --small cards_per_hand=3. The "
        "test of proportions needs a ruleset so small that one view comes up dozens of times.",
    )
    parser.add_argument("game", metavar="GAME", help="the id of the game, as in `croupier games`")
    declare(parser, OPTIONS, {"N": whole(1), "NAME=JSON": json_option})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Prints a line for each property."""
    game = _game(chosen.game, dict(chosen.option))
    small = _game(chosen.game, dict(chosen.small or chosen.option))
    failed = 0
    for what, under, check in _checks(chosen, game, small):
        print(f"{what:64}", end="", flush=True)
        began = time.monotonic()
        try:
            note = check(under)
        except Exception as error:
            failed += 1
            print(" NO")
            for line in (_what(error), *getattr(error, "__notes__", ())):
                print(f"    {line}")
        else:
            said = note if isinstance(note, str) else "yes"
            print(f" {said} ({time.monotonic() - began:.1f} s)")
    if failed:
        raise CommandError(f"{failed} properties of {game.id} do not hold")
    return 0


def _what(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error) or "an assertion in the check"
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}, line {where.lineno})"


def _game(game_id: str, ruleset: dict[str, Any]) -> Game:
    kind = games().get(game_id)
    if kind is None:
        raise CommandError(f"there is no game {game_id!r}; there are {', '.join(games())}")
    try:
        return kind(ruleset)
    except RulesetError as error:
        raise CommandError(f"the ruleset of {game_id}: {error}") from error


def _checks(
    chosen: argparse.Namespace, game: Game, small: Game
) -> Iterator[tuple[str, Game, Check]]:
    seeds = range(chosen.matches)

    def matches(under: Game) -> str:
        ends = contract.check_matches(under, seeds, chosen.longest)
        return "yes" if len(ends) > 1 else "yes, but all matches end alike"

    def proportion(under: Game) -> str:
        views = contract.check_proportion(under, chosen.simulated)
        return (
            f"yes, {views} views" if views else "NOT TESTED: no view came up 40 times; see --small"
        )

    yield "it describes itself, and its ruleset is whole", game, contract.check_description
    yield "matches are legal, end, and replay alike", game, matches
    yield "what is not legal is refused", game, lambda g: contract.check_refusals(g, seeds)
    yield "actions are read and made alike", game, lambda g: contract.check_actions(g, seeds)
    yield "no secret or held decision shows", game, lambda g: contract.check_secrets(g, seeds)
    yield "only unseen order is drawn again", game, lambda g: contract.check_unseen_order(g, seeds)
    yield (
        "events tell a seat no more than its view",
        small,
        lambda g: contract.check_leaks(g, seeds),
    )
    yield "worlds are sound", game, lambda g: contract.check_sound(g, seeds)
    yield (
        "worlds do not depend on what they are drawn over",
        game,
        lambda g: contract.check_drawn_over(g, seeds),
    )
    yield "every view has worlds", game, lambda g: contract.check_habits(g, seeds)
    yield "worlds are complete and in proportion", small, proportion
    if not game.reference:
        yield "messages are valid, and read as written", game, lambda g: check_messages(g, seeds)
        yield "every kind of event has a message", game, check_kinds_of_events
        yield "phrases fit the schema, in each language", game, check_phrases
