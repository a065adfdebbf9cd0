"""Mistakes of authors, planted in games: `python -m tests.lab.mistakes [--quickly] [PART]`.

Prints of each mistake in mistakes.toml, or of those whose name has a part, by which properties
`croupier check-game` finds it, and what it says; quickly: whether by the one that is noted there.
`plant` makes the package of a sound game in a folder, and `make` a mistake in it.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.support.planted_games import (
    ROOT,
    compile_schema,
    environment_of,
    plant_entry,
    plant_new_game,
)

HERE = Path(__file__).parent
EXAMPLES = ROOT / "examples/games"
# By the game: the options of its recommended form.
SMALL = {
    "high_card": ("ranks=5", "cards_per_hand=2"),
    "laid_aside": ("ranks=7", "cards_per_hand=3"),
    "german_whist": ("cards_per_hand=3",),
    "gin_rummy": ("hand_size=2", "knock_limit=10"),
}
MISTAKES = tomllib.loads((HERE / "mistakes.toml").read_text())["mistake"]


def plant(folder, game):
    """Makes the package of a game, as an installed one."""
    if game == "high_card":
        plant_new_game(folder)
        return
    plant_entry(folder, game)
    package = folder / game
    if game == "laid_aside":
        (package / "rules").mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "rules/__init__.py").write_text("")
        shutil.copy(HERE / "laid_aside.py", package / "rules/rules.py")
        return
    built = shutil.ignore_patterns("*.so", "*.c", "*_pb2.py", "__pycache__")
    shutil.copytree(EXAMPLES / game / game, package, ignore=built)
    shutil.copy(EXAMPLES / game / "setup.py", folder)
    build(folder, game)


def build(folder, game):
    """Compiles what is to be compiled of a package, and has changed."""
    with contextlib.chdir(folder):
        compile_schema(Path(game))
    if list((folder / game).rglob("*.pyx")):
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=folder, check=True, env=environment_of(folder))


def make(folder, mistake):
    """Plants a mistake in the package of its game, which is in the folder."""
    path = folder / mistake["game"] / mistake["file"]
    text = path.read_text()
    assert text.count(mistake["old"]) == 1, f"{mistake['name']}: the place is not there, or twice"
    path.write_text(text.replace(mistake["old"], mistake["new"]))
    build(folder, mistake["game"])


def check(folder, game, *more):
    """Runs `croupier check-game` in its recommended form."""
    small = [word for option in SMALL[game] for word in ("--small", option)]
    command = [sys.executable, "-m", "cli", "check-game", game, *small, *more]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment_of(folder), cwd=folder
    )


def failures(output):
    """The properties that do not hold, by name, each with what was said of it."""
    lines = re.findall(r"\[([\w-]+)\]: NO\n((?:    .*\n)*)", output)
    return dict(lines)


def main():
    quickly = "--quickly" in sys.argv
    parts = [each for each in sys.argv[1:] if each != "--quickly"]
    sound = {}
    with tempfile.TemporaryDirectory() as temporary:
        for mistake in MISTAKES:
            if not all(part in mistake["name"] for part in parts):
                continue
            game = mistake["game"]
            if game not in sound:
                sound[game] = Path(temporary) / "sound" / game
                sound[game].mkdir(parents=True)
                plant(sound[game], game)
            folder = Path(temporary) / "planted"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(sound[game], folder)
            make(folder, mistake)
            done = check(folder, game, *(("--only", mistake["found"]) if quickly else ()))
            found = failures(done.stdout)
            print(f"{game}: {mistake['name']}: {', '.join(found) or 'NOT FOUND'}", flush=True)
            for name, said in found.items():
                print(f"  [{name}]\n{said}", end="", flush=True)
            if not found:
                print(done.stdout, done.stderr, flush=True)


if __name__ == "__main__":
    main()
