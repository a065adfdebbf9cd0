"""`croupier check-game`: checks that a game fulfils the contract."""

import argparse
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cli.arguments import CommandError, Commands, declare, whole
from engine import games
from engine.errors import RulesetError
from engine.game import Game
from lab import arena, contract, contract_leaks, contract_ranks, contract_scores
from lab.contract_messages import check_kinds_of_events, check_messages, check_phrases
from lab.rulesets import changed

OPTIONS = """
--option CHANGE ... (the default ruleset)
    a change of the ruleset, as for `croupier balance`; can be given several times
--small CHANGE ... (that of --option)
    a change for a small ruleset, under which the same view comes up again and again: leaks are
    looked for, and worlds tested, under both; can be given several times
--only NAME ... (all)
    check this property alone, by its name in brackets; can be given several times
--seed N [0]
    the seed of the first match; the others follow it
--matches N [20]
    matches for each property
--simulated N [16000]
    matches for the test of proportions under the small ruleset
--ranked N [4000]
    views in which the truth is ranked among worlds, to test proportions under both rulesets
--foretold N [60]
    deals in which hints foretell the scores of both seats
--longest N [1000]
    the most joint actions of a match
"""
EVERY = 1000
CLOSELY = 4  # Decisions of each kind in a match that are looked at under the usual ruleset.
DEALS = 2000
SAY_AFTER = 20  # Seconds.


class _Property(NamedTuple):
    name: str
    what: str
    game: Game
    check: Callable[[Game, "_Seeds"], object]


