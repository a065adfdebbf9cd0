"""Install the games in examples/games/ beside the wheel of the server, test them, and play them.

Nothing of this checkout is used but the wheels that are built from it: the packages are copied, and
all runs in another folder. First the client's wheel, alone in an environment, plays a match. Then,
for each game:

    its own tests, which check the contract (`croupier check-game`)
    whole matches against a bot: in the terminal, and with the client in Go (examples/go/bin/client,
        if it is built)
    a whole match on the page, in Chromium (if it is at hand)
    for a compiled game, the search with 1,000 iterations against random play: 95 % of the score

Then `croupier new-game` writes a package, which is built, tested and served. Arguments name games.
SHORT=1 in the environment takes the game in plain Python alone, and leaves out what follows the
matches. Exit status: 0 if all holds, else 1.
"""

import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

import check_wheels
from steps import PYTHON, ROOT, SHORT, CheckError, environment, run, say, serving

FOLDER = ROOT / "build/games"
GAMES = ROOT / "examples/games"
BUILD = ("setuptools", "cython", "grpcio-tools", "pytest")
STRONGER = 0.95  # Of the score, with 1,000 iterations against random play.
MATCHES = 200
GO = ROOT / "examples/go/bin/client"
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))


def main() -> None:
    """Runs all checks."""
    there = ["german_whist"] if SHORT else sorted(path.name for path in GAMES.glob("*/"))
    names = sys.argv[1:] or there
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        run("scripts/build_packages.sh", FOLDER / "packages", PYTHON=str(PYTHON))
        client, server = sorted((FOLDER / "packages").glob("*.whl"))
        python = environment(FOLDER / "server", client, server, *BUILD)
        check_wheels.play(python, environment(FOLDER / "client", client))
        for name in names:
            package = shutil.copytree(GAMES / name, FOLDER / name, ignore=built)
            game = check(python, package)
            if not SHORT and list(package.rglob("*.pyx")):
                check_strength(python, game)
        check_page(python, names)
        if SHORT:
            say("Not checked, as SHORT is set: other games, the strength, and a new game.")
            return
        begun = FOLDER / "begun"
        beside(python, "-m", "cli", "new-game", "begun", "--output", begun)
        check(python, begun)
    except CheckError as error:
        sys.exit(f"check_games: {error}")


def built(_: str, names: list[str]) -> set[str]:
    """Names what a build has left in a package."""
    ends = (".c", ".so", "_pb2.py", ".egg-info")
    return {name for name in names if name.endswith(ends) or name in ("build", "__pycache__")}


def check(python: Path, package: Path) -> str:
    """Installs, tests and plays a package; returns the id of its game."""
    beside(python, "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps", package)
    # By its own options, not by ours.
    tests = ("-m", "pytest", "-c", package / "pyproject.toml", package / "tests")
    say(f"{package.name}: {beside(python, *tests).splitlines()[-1]}")
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    [game] = project["entry-points"]["croupier.games"]
    with serving(python) as address:
        play = ("-m", "cli", "play", game, "--server", address, "--auto", "--no-color")
        said = beside(python, *play, "--hint-iterations", "50")
        say(f"terminal: {said.strip().splitlines()[-1]}")
        if GO.exists():
            say(f"Go: {beside(GO, '--server', address, '--game', game).splitlines()[-1]}")
        else:
            say("Not checked, as it is not built (make examples): the client in Go.")
    return str(game)


def check_page(python: Path, names: list[str]) -> None:
    """Plays a whole match of each game on the page, in Chromium, tries moves, and plays on."""
    if not CHROMIUM.exists():
        say("Not checked, as there is no Chromium (apt-get install chromium): the page.")
        return
    files = " ".join(f"tests/browser/{name}.test.ts" for name in ("package", "review", "playon"))
    tests = f"{files} -t whole|tries.other|where.the.replay"
    server = str(python.with_name("croupier"))
    said = run("scripts/web.sh", "browser", ARGS=tests, CROUPIER=server, GAMES=" ".join(names))
    say(f"the page: {next(line for line in said.splitlines() if 'Tests' in line).strip()}")


def check_strength(python: Path, game: str) -> None:
    """Checks the score of the search with 1,000 iterations against random play."""
    options = ["--game", game, "--games", MATCHES, "--workers", 2, "--json", FOLDER / "arena.json"]
    beside(python, "-m", "cli", "arena", "search:iterations=1000", "random", *options)
    [result] = json.loads((FOLDER / "arena.json").read_text())["results"]
    score = float(result["statistics"]["score"]["estimate"])
    say(f"1,000 iterations against random play, {MATCHES} matches: {score:.1%}")
    if score < STRONGER:
        raise CheckError(f"{game} scores {score:.1%} against random play")


def beside(*command: object) -> str:
    """Runs a program in a folder without sources of ours; returns what it prints."""
    return run(*command, cwd=FOLDER, PATH=f"{FOLDER / 'server/bin'}:{os.environ['PATH']}")


if __name__ == "__main__":
    main()
