"""Build the container image, and run it as an operator would who trusts nothing in it.

The image is built by `make image` with buildah, on python:3.11-slim from its registry, or, where
that cannot be reached, on an equal base that mmdebstrap makes of Debian's packages. It runs with a
read-only root, without capabilities and new rights, with 512 MB of memory, on the network of this
machine. Checked is:

    what is in the image: no compiler, no pip, no sources of what was compiled; labels; the bill of
        materials; its user; and its size
    how long a start takes, and what the process may do
    that the health check tells a server that is ready from one that is not
    that whole matches can be played through the client, and the web app is served
    that SIGTERM ends the server with 0, and that a match goes on after the next start
    that in 512 MB, 1 GB and 2 GB the longest hints end nothing (scripts/check_memory.py)

This needs root, and the Debian packages buildah, podman, runc and mmdebstrap, which are installed
if they are missing. A machine that lacks what a step needs gets a line that says what was not
checked. SHORT=1 in the environment plays fewer matches. Exit status: 0 if all that was checked
holds, else 1.
"""

import json
import os
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.metadata import PathDistribution
from pathlib import Path

import check_memory
from steps import ROOT, SHORT, CheckError, attempt, free_port, run, say

from croupier.client import OPEN, Client, Seat, bot

FOLDER = ROOT / "build/image"
BASE = "localhost/python:3.11-slim"
IMAGE = "localhost/croupier:latest"
NAME = "croupier-check"
PROGRAMS = {"buildah": "buildah", "podman": "podman", "runc": "runc", "mmdebstrap": "mmdebstrap"}
BASE_PACKAGES = "ca-certificates,netbase,tzdata,python3.11,python3.11-venv,libpython3.11-dev"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
GAMES = ("castle_rampage", "champion_chess", "powershot_soccer", "skystones")
MEMORY = 512
ABOVE_BASE = 200  # MB; the image may add no more to its base.
TOOLS = {"as", "c++", "cc", "cpp", "g++", "gcc", "ld", "make", "pip", "pip3"}
SOURCES = {".c", ".h", ".pxd", ".pxi", ".pyi", ".pyx"}
START_SECONDS = 600  # Far more than a start takes: a server that never gets ready fails.
# This machine's user may raise no limit, as a container engine would by default.
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
# What each way to run a container needs; the first that works is taken.
RUNTIMES = (
    ("runc", ("--memory", f"{MEMORY}m")),
    ("crun", ("--memory", f"{MEMORY}m")),
    ("crun", ("--cgroups", "disabled")),
)


def main() -> None:
    """Runs all checks."""
    reason = missing()
    if reason:
        say(f"NOT CHECKED: the image. {reason}")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    set_up_storage()
    try:
        make_base()
        build()
        check_contents()
        check_running()
    except CheckError as error:
        sys.exit(f"check_image: {error}")
    finally:
        attempt("podman", "rm", "--force", "--volumes", NAME)
        attempt("podman", "volume", "rm", "--force", NAME)


def missing() -> str:
    """Returns why nothing can be checked here; installs what is missing, if it may."""
    lacking = [package for package, name in PROGRAMS.items() if not shutil.which(name)]
    if os.geteuid() != 0:
        return "It needs root."
    if lacking and not shutil.which("apt-get"):
        return f"These programs are missing: {', '.join(lacking)}."
    if lacking:
        say(f"Installing {', '.join(lacking)}.")
        quiet = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300")
        attempt(*quiet, "update")
        done = attempt(*quiet, "install", "-y", "--no-install-recommends", *lacking)
        if done.returncode:
            return f"apt-get could not install {', '.join(lacking)}: {done.stderr.strip()}"
    if attempt("unshare", "--mount", "true").returncode:
        return "This machine allows no mount name spaces, which containers need."
    return ""


