"""Install the games in examples/games/ beside the wheel of the server, test them, and play them.

Nothing of this checkout is used but the wheels that are built from it: the packages are copied, and
all runs in another folder. First the client's wheel, alone in an environment, plays a match. Then,
for each game:

    its own tests, which check the contract (`croupier check-game`)
    whole matches against a bot: in the terminal, and with the client in Go (examples/go/bin/client,
        if it is built) and grpcurl (if there is Go)
    a whole match on the page, in Chromium (if it is at hand)
    the search with 1,000 iterations against random play, at least 95 % of the score; of a game in
        plain Python, its compiled twin plays

Then `croupier new-game` writes a package, which is built, tested and served. Arguments name games.
SHORT=1 in the environment takes the game in plain Python alone, and leaves out what follows the
matches and what needs Go. Exit status: 0 if all holds, else 1.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_wheels
from check_wheels import PYTHON, ROOT, CheckError, environment, run, say, serving

FOLDER = ROOT / "build/games"
GAMES = ROOT / "examples/games"
BUILD = ("setuptools", "cython", "grpcio-tools", "pytest")
SHORT = os.environ.get("SHORT") == "1"
STRONGER = 0.95  # Of the score, with 1,000 iterations against random play.
MATCHES = 200
GO = ROOT / "examples/go/bin/client"
CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3"


def main() -> None:
    """Runs all checks."""
    there = ["german_whist"] if SHORT else sorted(path.name for path in GAMES.glob("*/"))
    names = sys.argv[1:] or there
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    check_wheels.FOLDER = FOLDER
    try:
        run("scripts/build_packages.sh", FOLDER / "packages", PYTHON=str(PYTHON))
        wheels = client, _ = sorted((FOLDER / "packages").glob("*.whl"))
        python = environment("server", PYTHON, *wheels, *BUILD)
        check_wheels.play(python.parents[1], PYTHON, client)
        for name in names:
            package = shutil.copytree(GAMES / name, FOLDER / name, ignore=built)
            game = check(python, package)
            if SHORT:
                continue
            if (package / "twin").is_dir():
                game = check_twin(python, package / "twin")
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
    sources = [path for path in package.rglob("*") if path.is_file()]
    lines = sum(len(path.read_bytes().splitlines()) for path in sources)
    say(f"{package.name}: {len(sources)} files, {lines} lines")
    beside(python, "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps", package)
    say(run_tests(python, package))
    played = [line.split()[0] for line in beside(python, "-m", "cli", "games").splitlines()]
    [game] = [name for name in played if name in games_of(package)]
    with serving(python.with_name("croupier")) as address:
        say(f"terminal: {terminal(python, game, address)}")
        if GO.exists():
            say(f"Go: {beside(GO, '--server', address, '--game', game).splitlines()[-1]}")
        else:
            say("Not checked, as it is not built (make examples): the client in Go.")
        if not SHORT:
            check_grpcurl(game, address)
    return game


def check_page(python: Path, names: list[str]) -> None:
    """Plays a whole match of each game on the page, in Chromium."""
    if not CHROMIUM.exists():
        say("Not checked, as there is no Chromium (apt-get install chromium): the page.")
        return
    tests = "tests/browser/package.test.ts -t whole"
    games = ",".join(names)
    server = str(python.with_name("croupier"))
    said = run("scripts/web.sh", "browser", ARGS=tests, CROUPIER=server, GAMES=games)
    say(f"the page: {next(line for line in said.splitlines() if 'Tests' in line).strip()}")


def check_twin(python: Path, package: Path) -> str:
    """Installs and tests the compiled twin of a game, which plays as it does; returns its id."""
    beside(python, "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps", package)
    say(f"its compiled twin: {run_tests(python, package)}")
    return next(iter(games_of(package)))


def run_tests(python: Path, package: Path) -> str:
    """Runs the tests of a package by its own options, not by ours; returns how they ended."""
    options = ("-c", package / "pyproject.toml", package / "tests")
    return beside(python, "-m", "pytest", *options).splitlines()[-1]


def games_of(package: Path) -> set[str]:
    """Returns the ids that a package names among its entry points."""
    text = (package / "pyproject.toml").read_text(encoding="utf-8")
    _, _, entries = text.partition('[project.entry-points."croupier.games"]\n')
    return {line.partition("=")[0].strip() for line in entries.split("\n\n")[0].splitlines()}


def terminal(python: Path, game: str, address: str) -> str:
    """Plays a match in the terminal; returns its last line."""
    command = ["-m", "cli", "play", game, "--server", address, "--auto", "--hint-iterations", "50"]
    return beside(python, *command, "--no-color").strip().splitlines()[-1]


def check_grpcurl(game: str, address: str) -> None:
    """Plays a match with grpcurl alone, which reads the messages by reflection."""
    if shutil.which("go") is None:
        say("Not checked, as there is no Go to install it: grpcurl.")
        return
    run("go", "install", GRPCURL, GOBIN=str(FOLDER / "bin"))
    ask = Grpcurl(FOLDER / "bin/grpcurl", address)
    described = ask("CatalogService/GetGame", {"name": f"games/{game}"})["game"]
    seats = [{"open": {}}, {"bot": {"strength": "BOT_STRENGTH_RANDOM"}}]
    match = ask(
        "MatchService/CreateMatch", {"ruleset": described["default_ruleset"], "seats": seats}
    )
    token = match["seat_tokens"][0]["token"]
    decisions = 0
    name = {"name": match["name"]}
    view = ask("MatchService/GetView", name, token)["view"]
    while "result" not in view:
        version = view.get("version", "0")
        if "legal_actions" in view:
            request = {**name, "expectedVersion": version, "requestId": f"at {version}"}
            request["action"] = view["legal_actions"][0]
            view = ask("MatchService/SubmitAction", request, token)["view"]
            decisions += 1
        else:
            wait = {**name, "waitForVersion": str(int(version) + 1)}
            view = ask("MatchService/GetView", wait, token)["view"]
    say(f"grpcurl: {decisions} decisions, {view['result']}")


class Grpcurl:
    """Calls a server with grpcurl."""

    def __init__(self, tool: Path, address: str) -> None:
        self._command = [str(tool), "-plaintext", "-d", "@"]
        self._address = address

    def __call__(self, method: str, request: object, token: str = "") -> dict[str, Any]:
        header = ["-H", f"authorization: Bearer {token}"] if token else []
        command = [*self._command, *header, self._address, f"croupier.v1.{method}"]
        done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
        if done.returncode:
            raise CheckError(f"grpcurl {method}: {done.stderr}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


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
    arguments = [str(each) for each in command]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{FOLDER / 'environments/server/bin'}:{environment['PATH']}"
    done = subprocess.run(
        arguments,
        cwd=FOLDER,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise CheckError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
