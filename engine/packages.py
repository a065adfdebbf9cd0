"""Packages of games, which are found through the entry point group `croupier.games`.

A distribution names each of its games there, such as `german_whist = "acme_whist"`: the id of the
game, and the package with its parts. The games of this repository are found in the same way.
"""

import faulthandler
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from engine.faults import guard_methods, in_words
from engine.game import ABI, Game
from engine.parts import package_of, subclasses

GROUP = "croupier.games"
ID = re.compile("[a-z][a-z0-9_]{0,39}")  # Of a game, as the schema has it in names.
# Of the environment: if it is set, a package that cannot be used is left out with a line on
# standard error. In the environment, so that search processes leave it out too.
SKIP_BROKEN = "CROUPIER_SKIP_BROKEN_GAMES"
SLOW_SECONDS = 10.0  # Then standard error is told where a package is, which may be in a loop.


class PackageError(ValueError):
    """A package of a game that cannot be used. The message says which one and why, in a line."""


def games() -> dict[str, type[Game]]:
    """Returns every game by its id, in the order of the ids, reference games included.

    Raises PackageError if a package cannot be used.
    """
    return _found(os.environ.get(SKIP_BROKEN, ""))


@cache
def _found(skip_broken: str) -> dict[str, type[Game]]:
    found: dict[str, type[Game]] = {}
    for entry in _entries():
        try:
            if entry.name in clashes():
                raise fault(entry.name, "they have a game of the same id")
            found[entry.name] = load(entry)
        except PackageError as error:
            leave_out(error)
    return dict(sorted(found.items()))


def leave_out(error: PackageError) -> None:
    """Says that a game is left out, where the operator wants it so; else raises the error."""
    if not os.environ.get(SKIP_BROKEN):
        raise error
    print(f"left out: {error}", file=sys.stderr)


def load(entry: EntryPoint) -> type[Game]:
    """Returns the game of an entry point; raises PackageError."""
    with using(entry.name, "it cannot be imported"):
        found = subclasses(f"{entry.value}.rules.rules", Game)
    named = [game for game in found if game.id == entry.name]
    if len(named) != 1:
        ids = ", ".join(repr(game.id) for game in found if game.id) or "none"
        raise fault(
            entry.name, f"{entry.value}.rules.rules must have one game of this id, and has {ids}"
        )
    [game] = named
    if not ID.fullmatch(game.id):
        rule = "small letters, digits and _, at most 40, such as german_whist"
        raise fault(entry.name, f"its id must be of {rule}")
    if package_of(game).partition(".")[0] != entry.value.partition(".")[0]:
        raise fault(entry.name, f"its class is in {game.__module__}, and not in {entry.value}")
    if game.abi != ABI:
        raise fault(
            entry.name,
            f"it was made for contract {game.abi} of a game, and this server has contract {ABI}",
        )
    guard_methods(game)
    return game


@contextmanager
def using(game_id: str, fails: str) -> Iterator[None]:
    """Whatever the package of a game raises in this block is a PackageError that says what fails.

    SystemExit too, by which it would end the server.
    """
    faulthandler.dump_traceback_later(SLOW_SECONDS, file=2)
    try:
        yield
    except (PackageError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise fault(game_id, f"{fails}: {in_words(error)}") from error
    finally:
        faulthandler.cancel_dump_traceback_later()


def fault(game_id: str, why: str) -> PackageError:
    """Returns an error of the package of a game, with its distribution."""
    text = " ".join(why.split())  # What an exception says can have several lines.
    return PackageError(f"the game {game_id} of {origin(game_id)} cannot be used: {text}")


@cache
def _entries() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def origin(game_id: str) -> str:
    """Returns the distributions that have a game, each with its version."""
    named = {
        f"{entry.dist.name} {entry.dist.version}"
        for entry in _entries()
        if entry.name == game_id and entry.dist
    }
    return " and ".join(sorted(named)) or "no distribution"


def clashes() -> Iterator[str]:
    """Yields the ids that several distributions name."""
    names = [entry.name for entry in _entries()]
    yield from sorted({name for name in names if names.count(name) > 1})
