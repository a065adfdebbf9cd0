"""Play whole matches with the client in C# while the server dies and lines are cut.

    python -m tests.csharp.check [--games skystones german_whist] [--matches 40] [--events 40]

Compiles clients/csharp/ with Mono, with all warnings as errors: the client, the samples, and the
transport for Unity against a stub of Unity that has one thread and frames. Checks how it takes
envelopes, errors and deadlines (Units.cs), and rude answers (Rude.cs). Then, for each game, and one
of examples/games/, it plays matches of five kinds (by hints, at random, both seats, against an
expired clock, with decisions ahead) over HttpClient and over Unity's transport, through a line that
is cut, slowed down and held up, while the server is killed and stopped. Chaos.cs demands of each
match: each version was told once and in order, up to the last of the record; the record has each
answered action once, and no other of the seat; no view was older than an answer before it.

Installs mono if it is root; says what is missing, and skips, where it cannot. SHORT=1 plays two
games only, briefly. Exit status: 0 if all holds, or nothing could be checked, else 1.
"""

import argparse
import collections
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.examples import GAMES, Server
from tests.csharp.line import Line
from tests.support.ports import free_port
from tests.support.rude import ROWS
from tests.support.rude_server import RudeServer

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/csharp"
BUILD = ROOT / "build/csharp"
PACKAGED = ("german_whist",)
PACKAGES = "mono-mcs mono-runtime libnewtonsoft-json5.0-cil libmono-system-net-http4.0-cil"
JSON = Path("/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll")
# As on the page, in the language that Mono's compiler begins with, 7.0: 7.3 takes it too.
COMPILE = ("mcs", "-warn:4", "-warnaserror", "-r:System.Net.Http", f"-r:{JSON}")
BUDGETS = "[budgets.person]\ncalls_per_second = 25\nsearches_per_second = 25\n"
AT_ONCE = 5
UP = 1.5  # Seconds for which a server stays up, so that something is done in between.
LIMIT = 1800  # Seconds: far more than it takes. A client that hangs fails.
# A browser gives no threads and timers, and IL2CPP strips what only reflection uses.
FORBIDDEN = (
    *("Task.Delay", "Task.Run", "ConfigureAwait", "new Thread", "Timer(", "CancelAfter"),
    *("Reflection", "JsonConvert", "FromObject", "ToObject", "dynamic ", "Activator"),
    *("(string)", "(bool?)", "(int?)", "(JArray)"),  # A peer may have said anything: see Json.cs.
)