def set_up_storage() -> None:
    """Makes buildah and podman keep all they have in the folder of this check."""
    driver = "vfs"  # Copies each layer whole, but needs nothing of the machine.
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        layers = [Path(folder, name) for name in ("lower", "upper", "work", "merged")]
        for layer in layers:
            layer.mkdir()
        options = "lowerdir={},upperdir={},workdir={}".format(*layers[:3])
        mount = ("mount", "-t", "overlay", "overlay", "-o", options, layers[3])
        if attempt(*mount).returncode == 0:
            run("umount", layers[3])
            driver = "overlay"
    storage = FOLDER / "storage.conf"
    storage.write_text(
        f'[storage]\ndriver = "{driver}"\n'
        f'runroot = "{FOLDER}/run-{driver}"\ngraphroot = "{FOLDER}/{driver}"\n'
    )
    os.environ["CONTAINERS_STORAGE_CONF"] = str(storage)


def make_base() -> None:
    """Gets the base image, or makes one like it of Debian's packages."""
    if attempt("buildah", "inspect", "--type", "image", BASE).returncode == 0:
        say("The base image is the one of the last run.")
        return
    registry = "docker.io/library/python:3.11-slim"
    pull = ("timeout", "60", "buildah", "pull", "--quiet", registry)
    if attempt(*pull).returncode == 0:
        run("buildah", "tag", registry, BASE)
        say(f"The base image is {registry}.")
        return
    began = time.monotonic()
    archive = FOLDER / "base.tar"
    # As the official image: no documents, no byte code, no static Python; `python` in the PATH.
    waste = '"$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/lib/*-linux-gnu/libpython*.a'
    waste += ' "$1"/usr/lib/python3.11/config-*/*.a'
    hooks = (
        'ln -s python3.11 "$1/usr/bin/python"',
        f"rm -rf {waste}",
        'find "$1/usr" -xdev -name __pycache__ -prune -exec rm -rf {} +',
    )
    options = [f"--customize-hook={hook}" for hook in hooks]
    include = f"--include={BASE_PACKAGES}"
    run("mmdebstrap", "--quiet", "--variant=minbase", include, *options, "bookworm", archive)
    container = run("buildah", "from", "scratch").strip()
    run("buildah", "add", "--quiet", container, archive, "/")
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    run("buildah", "config", "--env", f"PATH={path}", "--env", "LANG=C.UTF-8", container)
    run("buildah", "commit", "--quiet", "--rm", container, BASE)
    archive.unlink()
    seconds = time.monotonic() - began
    say(f"No registry answers: made a base of Debian 12 and its Python in {seconds:.0f} seconds.")


def build() -> None:
    """Builds the image by `make image`, in a plain chroot on the network of this machine."""
    began = time.monotonic()
    options = ["--isolation", "chroot", "--network", "host", "--pull-never"]
    if CERTIFICATES.exists():  # A proxy of this machine may have a certificate of its own.
        options += ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]
    # A Docker engine that answers is no help: what it builds is not where podman looks.
    done = attempt("scripts/build_image.sh", *options, DOCKER_HOST="unix:///nowhere")
    (FOLDER / "build.log").write_text(done.stdout + done.stderr)
    if done.returncode:
        tail = (FOLDER / "build.log").read_text().splitlines()[-20:]
        raise CheckError("\n".join(["the build failed (build/image/build.log):", *tail]))
    say(f"Built the image in {time.monotonic() - began:.0f} seconds.")


