"""Packages match the sources: versions are pinned consistently, and no file is missing or extra."""

import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import tomllib
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from cli import new_game

ROOT = Path(__file__).parent.parent
SOURCES = (".csv", ".gz", ".json", ".proto", ".pxd", ".py", ".pyi", ".pyx", ".toml", ".typed")
SCHEMAS = ROOT / "croupier/v1/schemas"  # Copies, for `croupier schema`.
FORMS = ("full", "plain")
OURS = ("adapters", "ai", "cli", "engine", "games", "lab", "service", "wire")
BENCHES = ("lab/search_bench/", "lab/service_bench/", "lab/overload/")
BUILT = (".binpb", ".c", ".so", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py")


def by_name(lines):
    return {each.name: each for each in map(Requirement, lines)}


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CLIENT = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())
BUILD = by_name(PYPROJECT["build-system"]["requires"])
RUN = by_name(PYPROJECT["project"]["dependencies"])
CLIENT_BUILD = by_name(CLIENT["build-system"]["requires"])
CLIENT_RUN = by_name(CLIENT["project"]["dependencies"])
EXTRAS = PYPROJECT["project"]["optional-dependencies"] | CLIENT["project"]["optional-dependencies"]
GROUPS = PYPROJECT["dependency-groups"]
CONSTRAINTS = by_name(
    line for line in (ROOT / "constraints.txt").read_text().splitlines() if line[:1] != "#"
)


def test_stubs_are_generated_by_the_oldest_grpc_that_may_run_them():
    pin = str(CLIENT_BUILD["grpcio-tools"].specifier).removeprefix("==")
    assert f">={pin}" in str(CLIENT_RUN["grpcio"].specifier)
    wanted = by_name(requires("grpcio-tools"))["protobuf"].specifier
    assert CLIENT_RUN["protobuf"].specifier == wanted


def test_the_client_needs_grpc_and_protobuf_alone():
    assert CLIENT["project"]["name"] == "croupier"
    assert PYPROJECT["project"]["name"] == "croupier-server"
    assert set(CLIENT_RUN) == {"googleapis-common-protos", "grpcio", "protobuf"}


def test_client_and_server_agree():
    version = PYPROJECT["project"]["version"]
    assert CLIENT["project"]["version"] == version
    typescript = json.loads((ROOT / "clients/typescript/package.json").read_text())
    assert typescript["version"] == version
    unity = json.loads((ROOT / "clients/csharp/package.json").read_text())
    assert unity["version"] == version
    assert f'version="{version}"' in (ROOT / "clients/godot/addons/croupier/plugin.cfg").read_text()
    needed = RUN["croupier"]
    assert (str(needed.specifier), needed.extras) == (f"=={version}", {"terminal"})
    shared = [(name, BUILD[name], each) for name, each in CLIENT_BUILD.items()]
    extras = by_name(CLIENT["project"]["optional-dependencies"]["terminal"])
    shared += [(name, RUN[name], each) for name, each in (CLIENT_RUN | extras).items()]
    assert len(shared) == 8
    for name, ours, theirs in shared:
        assert ours.specifier == theirs.specifier, name


def test_every_dependency_is_pinned_within_its_range():
    wanted = [each for name, each in (BUILD | RUN).items() if name != "croupier"]
    wanted += [Requirement(line) for lines in (EXTRAS | GROUPS).values() for line in lines]
    pinned = {name.lower().replace("_", "-"): each for name, each in CONSTRAINTS.items()}
    for requirement in wanted:
        version = str(pinned[requirement.name].specifier).removeprefix("==")
        assert requirement.specifier.contains(version), requirement


