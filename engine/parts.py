"""The parts of a game. Each game is a package, and has a module for each part in one of its rooms:

    rules/   the rules, and what each seat sees: rules.rules
    play/    what a seat can infer, how it plays and why: play.sampler, play.playout, play.features,
             play.aspects
    api/     the game in messages: api.translation, api.view_writer, api.drawing

No list names the games or their parts: the code here finds them by their modules.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

Part = TypeVar("Part")


@cache
def part(game: type, module: str, base: type[Part]) -> type[Part]:
    """Return the subclass of `base` in a module such as "play.sampler"; `base` without it."""
    name = module_of(game, module)
    if name is None:
        return base
    [found] = subclasses(name, base)
    return found


def package_of(game: type) -> str:
    """Return the name of the package of a game, whose class is in a module of its room `rules`."""
    return ".".join(game.__module__.split(".")[:-2])


def module_of(game: type, module: str) -> str | None:
    """Return the full name of a module of the package of a game; None if it has none such."""
    name = package_of(game)
    for part in module.split("."):
        name = f"{name}.{part}"
        if importlib.util.find_spec(name) is None:  # It would raise if the room were missing.
            return None
    return name


def load_all(package: str) -> None:
    """Import every module of a package: one that is imported later may be of newer files.

    A module that cannot be imported is left out. Whoever needs it is told. The drawing is left out
    too: the terminal needs it, not the server.
    """
    path = getattr(importlib.import_module(package), "__path__", ())
    for found in pkgutil.iter_modules(path, f"{package}."):
        if found.name.endswith((".__main__", ".api.drawing")):
            continue
        try:
            importlib.import_module(found.name)
        except KeyboardInterrupt:
            raise
        except BaseException:  # What skips a module of tests is no Exception.
            continue
        if found.ispkg:
            load_all(found.name)


def contents(
    folder: Traversable, place: str = "", above: Sequence[object] = ()
) -> Iterator[tuple[str, Traversable]]:
    """Yield the files of a folder and of the folders in it, by their paths there, in order.

    Links are followed, but for those that lead back. What is no file, such as a pipe, is left out.
    """
    here = folder.resolve() if isinstance(folder, Path) else folder
    if here in above:
        return
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir() and each.name != "__pycache__":
            yield from contents(each, f"{place}{each.name}/", (*above, here))
        elif each.is_file():
            yield place + each.name, each


def subclasses(module: str, base: type[Part]) -> list[type[Part]]:
    """Return the subclasses of `base` in a module, `base` itself excluded."""
    return [
        value
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
