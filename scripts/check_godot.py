"""Check the addon for Godot in clients/godot/ with a real Godot, in a root of its own.

Godot 4 comes from Debian's unstable suite by mmdebstrap and runs in a chroot, so this needs root;
without it, or without the network, it says so and ends with 0. It checks that all scripts load,
makes all calls, also to a server that is rude (tests/rude.gd), then lets tests/player.gd play whole
matches of each hosted game and of German Whist, through a proxy, while the server is killed and
started again, lines are cut, fall silent or are slow, and clocks run out. Then it compares what the
player has seen with what the server tells of the whole match, and what it has done with the record:

    each event was told once and in order, and none is missing
    each action that was answered is in the record once, and no other one
    no view was older than an answer before it

Exit status: 0 if all holds, else 1.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from croupier.client import Client, Seat
from croupier.messages import PACKAGED, GameMessages
from croupier.phrases import Words, ending_sentence
from croupier.v1 import catalog_pb2, game_pb2
from tests.support.ports import free_port
from tests.support.rude import ROWS
from tests.support.rude_server import RudeServer

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/godot"
PROJECT = FOLDER / "project"  # A copy, as Godot writes beside what it reads.
GODOT = Path(os.environ.get("GODOT_ROOT", FOLDER / "root"))
GAMES = ("castle_rampage", "champion_chess", "powershot_soccer", "skystones", "german_whist")
PACKAGES = ROOT / "examples/games"
MIRROR = ("mmdebstrap", "--variant=apt", '--aptopt=Acquire::Check-Valid-Until "false"')
PARTS = "--include=godot,ca-certificates,xvfb,xauth,libgl1-mesa-dri,libgl1,libegl1"
ENTER = """mount --bind "$1" "$0/project" && mount --bind /proc "$0/proc" && root="$0" && shift &&
exec chroot "$root" env HOME=/root "$@" """
MAIN_SCENE = """[gd_scene format=3]
[ext_resource type="Script" path="res://main.gd" id="1"]
[node name="Main" type="Node"]
script = ExtResource("1")
"""
SECONDS = 1800  # Far more than the matches of a game take: a player that hangs fails.


class CheckError(Exception):
    """Something that does not hold."""


class Proxy:
    """Stands between the player and the server; cuts lines, and lets them be silent or slow."""

    def __init__(self, target: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._target = target
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self.delay = 0.0  # Seconds that each piece takes.
        self._silent: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self._target), 5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1400 if self.delay else 65536):
                time.sleep(self.delay)
                if not self._is_silent(source):
                    sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _is_silent(self, source: socket.socket) -> bool:
        with self._lock:
            return any(source in pair for pair in self._silent)

    def silence(self) -> None:
        """Lets all lines of now stand, with nothing coming through any more."""
        with self._lock:
            self._silent = list(self._pairs)

    def cut(self) -> None:
        """Resets all lines of now, wherever in a message they are."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for each in pair:
                with suppress(OSError):
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    each.shutdown(socket.SHUT_RDWR)
                    each.close()


class Server:
    """A server with a fixed port and log, that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.address, self.port = f"127.0.0.1:{free_port()}", free_port()
        self._command = [sys.executable, "-m", "cli", "serve", "--listen", self.address]
        self._command += ["--web", f"127.0.0.1:{self.port}", "--metrics-port", "0"]
        # Without processes for searches it is back sooner.
        self._command += ["--data", str(folder / "data"), "--search-processes", "0"]
        # The games in examples/ are found beside the sources.
        paths = [str(ROOT), str(FOLDER / "games")]
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.start()

    def start(self) -> None:
        """Starts the server; returns when it serves."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
        )
        assert self._process.stdout
        if self.address not in (said := self._process.stdout.readline()):
            raise CheckError(f"the server did not start: {said}")

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends the server, in order or like a crash."""
        self._process.send_signal(how)
        self._process.communicate()


@contextmanager
def serving() -> Iterator[Server]:
    """Serves until the block is left."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            yield server
        finally:
            server.end()