class _Seeds:
    """Numbers of matches. Says on standard error, now and then, how far a check is."""

    def __init__(self, name: str, numbers: range) -> None:
        self._name = name
        self._numbers = numbers
        self.last: int | None = None  # None: the check does not go from seed to seed.

    def __iter__(self) -> Iterator[int]:
        for number in self.watch(self._numbers):
            self.last = number
            yield number

    def watch(self, numbers: range) -> Iterator[int]:
        """Yields numbers, and says how far it is."""
        said = time.monotonic()
        for done, number in enumerate(numbers):
            if time.monotonic() - said > SAY_AFTER:
                said = time.monotonic()
                print(f"\n[{self._name}] {done} of {len(numbers)}", end="", file=sys.stderr)
            yield number


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "check-game",
        help="check that a game fulfils the contract",
        description="Plays random matches of a game and checks what every game promises: legal "
        "actions, events and views; that a seat learns nothing that it may not know; that its "
        "sampler's worlds are sound, complete and in proportion; and its messages. Prints a line "
        "for each property. Of one that does not hold it says where, what differed, and the "
        "command that shows it again; the exit status is then 1. What random matches did not "
        "reach is NOT TESTED: play more of them, or give --option and --small other rulesets.",
        epilog="For example: croupier check-game german_whist --small cards_per_hand=3. The "
        "small ruleset should be so small that one view comes up dozens of times.",
    )
    parser.add_argument("game", metavar="GAME", help="the id of the game, as in `croupier games`")
    declare(parser, OPTIONS, {"N": whole(0)})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Prints a line for each property."""
    game = _game(chosen.game, chosen.option)
    small = _game(chosen.game, [*chosen.option, *chosen.small])
    properties = list(_properties(chosen, game, small))
    names = {each.name for each in properties}
    for name in chosen.only:
        if name not in names:
            raise CommandError(
                f"there is no property {name!r}; there are {', '.join(sorted(names))}"
            )
    failed = 0
    for each in properties:
        if not chosen.only or each.name in chosen.only:
            failed += not _holds(each, chosen)
    if failed:
        raise CommandError(f"{failed} properties of {game.id} do not hold")
    return 0


def _holds(each: _Property, chosen: argparse.Namespace) -> bool:
    seeds = _Seeds(each.name, range(chosen.seed, chosen.seed + chosen.matches))
    print(f"{each.what} [{each.name}]: ", end="", flush=True)
    began = time.monotonic()
    try:
        note = each.check(each.game, seeds)
    except Exception as error:
        print("NO")
        for line in (_what(error), *getattr(error, "__notes__", ())):
            print(f"    {line}")
        print(f"    again: {_command(each, chosen, seeds.last)}")
        return False
    print(f"{note or 'yes'} ({time.monotonic() - began:.1f} s)")
    return True


def _what(error: Exception) -> str:
    # Of what a package has raised, where it has.
    steps = traceback.extract_tb((error.__cause__ or error).__traceback__)
    if isinstance(error, AssertionError) and str(error):
        return str(error)
    where = f"({steps[-1].filename}, line {steps[-1].lineno})"
    if isinstance(error, AssertionError):
        return f"it must be that {steps[-1].line or ''} {where}"
    return f"{type(error).__name__}: {error} {where}"


def _command(each: _Property, chosen: argparse.Namespace, seed: int | None) -> str:
    words = ["croupier", "check-game", chosen.game, "--only", each.name]
    for option in ("option", "small"):
        for change in getattr(chosen, option):
            words += [f"--{option}", change]
    if seed is None:
        words += ["--seed", chosen.seed]
        for count in ("simulated", "ranked", "foretold"):
            words += [f"--{count}", getattr(chosen, count)]
    else:
        words += ["--seed", seed, "--matches", 1]
    return shlex.join(map(str, words))


def _game(game_id: str, changes: Sequence[str]) -> Game:
    if game_id not in games():
        raise CommandError(f"there is no game {game_id!r}; there are {', '.join(games())}")
    try:
        return arena.game_of(game_id, changed(game_id, changes))
    except RulesetError as error:
        raise CommandError(f"the ruleset of {game_id}: {error}") from error


def _properties(chosen: argparse.Namespace, game: Game, small: Game) -> Iterator[_Property]:
    def matches(under: Game, seeds: _Seeds) -> str:
        ends = contract.check_matches(under, seeds, chosen.longest)
        return "yes" if len(ends) > 1 else "yes, but all matches end alike"

    def leaks(under: Game, seeds: _Seeds) -> str:
        compared = contract_leaks.Compared(game)
        for each, most in [(under, CLOSELY)] + [(small, EVERY)] * (small.ruleset != game.ruleset):
            contract_leaks.check_leaks(each, seeds, most, compared=compared)
            contract_leaks.check_deals(each, chosen.seed, DEALS, compared)
        return str(compared)

    def proportion(under: Game, seeds: _Seeds) -> str:
        views = contract.check_proportion(
            under, chosen.simulated, seed=chosen.seed, watch=seeds.watch
        )
        return (
            f"yes, {views} views"
            if views
            else "NOT TESTED: no view came up 40 times; --simulated simulates more matches, and "
            "--small makes them alike"
        )

    def ranks(under: Game, seeds: _Seeds) -> str:
        return contract_ranks.check_ranks(under, chosen.seed, chosen.ranked, seeds.watch)

    def scores(under: Game, seeds: _Seeds) -> str:
        return contract_scores.check_scores(under, chosen.seed, chosen.foretold, seeds.watch)

    def alone(check: Callable[[Game], None]) -> Callable[[Game, _Seeds], None]:
        return lambda under, _: check(under)

    for name, what, under, check in (
        ("description", "it describes itself, and its ruleset is whole", game,
         alone(contract.check_description)),
        ("matches", "matches are legal, end, and replay alike", game, matches),
        ("refusals", "what is not legal is refused", game, contract.check_refusals),
        ("actions", "actions are read and made alike", game, contract.check_actions),
        ("secrets", "no secret or held decision shows", game, contract.check_secrets),
        ("unseen", "only unseen order is drawn again", game, contract.check_unseen_order),
        ("sound", "worlds are sound", game, contract.check_sound),
        ("over", "worlds do not depend on what they are drawn over", game,
         contract.check_drawn_over),
        ("habits", "every view has worlds", game, contract.check_habits),
        ("policy", "the policy plays by what its seat knows", game, contract.check_policy),
        ("leaks", "a seat is told no more than its view, under both rulesets", game, leaks),
        ("ranks", "worlds are in proportion to the truth", game, ranks),
        ("small-ranks", "so they are under the small ruleset", small, ranks),
        ("proportion", "all worlds of the small ruleset are drawn, in proportion", small,
         proportion),
        ("scores", "what hints foretell for both seats adds up to 1", game, scores),
    ):  # fmt: skip
        if name != "small-ranks" or small.ruleset != game.ruleset:
            yield _Property(name, what, under, check)
    if not game.reference:
        yield _Property("messages", "messages are valid, and read as written", game, check_messages)
        yield _Property(
            "events", "every kind of event has a message", game, alone(check_kinds_of_events)
        )
        yield _Property(
            "phrases", "phrases fit the schema, in each language", game, alone(check_phrases)
        )