def main() -> int:
    """Compiles and plays; prints what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    short = os.environ.get("SHORT") == "1"
    games = ("skystones", *PACKAGED) if short else (*GAMES, *PACKAGED)
    parser.add_argument("--games", nargs="+", default=games)
    parser.add_argument(
        "--matches", type=int, default=5 if short else 40, help="of a game, at least"
    )
    parser.add_argument("--events", type=int, default=3 if short else 40, help="kills, and cuts")
    parser.add_argument("--transports", nargs="+", default=("http", "unity"))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    chosen = parser.parse_args()
    if not installed():
        print(f"C#: SKIPPED, as there is no Mono here (apt-get install {PACKAGES})")
        return 0
    compile_all()
    print(f"seed {chosen.seed}", flush=True)
    failed = check_words() | run("Units.exe").returncode | check_calls()
    for transport in chosen.transports:
        failed |= check_rude(transport)
    for game in chosen.games:
        with tempfile.TemporaryDirectory() as folder:
            failed |= play(game, Path(folder), chosen)
    return int(bool(failed))


def installed() -> bool:
    """Whether Mono is there, after an attempt to install it."""
    if (
        not (shutil.which("mcs") and JSON.exists())
        and os.geteuid() == 0
        and shutil.which("apt-get")
    ):
        install = "apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends"
        subprocess.run(f"{install} {PACKAGES} >&2", shell=True, check=False)
    return bool(shutil.which("mcs")) and JSON.exists()


def compile_all() -> None:
    """Compiles the client, the sample and the tests into build/csharp/."""
    BUILD.mkdir(parents=True, exist_ok=True)
    shutil.copy(JSON, BUILD)
    here = Path(__file__).parent
    client = sorted(CLIENT.glob("Runtime/*.cs"))
    unity = [*sorted(CLIENT.glob("Runtime/Unity/*.cs")), here / "UnityStub.cs"]
    uses = (f"-r:{BUILD}/Croupier.dll",)
    steps: dict[str, tuple[object, ...]] = {
        "Croupier.dll": ("-target:library", *client),
        "Console.exe": (*uses, *CLIENT.glob("Samples~/Console/*.cs")),
        "Table.dll": ("-target:library", *uses, *unity, *CLIENT.glob("Samples~/Table/*.cs")),
        "Chaos.exe": (*uses, *unity, here / "Chaos.cs"),
        "Surface.exe": (*uses, here / "Surface.cs"),
        "Units.exe": (*uses, *unity, here / "Units.cs"),
        "Rude.exe": (*uses, *unity, here / "Rude.cs"),
    }
    for name, sources in steps.items():
        subprocess.run([*COMPILE, f"-out:{BUILD}/{name}", *map(str, sources)], check=True)


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program that was compiled; shows what it says if it fails, else the last line."""
    command = ["mono", "--debug", str(BUILD / program), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    print(done.stdout if done.returncode else done.stdout.splitlines()[-1], flush=True)
    return done


def check_words() -> int:
    """Looks for what does not work in every player of Unity; returns 1 if it is used."""
    found = [
        f"{path.name} has {word}"
        for path in CLIENT.glob("Runtime/**/*.cs")
        for word in FORBIDDEN
        if path.name != "HttpTransport.cs" and word in path.read_text()
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


def check_rude(transport: str) -> int:
    """Calls a server that is rude, by one transport; returns 1 if a client took it wrongly."""
    server = RudeServer()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.json")
        table.write_text(server.rows())
        command = ["mono", "--debug", str(BUILD / "Rude.exe"), str(table), transport]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
    wrong = server.judge(done.stdout.splitlines())
    print(
        *wrong,
        f"rude answers, {transport}: {len(ROWS)}, {len(wrong)} taken wrongly",
        sep="\n",
        flush=True,
    )
    return int(bool(wrong))


def check_calls() -> int:
    """Makes all calls at a server, and plays a match with the sample; returns 1 if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{(web := free_port())}"
        server = Server(Path(folder), "", options=("--web", f"127.0.0.1:{web}"))
        try:
            made = run("Surface.exe", url).returncode
            return made | run("Console.exe", url, "skystones", 100).returncode
        finally:
            server.end()


def play(game: str, folder: Path, chosen: argparse.Namespace) -> int:
    """Plays matches of a game while a thread disturbs them; returns 1 if one has failed."""
    os.environ["PYTHONPATH"] = install(game)
    web = free_port()
    gateway = ("--web", f"127.0.0.1:{web}", "--search-processes", "0")
    server = Server(folder, BUDGETS, options=gateway)
    line = Line(web)
    done = folder / "done"
    happened: collections.Counter[str] = collections.Counter()
    chance = random.Random(chosen.seed)
    over = threading.Event()
    least = -(-chosen.matches // len(chosen.transports))
    options = (str(least), str(AT_ONCE), str(chosen.seed), str(done))
    program = ("mono", "--debug", str(BUILD / "Chaos.exe"), f"http://127.0.0.1:{line.port}", game)
    programs = [
        subprocess.Popen([*program, *options, transport], stdout=subprocess.PIPE, text=True)
        for transport in chosen.transports
    ]

    def disturb() -> None:
        kinds = ("cut", "cut", "cut", "kill", "kill", "kill", "stop", "slow", "lose")
        while not over.wait(chance.uniform(0.3, 1.2)):
            kind = chance.choice(kinds)
            if kind == "cut":
                line.cut()
            elif kind == "slow":
                line.slow = not line.slow
            elif kind == "lose":
                line.lose()
            else:
                server.restart(signal.SIGTERM if kind == "stop" else signal.SIGKILL)
                over.wait(UP)
            happened[kind] += 1
            if min(happened["kill"], happened["cut"]) >= chosen.events:
                done.touch()

    def listen(program: subprocess.Popen[str]) -> str:
        try:
            return program.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            program.kill()
            return f"FAILED: it hangs\n{program.communicate()[0]}"

    def disturb_to_the_end() -> None:
        try:
            disturb()
        finally:
            done.touch()  # Also if the server does not start.

    disturbing = threading.Thread(target=disturb_to_the_end)
    disturbing.start()
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        said = "\n".join(pool.map(listen, programs))
    over.set()
    disturbing.join()
    server.end()
    report(game, said, happened, line.cuts, time.monotonic() - began)
    undisturbed = min(happened["kill"], happened["cut"]) < chosen.events
    return int(undisturbed or any(program.returncode for program in programs))


def report(
    game: str, said: str, happened: collections.Counter[str], cut: int, seconds: float
) -> None:
    """Prints the sums over the matches of a game, and whatever failed."""
    sums: collections.Counter[str] = collections.Counter()
    for text in said.splitlines():
        if text.startswith("{"):
            match = json.loads(text)
            sums[match["mode"]] += 1
            sums["matches"] += 1
            for name in ("versions", "decisions", "late", "lost", "reports"):
                sums[name] += match[name]
        elif text:
            print(text)
    print(f"{game}: {dict(sums)}; {dict(happened)}, {cut} lines cut; {seconds:.0f} s", flush=True)


def install(game: str) -> str:
    """Installs the package of a game in a folder of its own; returns what to add to the path."""
    package = ROOT / "examples/games" / game
    if not package.exists():
        return ""
    folder = BUILD / "games"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install")
    with tempfile.TemporaryDirectory() as copy:
        source = shutil.copytree(package, Path(copy, game))
        options = ("--no-deps", "--no-build-isolation", "--upgrade", "--target", folder)
        subprocess.run([*map(str, (*pip, *options, source))], check=True)
    return str(folder)


if __name__ == "__main__":
    sys.exit(main())
