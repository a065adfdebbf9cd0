"""Build the clients in examples/ and play whole matches with each while their server dies.

In each match against a bot the server is stopped once in order and killed once, and started again
with the same port and the same log; it allows few calls per second, and every second match is
played over TLS. Then the client joins a match in which this script plays the other seat: at each
kind of decision that this seat makes while the client waits, the server is stopped or killed, in
turn, and the client must answer soon after. In a match of its own, the server is held up for longer
than a stream may be silent, which the client must notice. The matches of a game have the same seed,
so they must end alike in every language. Then each client must show what some errors come with, and
the one in TypeScript must play with the packed package. At last two accounts of the front end in
examples/frontend/ play each other in Chromium.

A language whose tools are not installed is left out, and a line says so.
Exit status: 0 if every match that was played has ended as it should, else 1.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from croupier.client import INVITED, OPEN, Client, Seat
from croupier.v1 import game_pb2, match_pb2
from tests.support.certificates import Authority
from tests.support.ports import free_port

ROOT = Path(__file__).parents[1]
BIN = ROOT / ".venv/bin"
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}  # For its protoc.
SCHEMAS = ROOT / "examples/schemas"
FRONTEND = ROOT / "examples/frontend"
LOGS = ROOT / "build/examples"
GAMES = ("castle_rampage", "champion_chess", "powershot_soccer", "skystones")
SEED = 7
STOP_AT, KILL_AT = 3, 6  # After which decision of the client; every match has more.
MATCH_SECONDS = 300  # Far more than a match takes: a client that hangs fails.
CALLS_PER_SECOND = 25  # Few enough that a long match has to wait for its budget.
HELD_UP_SECONDS = 15  # A client takes a stream as lost after 12.5.
ANSWER_SECONDS = 5  # From when the server is back until the client has answered.
SHORT_RESTARTS = 2  # In a match of the short form: one of each kind.
REFUSAL_SECONDS = 20  # Less than a client tries again when nobody answers.


class Language(NamedTuple):
    """How the client in one language is built, in which folders, and run."""

    tools: Sequence[str]
    build: Sequence[tuple[str, str]]
    run: Sequence[str]


NPM = "npm ci --no-audit --no-fund && npm run check && npm run build"
LANGUAGES = {
    "go": Language(
        ("go",),
        [("examples/go", "go generate && go vet . && go build -o bin/ .")],
        (f"{ROOT}/examples/go/bin/client",),
    ),
    "typescript": Language(
        ("node", "npm"),
        [
            ("clients/typescript", NPM),
            ("examples/typescript", NPM.replace("npm ci", "npm install --no-package-lock")),
        ],
        ("node", f"{ROOT}/examples/typescript/dist/main.js"),
    ),
    "java": Language(
        ("java", "mvn"),
        [("examples/java", "mvn --batch-mode package")],
        ("java", "-jar", f"{ROOT}/examples/java/target/croupier-client.jar"),
    ),
    "rust": Language(
        ("cargo",),
        [("examples/rust", "cargo build")],
        (f"{ROOT}/examples/rust/target/debug/croupier-client",),
    ),
}


class FailedError(Exception):
    """A build or a match that did not end as it should."""


class Server:
    """A server that can be killed and started again with the same port and the same log."""

    def __init__(
        self,
        folder: Path,
        budgets: str,
        certificate: tuple[Path, Path] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        callers = folder / "callers.toml"
        callers.write_text(budgets)
        self.address = f"127.0.0.1:{free_port()}"
        self._command = [str(BIN / "croupier"), "serve", "--listen", self.address, "--web", "off"]
        self._command += ["--metrics-port", "0", "--allow-seeds"]
        self._command += ["--data", str(folder / "data"), "--callers-file", str(callers)]
        if certificate:
            cert, key = map(str, certificate)
            self._command += ["--tls-cert", cert, "--tls-key", key]
        self._command += options
        self.start()

    def start(self) -> None:
        """Starts the server; returns when it serves."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout
        if self.address not in (said := self._process.stdout.readline()):
            raise FailedError(f"the server did not start: {said}")

    def restart(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends the server in order (SIGTERM) or like a crash, and starts it again."""
        self.end(how)
        self.start()

    def hold_up(self) -> None:
        """Lets the server answer nothing for a while, though its connections stay."""
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(HELD_UP_SECONDS)
        self._process.send_signal(signal.SIGCONT)

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends the server."""
        self._process.send_signal(how)
        self._process.communicate()


@contextmanager
def serving(budgets: str = "", certificate: tuple[Path, Path] | None = None) -> Iterator[Server]:
    """Serves until the block is left; `budgets` are those of a callers file."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), budgets, certificate)
        try:
            yield server
        finally:
            server.end()


class Player:
    """A client of examples/ that plays a match, and what it prints."""

    def __init__(self, language: str, game: str, server: Server, *options: str) -> None:
        command = [*LANGUAGES[language].run, "--server", server.address, "--game", game]
        self._process = subprocess.Popen(
            [*command, "--seed", str(SEED), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        self._watchdog = threading.Timer(MATCH_SECONDS, self._process.kill)
        self._watchdog.start()

    def lines(self) -> Iterator[str]:
        """Yields what it prints from now on."""
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.append(line)
            yield line

    def outcome(self) -> dict[str, Any]:
        """Waits for its end; returns the last line."""
        list(self.lines())
        if self._process.wait():
            raise self.failure(f"exit status {self._process.returncode}")
        return dict(json.loads(self._lines[-1]))

    def failure(self, text: str) -> FailedError:
        """Ends it; returns an error with the last lines."""
        self.end()
        self._lines += self.lines()
        return FailedError(f"{text}\n{''.join(self._lines[-10:])}")

    def end(self) -> None:
        """Ends it."""
        self._watchdog.cancel()
        self._process.kill()


def play_a_bot(language: str, game: str, server: Server, options: Sequence[str]) -> object:
    """Plays a match while its server dies twice; returns how it ended."""
    player = Player(language, game, server, *options)
    try:
        for line in player.lines():
            if line.startswith(f"decision {STOP_AT} "):
                server.restart(signal.SIGTERM)
            elif line.startswith(f"decision {KILL_AT} "):
                server.restart()
        outcome = player.outcome()
        if outcome["game"] != game or outcome["decisions"] <= KILL_AT:
            raise player.failure("an unlikely match")
        if outcome["resumes"] < 2:
            raise player.failure("the stream broke twice, and the client has not noticed")
    finally:
        player.end()
    print(f"{language}: {json.dumps(outcome)}", flush=True)
    return outcome["scores"], outcome["reason"], outcome["decisions"]


def play_with_restarts(
    language: str, game: str, server: Server, limit: int | None, held_up: bool = False
) -> object:
    """Plays a match with a client; with a `limit`, resigns after so many restarts.

    With `held_up`, the server does not end, but is held up.
    """
    with Client(server.address) as client:
        request = match_pb2.CreateMatchRequest(
            ruleset=client.game(game).default_ruleset,
            seats=(INVITED, OPEN),
            seed=SEED,
            hint_policy=game_pb2.HINT_POLICY_ALLOWED,
            request_id=str(uuid.uuid4()),
        )
        created = client.persist(client.match_stub.CreateMatch, request)

    def connect() -> Seat:
        # Anew after each restart, so that the answer of the client alone is measured.
        return Seat(Client(server.address), created.name, created.seat_tokens[0].token)

    invitation = created.invitations[0].invitation
    player = Player(language, game, server, "--name", language, "--join", invitation)
    chance = random.Random(SEED)
    ends: tuple[Callable[[], None], ...] = (partial(server.restart, signal.SIGTERM), server.restart)
    deaths = cycle((server.hold_up,) if held_up else ends)
    kinds: list[str] = []  # Of decisions, each with a restart before it.
    slowest, back = 0.0, 0.0  # Since when the server is back, until the client answers.
    seat = connect()
    try:
        view = seat.view()
        moved = False  # Whether the client has made the last decision.
        while not view.HasField("result"):
            if list(view.deciders) != [1]:
                newer = seat.view(wait_for_version=view.version + 1)
                moved = newer.version > view.version
                view = newer
                if moved and back:
                    slowest, back = max(slowest, time.monotonic() - back), 0.0
                    if slowest > ANSWER_SECONDS:
                        raise player.failure(f"answered {slowest:.1f} s after {kinds[-1]}")
                continue
            kind = kind_of(view)
            if kind not in kinds:
                if len(kinds) == limit:
                    view = seat.resign()
                    break
                if moved:  # It waits only when it has got the answer to its own decision.
                    awaited = f" at version {view.version - 1}\n"
                    if not any(line.endswith(awaited) for line in player.lines()):
                        raise player.failure("the client has ended too early")
                kinds.append(kind)
                next(deaths)()
                back = time.monotonic()
                seat.client.close()
                seat = connect()
            view = seat.submit(chance.choice(view.legal_actions), view.version)
            moved = False
        outcome = player.outcome()
        if view.players[0].display_name != language:
            raise player.failure(f"the client has another name: {view.players}")
        if outcome["resumes"] < len(kinds):
            raise player.failure(f"{len(kinds)} restarts, and the client has missed some")
    finally:
        player.end()
        seat.client.close()
    print(
        f"{language}, {game}: answered within {slowest:.1f} s at", *kinds, sep="\n    ", flush=True
    )
    return outcome["scores"], outcome["reason"], outcome["decisions"], kinds


def kind_of(view: game_pb2.View) -> str:
    """Names the kind of decision: who decides, in which phase, with which kinds of actions."""
    state = getattr(view, str(view.WhichOneof("game")))
    phases = state.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_number
    actions = (getattr(each, str(each.WhichOneof("game"))) for each in view.legal_actions)
    names = sorted({str(action.WhichOneof("action")) for action in actions})
    phase = phases[state.phase].name.rpartition("PHASE_")[2].lower()
    return f"{list(view.deciders)} {phase}: {', '.join(names)}"


def check_errors(language: str, certificate: tuple[Path, Path]) -> None:
    """Checks that a client says what an error comes with, and repeats no call in vain."""
    with serving("[budgets.address]\nmatches_per_hour = 1\n") as server:
        with Client(server.address) as client:
            client.create_match("skystones")
        check_error(language, server, ("--game", "whist"), ("GAME_NOT_FOUND",))
        check_error(language, server, ("--game", "?"), ("INVALID_FIELD", "name", "STRING_PATTERN"))
        # It says to come back in an hour, which is too long to wait.
        wanted = ("BUDGET_EXHAUSTED", "matches_per_hour", "quota", "retry")
        check_error(language, server, ("--game", "skystones"), wanted)
    with serving(certificate=certificate) as server:
        check_error(language, server, ("--tls",), ("certificat",))
    print(f"{language}: shows errors", flush=True)


def check_error(
    language: str, server: Server, options: Sequence[str], wanted: Sequence[str]
) -> None:
    """Checks that a client fails, and that some texts are in what it says, in any case."""
    command = [*LANGUAGES[language].run, "--server", server.address, *options]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=MATCH_SECONDS)
    took = time.monotonic() - began
    missing = [text for text in wanted if text.lower() not in done.stderr.lower()]
    if done.returncode != 1 or missing or took > REFUSAL_SECONDS:
        raise FailedError(f"{options}: {missing} missing after {took:.0f} s: {done}")


def check_package() -> None:
    """Checks that the client in TypeScript plays with the package as `npm pack` makes it."""
    wanted = json.loads((ROOT / "examples/typescript/package.json").read_text())["dependencies"]
    node = f"@connectrpc/connect-node@{wanted['@connectrpc/connect-node']}"
    with tempfile.TemporaryDirectory() as user, serving() as server:
        Path(user, "package.json").write_text('{"private": true, "type": "module"}')
        shutil.copy(ROOT / "examples/typescript/dist/main.js", user)
        carry_out("clients/typescript", f"npm pack --pack-destination {user}", "pack")
        carry_out(user, f"npm install --prefer-offline --no-audit --no-fund {node} *.tgz", "user")
        carry_out(user, f"node main.js --server {server.address} --game castle_rampage", "user")
    print("typescript: plays with the packed package", flush=True)


def check_frontend() -> None:
    """Installs the front end beside the client, and runs its test, as its page says."""
    if not Path(os.environ.get("CHROMIUM", "/usr/bin/chromium")).exists():
        print("frontend: SKIPPED, as there is no Chromium here (apt-get install chromium)")
        return
    folder = LOGS / "frontend"
    pip = f"{folder}/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt"
    carry_out(".", f"{sys.executable} -m venv --clear {folder}", "frontend")
    carry_out(".", f"{pip} -r {FRONTEND}/requirements.txt ./clients/python", "frontend")
    carry_out(".", "scripts/web.sh build", "frontend")
    carry_out(".", f"FRONTEND_PYTHON={folder}/bin/python scripts/web.sh frontend", "frontend")
    print("frontend: two accounts have played each other", flush=True)


def carry_out(folder: str, command: str, name: str) -> None:
    """Runs a command of the shell in a folder of the checkout; its output goes to a file."""
    path = LOGS / f"{name}.log"
    with path.open("w") as log:
        done = subprocess.run(
            command, shell=True, cwd=ROOT / folder, env=ENVIRONMENT, stdout=log, stderr=log
        )
    if done.returncode:
        end = "\n".join(path.read_text().splitlines()[-30:])
        raise FailedError(f"{command} failed, see {path}\n{end}")


def write_schemas() -> None:
    """Writes the schemas that the stubs are made of; leaves those that have not changed."""
    # A newer file would be compiled again by tools that look at times.
    with tempfile.TemporaryDirectory() as folder:
        carry_out(".", f"croupier schema --plain --output {folder}", "schemas")
        for source in Path(folder).rglob("*.proto"):
            target = SCHEMAS / source.relative_to(folder)
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def build(language: str) -> bool:
    """Builds a client; returns False, and says so, if its tools are missing here."""
    missing = [tool for tool in LANGUAGES[language].tools if shutil.which(tool) is None]
    if missing:
        print(f"{language}: SKIPPED, as there is no {' and no '.join(missing)} here", flush=True)
        return False
    began = time.monotonic()
    for folder, command in LANGUAGES[language].build:
        carry_out(folder, command, language)
    print(f"{language}: built in {time.monotonic() - began:.0f} s", flush=True)
    return True


def main() -> int:
    """Builds and plays; prints what failed at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--games", nargs="+", choices=GAMES, default=GAMES)
    parser.add_argument("--frontend", action=argparse.BooleanOptionalAction, default=True)
    chosen = parser.parse_args()
    short = os.environ.get("SHORT") == "1"  # Each game in one language only.
    failures: list[str] = []
    endings: dict[object, object] = {}  # How the first match of a game ended, for each way to play.

    def attempt(check: Callable[..., object], *arguments: object, alike: object = None) -> bool:
        try:
            ending = check(*arguments)
            if alike and endings.setdefault(alike, ending) != ending:
                raise FailedError(f"ended with {ending}, and elsewhere with {endings[alike]}")
        except FailedError as error:
            names = ", ".join(each for each in arguments if isinstance(each, str))
            failures.append(f"{check.__name__}({names}): {error}")
            return False
        return ending is not False

    LOGS.mkdir(parents=True, exist_ok=True)
    write_schemas()
    built = [each for each in chosen.languages if attempt(build, each)]
    pairs = [(language, game) for language in built for game in chosen.games]
    if short and built:
        most = max(len(built), len(chosen.games))
        pairs = [(built[i % len(built)], chosen.games[i % len(chosen.games)]) for i in range(most)]
    budgets = f"[budgets.person]\ncalls_per_second = {CALLS_PER_SECOND}\n"
    budgets += f"searches_per_second = {CALLS_PER_SECOND}\n"
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder), "authority")
        certificate = authority.issue()
        for number, (language, game) in enumerate(pairs):
            secure = certificate if number % 2 else None
            trust = ("--ca", str(authority.cert)) if secure else ()
            with serving(budgets, secure) as server:
                attempt(play_a_bot, language, game, server, trust, alike=game)
            limit = SHORT_RESTARTS if short else None
            with serving() as server:
                attempt(play_with_restarts, language, game, server, limit, alike=(game, limit))
        for language in built:
            with serving() as server:
                attempt(play_with_restarts, language, chosen.games[0], server, 1, True)
            attempt(check_errors, language, certificate)
        if "typescript" in built:
            attempt(check_package)
    if chosen.frontend:
        attempt(check_frontend)
    print(*failures, sep="\n", end="\n" if failures else "")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