def godot(project: Path, *arguments: str) -> list[str]:
    """Returns the command that runs a program in the root, with a project at /project."""
    return ["unshare", "-m", "sh", "-c", ENTER, str(GODOT), str(project), *arguments]


def install() -> str:
    """Makes the root with Godot, unless it is there; returns why that cannot be, or nothing."""
    if not (GODOT / "usr/bin/godot").exists():
        if os.geteuid() != 0:
            return "it needs root to make a root of its own"
        if shutil.which("mmdebstrap") is None:
            return "there is no mmdebstrap (apt-get install mmdebstrap)"
        FOLDER.mkdir(parents=True, exist_ok=True)
        made = subprocess.run([*MIRROR, PARTS, "sid", str(GODOT)], capture_output=True, text=True)
        if made.returncode:
            shutil.rmtree(GODOT, ignore_errors=True)
            return f"Debian's unstable suite cannot be had: {made.stderr.splitlines()[-1]}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    (GODOT / "project").mkdir(exist_ok=True)
    tried = subprocess.run(godot(FOLDER, "godot", "--version"), capture_output=True, text=True)
    if tried.returncode:
        return f"a chroot cannot be entered: {tried.stderr.strip()}"
    print("Godot", tried.stdout.strip(), flush=True)
    return ""


def prepare() -> None:
    """Copies the project, and installs German Whist where only these servers find it."""
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(
        ROOT / "clients/godot", PROJECT, ignore=shutil.ignore_patterns(".godot", "*.uid")
    )
    shutil.rmtree(FOLDER / "games", ignore_errors=True)
    package = FOLDER / "german_whist"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(PACKAGES / "german_whist", package)
    pip = [sys.executable, "-m", "pip", "-q", "install", "--no-build-isolation", "--no-deps"]
    subprocess.run([*pip, "--target", str(FOLDER / "games"), str(package)], check=True)


def load(project: Path = PROJECT) -> None:
    """Imports a project, as the editor does: no script may have an error or a warning."""
    if wrong := errors_in(run_godot(project, "--import").splitlines()):
        raise CheckError("\n".join(wrong))


def errors_in(said: Iterable[str]) -> list[str]:
    """Returns the errors and warnings that Godot said, but for what its own end leaves behind."""
    wrong = [line for line in said if "ERROR" in line or "WARNING" in line]
    return [line for line in wrong if "at exit" not in line]