def check_contents() -> None:
    """Checks what is in the image, and prints how large its parts are."""
    [image] = json.loads(run("podman", "image", "inspect", IMAGE))
    [base] = json.loads(run("podman", "image", "inspect", BASE))
    above = (image["Size"] - base["Size"]) / 1e6
    say(f"The image has {image['Size'] / 1e6:.0f} MB, {above:.0f} MB above its base.")
    if above > ABOVE_BASE:
        raise CheckError(f"the image may have {ABOVE_BASE} MB above its base")
    if image["User"] != "10001:10001":
        raise CheckError(f"the user is {image['User']}")
    labels = image["Labels"]
    for label in ("created", "licenses", "revision", "source", "title", "version"):
        name = f"org.opencontainers.image.{label}"
        if name not in labels:
            raise CheckError(f"the label {name} is missing")
        say(f"  {name}: {labels[name]}")
    root = Path(run("podman", "image", "mount", IMAGE).strip())
    try:
        check_files(root)
        check_materials(root)
    finally:
        attempt("podman", "image", "unmount", "--force", IMAGE)


def check_files(root: Path) -> None:
    """Checks that the image has neither tools to build with nor sources of what was compiled."""
    faults = []
    ours = root / "opt/croupier"
    for path in root.rglob("*"):
        source = ours in path.parents and path.suffix in SOURCES
        tool = path.name in TOOLS and path.parent.name in ("bin", "sbin")
        package = path.name in ("ensurepip", "pip", "setuptools") and path.is_dir()
        if source or tool or package:
            faults.append(str(path.relative_to(root)))
    if faults:
        raise CheckError(f"the image has {', '.join(sorted(faults)[:20])}")
    say("It has no compiler, no pip, and no source of what was compiled.")


def check_materials(root: Path) -> None:
    """Checks that the bill of materials names what is installed, and nothing else."""
    document = json.loads((FOLDER / "sbom.cdx.json").read_text())
    components = [document["metadata"]["component"], *document["components"]]
    listed = {(each["name"], each["version"]) for each in components}
    [site] = root.glob("opt/croupier/lib/python3*/site-packages")
    metadata = [PathDistribution(path) for path in site.glob("*.dist-info")]
    installed = {(each.metadata["Name"], each.version) for each in metadata}
    if listed != installed:
        raise CheckError(f"the bill of materials differs from the image in {listed ^ installed}")
    say(
        f"The bill of materials, CycloneDX {document['specVersion']}, names {len(listed)} packages."
    )


def check_running() -> None:
    """Checks the image as it runs."""
    runtime, restrictions = find_runtime()
    say(f"It runs by podman and {runtime}, with {' '.join(restrictions)}.")
    if "--memory" not in restrictions:
        say(f"NOT CHECKED: the limit of {MEMORY} MB, as this machine allows no control groups.")
    address, web, metrics = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}", free_port()
    ports = {"CROUPIER_LISTEN": address, "CROUPIER_WEB": web, "CROUPIER_METRICS_PORT": metrics}
    environment = [part for name, value in ports.items() for part in ("--env", f"{name}={value}")]
    command = ["podman", "--runtime", runtime, "create", "--name", NAME, "--network", "host"]
    command += ["--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp:rw,size=64m,mode=1777"]
    command += ["--cap-drop", "all", "--security-opt", "no-new-privileges"]
    command += ["--volume", f"{NAME}:/data", *restrictions, *LIMITS, *environment]
    attempt("podman", "rm", "--force", "--volumes", NAME)
    run(*command, IMAGE)
    ready = f"http://127.0.0.1:{metrics}/readyz"
    say(f"From the start of the container to a server that is ready: {start(ready):.2f} s.")
    check_restrictions()
    check_health()
    with urllib.request.urlopen(f"http://{web}/") as page:
        say(f"The web app answers with {page.status}.")
    with Client(address) as client:
        for game in GAMES[-1:] if SHORT else GAMES:
            seat = client.create_match(game, seats=(OPEN, bot("casual"))).seats[0]
            say(f"A match of {game} through the client: {play(seat)} decisions.")
        begun = client.create_match(GAMES[0], seats=(OPEN, bot("casual"))).seats[0]
        begun.submit(begun.view().legal_actions[0])
        say(f"SIGTERM ended the container with 0 in {stop():.2f} s.")
        start(ready)
        say(f"After the next start the match went on to the end: {play(begun)} decisions.")
    stop()
    if "--memory" not in restrictions:
        return
    for memory in (MEMORY,) if SHORT else check_memory.MEMORY:
        attempt("podman", "rm", "--force", "--volumes", NAME)
        run(*command, "--memory", f"{memory}m", IMAGE)
        start(ready)
        for seats in check_memory.SEATS[:1] if SHORT else check_memory.SEATS:
            say(f"Hints in {memory} MB, {seats} seats:")
            check_memory.load(address, metrics, seats, 10.0 if SHORT else check_memory.SECONDS)
        stop()


