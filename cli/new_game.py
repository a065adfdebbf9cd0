"""`croupier new-game`: writes the package of a game, to begin with."""

import argparse
import keyword
import re
import shutil
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template

from cli import arguments
from cli.arguments import CommandError, Commands
from croupier.files import write_whole
from engine import games

# By the file in the package, with the id of the game as $name: its template.
FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "setup.py": "setup.py.txt",
    "README.md": "README.md.txt",
    "$name/__init__.py": "init.py.txt",
    "$name/rules/__init__.py": "init.py.txt",
    "$name/rules/rules.py": "rules.py.txt",
    "$name/api/__init__.py": "init.py.txt",
    "$name/api/$name.proto": "schema.proto.txt",
    "$name/api/translation.py": "translation.py.txt",
    "tests/test_rules.py": "test_rules.py.txt",
}
LONGEST = 40  # Characters of an id, or of a title.


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "new-game",
        help="write the package of a game, to begin with",
        description="Writes a package with a small game: its rules in plain Python, its schema and "
        "its tests. It builds, plays, passes its tests, and has a page to play at. "
        "docs/adding-a-game.md says how to make it yours.",
    )
    parser.add_argument("name", metavar="NAME", help="the id of the game, such as german_whist")
    parser.add_argument("--title", type=_title, help="its title (default: the id in words)")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=arguments.path,
        help="the folder to write, which must not be there yet (default: ./NAME)",
    )
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Writes the package, and says what to do next."""
    name: str = chosen.name
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > LONGEST:
        raise CommandError(
            f"{name!r} is no id of a game: small letters, digits and _, such as german_whist; at "
            f"most {LONGEST} characters"
        )
    if keyword.iskeyword(name) or (name not in games() and find_spec(name)):
        raise CommandError(f"{name} means something else in Python: choose another id")
    if name in games():
        raise CommandError(f"there is a game {name} already")
    folder: Path = chosen.output or Path(name)
    if folder.exists():
        raise CommandError(f"{folder} is there already")
    words = name.split("_")
    values = {
        "name": name,
        "Name": "".join(word.capitalize() for word in words),
        "title": chosen.title or " ".join(words).capitalize(),
        "distribution": "croupier-" + name.replace("_", "-"),
    }
    templates = resources.files("cli") / "game_template"
    try:
        for file, template in FILES.items():
            path = folder / Template(file).substitute(values)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = (templates / template).read_text(encoding="utf-8")
            write_whole(path, Template(text).substitute(values).encode())
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # It would be there already the next time.
        raise
    print(f"{len(FILES)} files in {folder}. Next:")
    print(f"  pip install grpcio-tools==1.85.1 && pip install --no-build-isolation -e {folder}")
    print(f"  croupier check-game {name} --small ranks=5 --small cards_per_hand=2")
    print("  croupier serve")
    return 0


def _title(text: str) -> str:
    # It stands in a literal of Python and of TOML, and in a comment.
    if not text.strip() or not text.isprintable() or {'"', "\\"} & {*text} or len(text) > LONGEST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no title: 1 to {LONGEST} characters that can be printed, none of them "
            'a " or a \\'
        )
    return text
