"""Build the clients in examples/ and play whole matches with each while their server dies.

The server has a SQLite log in a temporary folder. In each match it is stopped once in order and
killed once (SIGKILL), and started again with the same port and the same log. It allows a seat few
calls per second, and every second match is played over TLS. The matches of a game have the same
seed, so they must end alike in every language. Then each client must show what some errors come
with, and the one in TypeScript must also play with the packed package. Each client must resume a
stream that falls silent, and answer soon after a restart at every kind of decision of the other
player. At the end there is a table of what each match came to. Then two accounts of the front end
in examples/frontend/ play each other in Chromium.

A language whose tools are not installed is left out, and a line says so.
Exit status: 0 if every match that was played has ended as it should, else 1.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from example_clients import (
    BIN,
    ENVIRONMENT,
    LANGUAGES,
    ROOT,
    Certificate,
    FailedError,
    Server,
    Step,
    command_of,
    serving,
)
from example_frontend import check_frontend
from example_restarts import play_with_restarts
from example_silence import check_silence

EXAMPLES = ROOT / "examples"
SCHEMAS = EXAMPLES / "schemas"
LOGS = ROOT / "build/examples"
GAMES = ("castle_rampage", "champion_chess", "powershot_soccer", "skystones")
SEED = 7
STOP_AT, KILL_AT = 3, 6  # After which decision of the client; every match has more.
MATCH_SECONDS = 180  # Far more than a match takes: a client that hangs fails.
CALLS_PER_SECOND = 25  # Few enough that a long match has to wait for its budget.
SHORT_RESTARTS = 2  # In a match of the short form: one stop and one kill.
REFUSAL_SECONDS = 20  # Less than a client tries again when nobody answers.


def main() -> int:
    """Builds, plays, prints the table."""
    chosen = arguments()
    languages = [each for each in chosen.languages if has_tools(each)]
    write_schemas()
    failures = []
    built = []
    for language in languages:
        began = time.monotonic()
        try:
            build(language)
        except FailedError as error:
            failures.append(f"{language}: {error}")
            continue
        built.append(language)
        print(f"{language}: built in {time.monotonic() - began:.0f} s", flush=True)

    outcomes: dict[tuple[str, str], str] = {}
    endings: dict[str, object] = {}  # Of each game, how its first match ended.
    with tempfile.TemporaryDirectory() as folder, silences(built, Path(folder)) as silent:
        certificate = Certificate(Path(folder))
        for number, (language, game) in enumerate(matches(built, chosen.games, chosen.short)):
            try:
                secure = certificate if number % 2 else None
                ending, outcomes[language, game] = play(language, game, Path(folder), secure)
                if endings.setdefault(game, ending) != ending:
                    raise FailedError(f"ended with {ending}, and elsewhere with {endings[game]}")
            except FailedError as error:
                outcomes[language, game] = "FAILED"
                failures.append(f"{language}, {game}: {error}")
        for language in built:
            try:
                check_errors(language, Path(folder), certificate)
                if language == "typescript":
                    check_package(Path(folder))
                print(f"{language}: {silent[language].result()}", flush=True)
            except FailedError as error:
                failures.append(f"{language}: {error}")
        failures += check_restarts(built, chosen.games, Path(folder), chosen.short)

    print_table(outcomes, built, chosen.games)
    if chosen.frontend:
        try:
            check_frontend(LOGS)
        except FailedError as error:
            failures.append(f"frontend: {error}")
    for failure in failures:
        print(failure)
    return int(bool(failures))


def arguments() -> argparse.Namespace:
    """Returns what the caller has asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--languages", type=names_of(LANGUAGES), default=list(LANGUAGES))
    parser.add_argument("--games", type=names_of(GAMES), default=list(GAMES))
    parser.add_argument(
        "--frontend",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="play with the front end in a browser",
    )
    parser.add_argument(
        "--short",
        action="store_true",
        default=os.environ.get("SHORT") == "1",
        help="play each game in one language only; also by SHORT=1",
    )
    return parser.parse_args()