def find_runtime() -> tuple[str, Sequence[str]]:
    """Returns how containers can be run here: the runtime, and its options."""
    said = []
    for runtime, options in RUNTIMES:
        command = ["podman", "--runtime", runtime, "run", "--rm", "--network", "host"]
        done = attempt(*command, *options, *LIMITS, BASE, "true")
        if done.returncode == 0:
            return runtime, options
        said.append(f"{runtime} {' '.join(options)}: {done.stderr.strip()}")
    raise CheckError("podman can run no container here:\n" + "\n".join(said))


def start(ready: str) -> float:
    """Starts the container; returns after how many seconds its server is ready."""
    began = time.monotonic()
    run("podman", "start", NAME)
    while time.monotonic() < began + START_SECONDS:
        try:
            with urllib.request.urlopen(ready) as response:
                if response.status == 200:
                    return time.monotonic() - began
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.01)
    raise CheckError("the server does not get ready:\n" + logs())


def stop() -> float:
    """Ends the container by SIGTERM; returns after how many seconds. It must exit with 0."""
    began = time.monotonic()
    run("podman", "kill", "--signal", "TERM", NAME)
    status = run("podman", "wait", NAME).strip()
    seconds = time.monotonic() - began
    if status != "0":
        raise CheckError(f"after SIGTERM the container ended with {status}:\n{logs()}")
    return seconds


def check_restrictions() -> None:
    """Checks what the process of the container may do."""
    status = dict(
        line.split(":\t", 1) for line in inside("cat /proc/1/status").splitlines() if ":\t" in line
    )
    wanted = {"CapEff": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1"}
    wanted |= {"Uid": "\t".join(["10001"] * 4), "Gid": "\t".join(["10001"] * 4)}
    for name, value in wanted.items():
        if status[name] != value:
            raise CheckError(f"{name} of the process is {status[name]}")
    written = inside(
        "for d in / /opt/croupier /data /tmp; do touch $d/x 2>&- && echo $d; done; true"
    )
    if written.split() != ["/data", "/tmp"]:
        raise CheckError(f"the process can write to {written.split()}")
    used = int(status["VmRSS"].split()[0]) / 1024
    say("The process is 10001:10001, has no capabilities and gets none.")
    say("It can write to /data and /tmp only.")
    say(f"It has {used:.0f} MB of memory.")


def check_health() -> None:
    """Checks that the health check tells a server that is ready from none."""
    run("podman", "healthcheck", "run", NAME)
    done = attempt("podman", "exec", "--env", "CROUPIER_METRICS_PORT=1", NAME, "healthcheck")
    if done.returncode != 1:
        raise CheckError(f"without a server the health check ends with {done.returncode}")
    say("The health check tells a server that is ready from none.")


def play(seat: Seat) -> int:
    """Plays a match by hints; returns the number of decisions."""
    decisions = 0
    for _ in seat.turns():
        seat.submit(seat.suggest(iterations=200).action)
        decisions += 1
    if not seat.record().result.scores:
        raise CheckError("a match has no result")
    return decisions


def inside(script: str) -> str:
    """Runs a script of bash in the container; returns what it prints."""
    return run("podman", "exec", NAME, "bash", "-c", script)


def logs() -> str:
    """Returns what the container has printed."""
    done = attempt("podman", "logs", NAME)
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