def follow_page() -> None:
    """Does what docs/godot.md says: an empty project, the archive, the script; a whole match."""
    page = (ROOT / "docs/godot.md").read_text()
    [script] = re.findall(r"^```gdscript\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    project = FOLDER / "empty"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    subprocess.run([sys.executable, ROOT / "scripts/pack_godot.py", FOLDER], check=True)
    with zipfile.ZipFile(max(FOLDER.glob("*.zip"))) as archive:
        archive.extractall(project)
    (project / "project.godot").write_text('[application]\nrun/main_scene="res://main.tscn"\n')
    (project / "main.tscn").write_text(MAIN_SCENE)
    with serving() as server:
        url = f'\tclient.url = "http://127.0.0.1:{server.port}"\n'
        (project / "main.gd").write_text(script.replace("\tadd_child", url + "\tadd_child", 1))
        load(project)
        said = run_godot(project)
    if "so far: " not in said or "Rounds won" not in said or "SCRIPT ERROR" in said:
        raise CheckError(f"docs/godot.md: {said[-2000:]}")
    lines = len([line for line in script.splitlines() if line.strip()])
    print(f"docs/godot.md: {lines} lines play a whole match with hints", flush=True)


def call_the_rest() -> None:
    """Runs tests/surface.gd, which says each fault."""
    with serving() as server:
        url = f"http://127.0.0.1:{server.port}"
        said = run_godot(PROJECT, "--script", "res://tests/surface.gd", "--", url)
    if "FAULT" in said or "SCRIPT ERROR" in said or "done" not in said:
        raise CheckError(f"tests/surface.gd: {said}")
    print("invitations, decisions ahead, reviews, puzzles, errors: as they should be", flush=True)


def answer_rudely() -> None:
    """Runs tests/rude.gd against a server that is rude."""
    server = RudeServer()
    (PROJECT / "rude.json").write_text(server.rows())
    said = run_godot(PROJECT, "--script", "res://tests/rude.gd").splitlines()
    said = [
        line
        for line in said
        if line[:1] == "{" or line == "done" or "FAULT" in line or "SCRIPT" in line
    ]
    if wrong := server.judge(said):
        raise CheckError("\n".join(["tests/rude.gd:", *wrong[:40]]))
    print(f"rude answers: {len(ROWS)}, each taken as it should be", flush=True)


def run_godot(project: Path, *arguments: str) -> str:
    """Runs a project without a screen; returns what it prints."""
    done = subprocess.run(
        godot(project, "godot", "--headless", "--path", "/project", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode:
        raise CheckError(done.stdout[-2000:])
    return done.stdout


def play(game: str, options: argparse.Namespace) -> None:
    """Plays the matches of a game under attack, and compares."""
    chance = random.Random(f"{options.seed} {game}")
    enough = PROJECT / "enough"
    with serving() as server:
        proxy = Proxy(server.port)
        enough.unlink(missing_ok=True)
        url = f"http://127.0.0.1:{proxy.port}"
        at_once = min(options.at_once, options.matches)
        arguments = [url, game, options.matches, at_once, options.seed, options.think]
        command = godot(
            PROJECT,
            "godot",
            "--headless",
            "--path",
            "/project",
            "--script",
            "res://tests/player.gd",
        )
        player = subprocess.Popen(
            [*command, "--", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        watchdog = threading.Timer(SECONDS, player.kill)
        watchdog.start()
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(player.stdout or ()))
        reader.start()
        try:
            attacks = attack(player, lines, proxy, server, chance, options.matches, enough)
        finally:
            watchdog.cancel()
            player.kill()
            reader.join()
        matches = [json.loads(line) for line in lines if line.startswith("{")]
        played = [each for each in matches if "name" in each]
        if len(played) < options.matches or not enough.exists():
            raise CheckError(
                f"{game}: {len(played)} of {options.matches} matches\n{''.join(lines[-40:])}"
            )
        errors = errors_in(line for line in lines if not line.startswith("{"))
        faults = [f"{each['name']}: {fault}" for each in played for fault in each["faults"]]
        client = Client(server.address)
        described = client.game(game)
        for each in played:
            faults += compare(client, described, each)
        client.close()
    told = {
        "game": game,
        "matches": len(played),
        **attacks,
        "streams broken": sum(each["breaks"] for each in played),
        "calls repeated": next(each["retried"] for each in matches if "retried" in each),
        "decisions": sum(len(each["done"]) for each in played),
        "events": sum(len(each["events"]) for each in played),
        "hints": sum(each["hints"] for each in played),
        "refused": sorted({reason for each in played for reason in each["refused"]}),
    }
    print(json.dumps(told), flush=True)
    if faults or errors:
        raise CheckError("\n".join([game, *faults[:20], *errors[:20]]))


def attack(
    player: subprocess.Popen[str],
    lines: list[str],
    proxy: Proxy,
    server: Server,
    chance: random.Random,
    matches: int,
    enough: Path,
) -> dict[str, int]:
    """Does harm until the player, who says `lines`, has ended; returns how often each kind.

    Tells the player by the file `enough` when there were as many kills and cuts as `matches`, and
    then does less.
    """
    done = {"kills": 0, "stops": 0, "cuts": 0, "silences": 0, "slow": 0}
    heard = 0
    while player.poll() is None:
        # After some more decisions, so that a slow machine comes to its end too.
        if min(done["kills"], done["cuts"]) >= matches:
            enough.touch()
            proxy.delay = 0.0
        heard += chance.randint(1, 8) * (20 if enough.exists() else 1)
        while lines.count("decided\n") < heard and player.poll() is None:
            time.sleep(0.02)
        heard = lines.count("decided\n")
        kind = chance.choices(list(done), (5, 1, 5, 1, 1))[0]
        done[kind] += 1
        if kind in ("kills", "stops"):
            server.end(signal.SIGKILL if kind == "kills" else signal.SIGTERM)
            time.sleep(chance.uniform(0, 0.5))
            server.start()
        elif kind == "cuts":
            proxy.cut()
        elif kind == "silences":
            proxy.silence()
        else:
            proxy.delay = chance.choice((0.0, 0.02, 0.1))
    return done


def as_json(messages: GameMessages, message: Any, oneof: str = "game") -> Any:
    """Returns an action or an event as the gateway writes it in JSON."""
    if message.WhichOneof(oneof) != PACKAGED:
        return whole(MessageToDict(message))
    outer = type(message)()
    outer.CopyFrom(message)
    outer.ClearField(PACKAGED)
    inner = {"@type": message.packaged.type_url, **MessageToDict(messages.read(message, oneof))}
    return whole({**MessageToDict(outer), PACKAGED: inner})


def inner_of(messages: GameMessages, event: game_pb2.MatchEvent) -> Any:
    """Returns the game's own part of an event, or the event of the match around it."""
    return messages.read(event, "event") if messages.is_event(event) else event


def compare(client: Client, game: catalog_pb2.Game, seen: dict[str, Any]) -> list[str]:
    """Returns what is wrong in what the player has seen and done in a match."""
    name = seen["name"]
    seat = Seat(client, name, seen["token"])
    events = [
        event for change in seat.watch() for event in change.events if event.version > seen["from"]
    ]
    wrong = []
    record = seat.record()
    mine = next(
        number for number, each in enumerate(record.seats) if each.WhichOneof("occupant") == "open"
    )
    messages = GameMessages(game)
    told = [as_json(messages, event, "event") for event in events]
    if told != whole(seen["events"]):
        wrong.append(f"{name}: {len(seen['events'])} events were told, and there are {len(told)}")
    else:
        words = Words(game, reader=mine)
        said = [words.sentence("event", inner_of(messages, event)) for event in events]
        wrong += [
            f"{name}: says '{ours}' where Python says '{theirs}'"
            for ours, theirs in zip(seen["said"], said, strict=True)
            if ours != theirs
        ]
    over = ending_sentence(Words(game, reader=mine), record.result.ending)
    if record.result.HasField("ending") and seen["over"] != over:
        wrong.append(f"{name}: ended '{seen['over']}', and '{over}' in Python")
    actions = [
        as_json(messages, entry.action.action)
        for entry in record.entries
        if entry.WhichOneof("entry") == "action" and entry.action.seat == mine
    ]
    # A repeated call may be answered after a later one.
    done = [action for _, action in sorted(whole(seen["done"]), key=lambda each: each[0])]
    if actions != done:
        wrong.append(f"{name}: {len(done)} answered, and {len(actions)} in the record")
    return wrong


def whole(value: Any) -> Any:
    """Makes ints of whole floats, so that both sides compare."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: whole(each) for key, each in value.items()}
    return [whole(each) for each in value] if isinstance(value, list) else value


def main() -> int:
    """Runs all checks; prints what failed at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    short = os.environ.get("SHORT") == "1"
    parser.add_argument("--games", nargs="+", choices=GAMES, default=GAMES)
    parser.add_argument("--matches", type=int, default=3 if short else 40)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--think", type=float, default=0.3, help="seconds of a decision at most")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    if why_not := install():
        print(f"godot: SKIPPED, as {why_not}")
        return 0
    print("seed", options.seed, flush=True)
    failures: list[str] = []
    prepare()
    for check in (load, follow_page, call_the_rest, answer_rudely):
        try:
            check()
        except CheckError as error:
            failures.append(str(error))
    for game in options.games:
        try:
            play(game, options)
        except CheckError as error:
            failures.append(str(error))
    print(*failures, sep="\n", end="\n" if failures else "")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