def names_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Returns a parser of names with commas between them."""

    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"no {', '.join(unknown)}; there is {', '.join(known)}"
            )
        return names

    return parse


def has_tools(language: str) -> bool:
    """Whether a language can be built here; says so if not."""
    missing = [tool for tool in LANGUAGES[language].tools if shutil.which(tool) is None]
    if missing:
        print(f"{language}: SKIPPED, as there is no {' and no '.join(missing)} here", flush=True)
    return not missing


def write_schemas() -> None:
    """Writes the schemas that the stubs are made of; leaves those that have not changed."""
    # A newer file would be compiled again by tools that look at times.
    with tempfile.TemporaryDirectory() as folder:
        command = [str(BIN / "croupier"), "schema", "--plain", "--output", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for source in Path(folder).rglob("*.proto"):
            target = SCHEMAS / source.relative_to(folder)
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def build(language: str) -> None:
    """Builds a client; its output goes to a file."""
    LOGS.mkdir(parents=True, exist_ok=True)
    carry_out(LANGUAGES[language].build, LOGS / f"{language}.log")


def carry_out(steps: Sequence[Step], path: Path) -> None:
    """Runs commands one after the other; their output goes to a file."""
    with path.open("w") as log:
        for step in steps:
            done = subprocess.run(
                step.command,
                cwd=ROOT / step.folder,
                env=ENVIRONMENT,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
            if done.returncode:
                log.flush()
                end = "\n".join(path.read_text().splitlines()[-30:])
                raise FailedError(f"{' '.join(step.command)} failed, see {path}\n{end}")


def matches(
    languages: Sequence[str], games: Sequence[str], short: bool
) -> Iterator[tuple[str, str]]:
    """Yields what to play in which language."""
    if not short:
        yield from ((language, game) for language in languages for game in games)
    elif languages:
        for index in range(max(len(languages), len(games))):
            yield languages[index % len(languages)], games[index % len(games)]


def play(
    language: str, game: str, folder: Path, certificate: Certificate | None
) -> tuple[object, str]:
    """Plays a match while its server dies twice; returns how it ended, and that in words."""
    budgets = f"[budgets.person]\ncalls_per_second = {CALLS_PER_SECOND}\n"
    budgets += f"searches_per_second = {CALLS_PER_SECOND}\n"
    with serving(folder, certificate, budgets) as server:
        command = [*command_of(language), "--server", server.address]
        command += ["--game", game, "--seed", str(SEED)]
        if certificate:
            command += ["--ca", str(certificate.authority)]
        began = time.monotonic()
        client = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        watchdog = threading.Timer(MATCH_SECONDS, client.kill)
        watchdog.start()
        assert client.stdout
        lines = []
        for line in client.stdout:
            lines.append(line)
            if line.startswith(f"decision {STOP_AT} "):
                server.stop()
                server.start()
            elif line.startswith(f"decision {KILL_AT} "):
                server.kill()
                server.start()
        status = client.wait()
        watchdog.cancel()
        took = time.monotonic() - began
    if status:
        raise FailedError(f"exit status {status}\n{''.join(lines[-10:])}")
    outcome = json.loads(lines[-1])
    ending = outcome["scores"], outcome["reason"], outcome["decisions"]
    if outcome["game"] != game or outcome["decisions"] <= KILL_AT:
        raise FailedError(f"an unlikely match: {outcome}")
    if outcome["resumes"] < 2:
        raise FailedError(f"the stream broke twice, and the client has not noticed: {outcome}")
    score = "–".join(f"{each:g}" for each in outcome["scores"])
    text = f"{score} after {outcome['decisions']} decisions, "
    text += f"{outcome['resumes']} resumes, {outcome['retries']} retries"
    gateway = "TLS" if certificate else "plain"
    print(f"{language}, {game}: {text} ({gateway}, {took:.1f} s)", flush=True)
    return ending, text


def check_errors(language: str, folder: Path, certificate: Certificate) -> None:
    """Checks that a client says what an error comes with, and repeats no call in vain."""
    with serving(folder, None, "[budgets.address]\nmatches_per_hour = 0\n") as server:
        check_error(language, server, ("--game", "whist"), ("GAME_NOT_FOUND",))
        check_error(language, server, ("--game", "?"), ("INVALID_FIELD", "name", "STRING_PATTERN"))
        # It says to come back in an hour, which is too long to wait.
        wanted = ("BUDGET_EXHAUSTED", "matches_per_hour", "quota", "retry after")
        check_error(language, server, ("--game", "skystones"), wanted)
    with serving(folder, certificate, "") as server:
        check_error(language, server, ("--tls",), ("certificat",))
    print(f"{language}: shows errors", flush=True)


@contextmanager
def silences(languages: Sequence[str], folder: Path) -> Iterator[dict[str, Future[str]]]:
    """Checks beside the block, as it takes long waiting, how each client takes silent streams."""

    def check(language: str) -> str:
        silence = check_silence(language, server.address)
        return f"resumed a silent stream after {silence:.1f} s"

    with (
        tempfile.TemporaryDirectory(dir=folder) as own,
        serving(Path(own), None, "") as server,
        ThreadPoolExecutor() as pool,
    ):
        yield {language: pool.submit(check, language) for language in languages}


def check_restarts(
    languages: Sequence[str], games: Sequence[str], folder: Path, short: bool
) -> list[str]:
    """Restarts a server at every kind of decision of the other player; returns what failed."""
    failures = []
    endings: dict[str, object] = {}
    slowest: dict[str, float] = {}
    with serving(folder, None, "") as server:
        for language, game in matches(languages, games, short):
            try:
                found = play_with_restarts(
                    language, game, server, SEED, SHORT_RESTARTS if short else None
                )
                if endings.setdefault(game, found.ending) != found.ending:
                    raise FailedError(f"ended with {found.ending}, not {endings[game]}")
            except FailedError as error:
                failures.append(f"{language}, {game}, restarts: {error}")
                continue
            slowest[language] = max(slowest.get(language, 0), found.slowest)
            print(f"{language}, {game}: answered within {found.slowest:.1f} s at", flush=True)
            print("".join(f"    {kind}\n" for kind in found.kinds), end="", flush=True)
    for language, seconds in slowest.items():
        print(f"{language}: answered at the latest {seconds:.1f} s after the server was back")
    return failures


def check_package(folder: Path) -> None:
    """Checks that the client in TypeScript plays with the package as `npm pack` makes it."""
    user = folder / "user"
    user.mkdir()
    (user / "package.json").write_text('{"private": true, "type": "module"}')
    wanted = json.loads((EXAMPLES / "typescript/package.json").read_text())["dependencies"]
    node = f"@connectrpc/connect-node@{wanted['@connectrpc/connect-node']}"
    pack = ("npm", "pack", "--pack-destination", str(folder))
    install = ("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", node)
    carry_out([Step("clients/typescript", pack)], LOGS / "pack.log")
    [tarball] = folder.glob("*.tgz")
    carry_out([Step(str(user), (*install, str(tarball)))], LOGS / "install.log")
    shutil.copy(EXAMPLES / "typescript/dist/main.js", user)
    with serving(folder, None, "") as server:
        command = ("node", "main.js", "--server", server.address, "--game", "castle_rampage")
        carry_out([Step(str(user), command)], LOGS / "user.log")
    print("typescript: plays with the packed package", flush=True)


def check_error(
    language: str, server: Server, options: Sequence[str], wanted: Sequence[str]
) -> None:
    """Checks that a client fails, and that some texts are in what it says."""
    command = [*command_of(language), "--server", server.address, *options]
    began = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=MATCH_SECONDS, check=False
    )
    took = time.monotonic() - began
    missing = [text for text in wanted if text not in done.stderr]
    if done.returncode != 1 or missing or took > REFUSAL_SECONDS:
        raise FailedError(f"{options}: {missing} missing after {took:.0f} s: {done}")


def print_table(
    outcomes: dict[tuple[str, str], str], languages: Sequence[str], games: Sequence[str]
) -> None:
    """Prints what each match came to: a row for each language and game."""
    rows = [(lang, game, outcomes.get((lang, game), "")) for lang in languages for game in games]
    rows = [row for row in rows if row[2]]
    print()
    for language, game, text in [("language", "game", "result for the client – the bot"), *rows]:
        print(f"{language:<12}{game:<18}{text}")


if __name__ == "__main__":
    sys.exit(main())