def sources(*folders):
    """The names of the hand-written files in some folders."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.suffix in SOURCES and not path.name.endswith(BUILT) and SCHEMAS not in path.parents
    }


def test_sdist_holds_every_source_and_nothing_built(tmp_path):
    # All of it is one test because sdist links its files into a folder of the checkout, where two
    # tests would collide.
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", tmp_path]
    command += ["sdist", "--formats=tar", "--dist-dir", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert sources(*OURS, "croupier", "proto", "tests") <= names
    assert {"pyproject.toml", "setup.py", "constraints.txt", "LICENSE"} <= names
    assert "clients/python/build_proto.py" in names
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.*")} <= names
    by_hand = {
        "tests/fuzz/block_counters.c",
        "tests/support/faulty_disk.c",
        "tests/support/slow_disk.c",
    }
    assert {name for name in names if name.endswith(BUILT)} == by_hand
    assert not [name for name in names if name.startswith("croupier/v1/schemas/")]
    # Nothing that git ignores, such as the cache of a linter, but for what the build adds.
    ignored = ignored_by_git(names)
    built = ("croupier_server.egg-info", "service/gateway/static")
    assert not {name for name in ignored if not name.startswith(built)}


def ignored_by_git(names):
    command = ["git", "check-ignore", "--stdin", "--no-index"]
    given = "\n".join(sorted(names - {""}))
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.splitlines())


def built_files(project, folder, *commands):
    """The names of what a wheel of a project would hold, without its extensions."""
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", folder / "info"]
    for each in commands:
        command += [each, "-d", folder / "lib"]
    (folder / "info").mkdir()
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    wheel = folder / "lib"
    return {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}


def test_wheel_of_the_server_holds_modules_and_declarations(tmp_path):
    names = built_files(ROOT, tmp_path, "build_py")
    ours = {
        name
        for name in sources(*OURS)
        if (not name.endswith(".pyx") or name.startswith("games/leduc_poker/"))
        and not name.startswith(BENCHES)
    }
    assert not names & sources(*BENCHES)
    static = (ROOT / "service/gateway/static").rglob("*")  # The web app, if it was built.
    table = {path.relative_to(ROOT).as_posix() for path in static if path.is_file()}
    templates = {f"cli/game_template/{each}" for each in new_game.FILES.values()}
    templates.add("lab/balance/page.html")
    assert names == ours | table | templates


def test_wheel_of_the_client_holds_modules_and_stubs(tmp_path):
    names = built_files(ROOT / "clients/python", tmp_path, "build_proto", "build_py")
    schemas = [name.removeprefix("proto/") for name in sources("proto")]
    stubs = {
        schema.removesuffix(".proto") + end
        for schema in [*schemas, "buf/validate/validate.proto"]
        for end in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")
    }
    shipped = {path.relative_to(ROOT).as_posix() for path in SCHEMAS.rglob("*.*")}
    assert {
        f"croupier/v1/schemas/{form}/{schema}" for form in FORMS for schema in schemas
    } < shipped
    assert names == sources("croupier") | stubs | shipped


def wheel_of(folder, name, needs=()):
    """Writes a wheel that holds nothing but what it needs."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", "Requires-Python: >=3.11"]
    lines += [f"Requires-Dist: {each}" for each in needs]
    stem = f"{name.replace('-', '_')}-1.0"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        info = f"{stem}.dist-info"
        wheel.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_pip_finds_the_server_and_its_client_in_the_index_of_a_release(tmp_path):
    dist, index = tmp_path / "dist", tmp_path / "index"
    dist.mkdir()
    wheel_of(dist, "croupier")
    wheel_of(dist, "croupier-server", ["croupier==1.0"])
    write = [sys.executable, ROOT / "scripts/write_index.py", dist, index]
    subprocess.run(write, check=True)
    handler = partial(SimpleHTTPRequestHandler, directory=index)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/simple/"
        download = [sys.executable, "-m", "pip", "--isolated", "download", "-q", "--no-cache-dir"]
        got = tmp_path / "got"
        subprocess.run([*download, "--index-url", url, "-d", got, "croupier_server"], check=True)
        assert {each.name for each in got.iterdir()} == {each.name for each in dist.iterdir()}
        # What was changed on the way is not taken: each link has the hash.
        wheel = index / "simple/croupier/croupier-1.0-py3-none-any.whl"
        wheel.write_bytes(wheel.read_bytes() + b"x")
        again = subprocess.run([*download, "--index-url", url, "-d", got / "x", "croupier"])
        assert again.returncode
        server.shutdown()


def test_every_page_installs_from_where_the_packages_are():
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), ROOT / "clients/python/README.md"]
    commands = [
        (page.name, line)
        for page in pages
        for line in page.read_text().splitlines()
        if re.search(r"pip install\b.*\bcroupier(-server)?\b", line)
    ]
    assert len(commands) > 8
    for page, line in commands:
        assert re.search("--find-links dist|--extra-index-url http", line), (page, line)


def test_unity_gets_every_file_of_its_package(tmp_path):
    archives = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        pack = [sys.executable, ROOT / "scripts/pack_unity.py", folder]
        subprocess.run(pack, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1800000000"})
        archives += folder.iterdir()
    first, second = (archive.read_bytes() for archive in archives)
    assert first == second
    with tarfile.open(archives[0]) as archive:
        names = archive.getnames()
        metas = [name for name in names if name.endswith(".meta")]
        texts = [archive.extractfile(name).read().decode() for name in metas]
    assert all(name.startswith("package/") for name in names)
    # Unity looks for them beside files and folders, but not in what ends with a tilde.
    seen = {name for name in names if name not in metas and "~" not in name}
    seen |= {str(Path(name).parent) for name in seen} - {"package"}
    assert set(metas) == {f"{name}.meta" for name in seen}
    ids = {re.search("^guid: ([0-9a-f]{32})$", text, re.MULTILINE)[1] for text in texts}
    assert len(ids) == len(metas)
    assert {"package/package.json", "package/Runtime/Match.cs"} <= seen
    assert "package/Samples~/Console/Program.cs" in names
