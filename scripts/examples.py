"""Build the clients in examples/ and play whole matches with each while their server dies.

The server has a SQLite log in a temporary folder. In each match it is stopped once in order and
killed once (SIGKILL), and started again with the same port and the same log. It allows a seat few
calls per second, and every second match is played over TLS. The matches of a game have the same
seed, so they must end alike in every language. Then each client must show what some errors come
with, and the one in TypeScript must also play with the packed package. At the end there is a table
of what each match came to.

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
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.service_bench.ports import free_port

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SCHEMAS = EXAMPLES / "schemas"
LOGS = ROOT / "build/examples"
BIN = ROOT / ".venv/bin"
GAMES = ("castle_rampage", "champion_chess", "powershot_soccer", "skystones")
SEED = 7
STOP_AT, KILL_AT = 3, 6  # After which decision of the client; every match has more.
MATCH_SECONDS = 180  # Far more than a match takes: a client that hangs fails.
CALLS_PER_SECOND = 25  # Few enough that a long match has to wait for its budget.
REFUSAL_SECONDS = 20  # Less than a client tries again when nobody answers.
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}  # For its protoc.


class Step(NamedTuple):
    """One command of a build."""

    folder: str
    command: Sequence[str]


class Language(NamedTuple):
    """How the client in one language is built and run."""

    tools: Sequence[str]
    build: Sequence[Step]
    run: Sequence[str]


LANGUAGES = {
    "go": Language(
        tools=("go",),
        build=(
            Step("examples/go", ("go", "generate")),
            Step("examples/go", ("go", "vet", "./...")),
            Step("examples/go", ("go", "build", "-o", "bin/", ".")),
        ),
        run=("examples/go/bin/client",),
    ),
    "typescript": Language(
        tools=("node", "npm"),
        build=(
            Step("clients/typescript", ("npm", "ci", "--no-audit", "--no-fund")),
            Step("clients/typescript", ("npm", "run", "check")),
            Step("clients/typescript", ("npm", "run", "build")),
            Step("examples/typescript", ("npm", "ci", "--no-audit", "--no-fund")),
            Step("examples/typescript", ("npm", "run", "check")),
            Step("examples/typescript", ("npm", "run", "build")),
        ),
        run=("node", "examples/typescript/dist/main.js"),
    ),
    "java": Language(
        tools=("java", "mvn"),
        build=(Step("examples/java", ("mvn", "--batch-mode", "package")),),
        run=("java", "-jar", "examples/java/target/croupier-client.jar"),
    ),
    "rust": Language(
        tools=("cargo",),
        build=(Step("examples/rust", ("cargo", "build", "--locked")),),
        run=("examples/rust/target/debug/croupier-client",),
    ),
}


class FailedError(Exception):
    """A build or a match that did not end as it should."""


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
    with tempfile.TemporaryDirectory() as folder:
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
            except FailedError as error:
                failures.append(f"{language}: {error}")

    print_table(outcomes, built, chosen.games)
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
        "--short",
        action="store_true",
        default=os.environ.get("SHORT") == "1",
        help="play each game in one language only; also by SHORT=1",
    )
    return parser.parse_args()


def names_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Returns a parser of names with commas between them."""

    def parse(text: str) -> list[str]:
        names = text.split(",")
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


class Certificate:
    """The certificate of a server on this machine, and of the authority that has issued it."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.cert, self.key = (
            folder / name for name in ("authority.pem", "server.pem", "server.key")
        )
        issuer = folder / "authority.key"
        self._issue(issuer, self.authority, "authority", "basicConstraints=critical,CA:TRUE")
        self._issue(
            *(self.key, self.cert, "server", "basicConstraints=critical,CA:FALSE"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-CA", str(self.authority), "-CAkey", str(issuer)),
        )

    def _issue(self, key: Path, cert: Path, name: str, kind: str, *options: str) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-days", "2", "-nodes"]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", f"/CN={name}", "-addext", kind]
        command += ["-keyout", str(key), "-out", str(cert), *options]
        subprocess.run(command, check=True, capture_output=True)


class Server:
    """A server that can be killed and started again with the same port and the same log."""

    def __init__(self, folder: Path, certificate: Certificate | None, budgets: str) -> None:
        callers = folder / "callers.toml"
        callers.write_text(budgets)
        self.address = f"127.0.0.1:{free_port()}"
        self._command = [str(BIN / "croupier"), "serve", "--listen", self.address, "--web", "off"]
        self._command += ["--metrics-port", "0", "--allow-seeds"]
        self._command += ["--data", str(folder / "data"), "--callers-file", str(callers)]
        if certificate:
            self._command += ["--tls-cert", str(certificate.cert)]
            self._command += ["--tls-key", str(certificate.key)]
        self.start()

    def start(self) -> None:
        """Starts the server; returns when it serves."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout
        said = self._process.stdout.readline()
        if self.address not in said:
            raise FailedError(f"the server did not start: {said}")

    def stop(self) -> None:
        """Stops the server in order."""
        self._process.terminate()
        self._process.communicate()

    def kill(self) -> None:
        """Kills the server, like a crash."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def serving(folder: Path, certificate: Certificate | None, budgets: str) -> Iterator[Server]:
    """Serves until the block is left; `budgets` are those of a callers file."""
    server = Server(folder, certificate, budgets)
    try:
        yield server
    finally:
        server.kill()


def command_of(language: str) -> list[str]:
    """Returns the command of a client, with absolute paths."""
    return [
        str(ROOT / part) if part.startswith("examples/") else part
        for part in LANGUAGES[language].run
    ]


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
