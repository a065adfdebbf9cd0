"""deploy/compose.yaml is valid, fits the other files, and gives no more rights than needed."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

if "TEST_DEPLOY" not in os.environ:
    pytest.skip(
        "`make check-deploy` installs what this needs, and runs it", allow_module_level=True
    )

import yaml

from service.admission.callers_file import read_callers_file
from service.running.server import GRACE_SECONDS, MAX_QUIET_SECONDS
from tests.deploy.typos import with_typo
from tests.deploy.variables import check_variables
from tests.support.waiting import wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
FILE = DEPLOY / "compose.yaml"
# The loader of Docker Compose, with its schema and its checks.
LOADER = Path(__file__).parents[2] / "build" / "deploy" / "bin" / "compose-spec"
DOCUMENT = yaml.safe_load(FILE.read_text())
SERVICES = DOCUMENT["services"]
COMMON = set(DOCUMENT["x-hardened"])
# Below these are names that belong to the programs in the containers.
OF_PROGRAMS = ("environment", "sysctls", "options")


def faults(file):
    """What is wrong with a file, such as a reference to what it does not define."""
    done = subprocess.run([LOADER, file], capture_output=True, text=True)
    if done.returncode:
        return [done.stderr]
    document = yaml.safe_load(file.read_text())
    return [
        f"{name} refers to {section[:-1]} {each}, which is not defined"
        for name, service in document["services"].items()
        for section, used in (
            ("services", service.get("depends_on", ())),
            ("networks", service["networks"]),
            ("volumes", [mount.partition(":")[0] for mount in service.get("volumes", ())]),
            ("secrets", service.get("secrets", ())),
        )
        for each in (used_name(use) for use in used)
        if not each.startswith(".") and each not in document.get(section, ())
    ]


def used_name(use):
    return use if isinstance(use, str) else use["source"]


def test_the_file_is_valid():
    assert faults(FILE) == []


def test_a_typo_is_found_wherever_it_is(tmp_path):
    file = tmp_path / "compose.yaml"
    tried, missed = 0, []
    sections = {key: DOCUMENT[key] for key in DOCUMENT if not key.startswith("x-")}
    for path, broken in with_typo(sections):
        own = (path[:1] == ("services",) and len(path) == 2) or set(path[:-1]) & set(OF_PROGRAMS)
        # What all services have in common is tried in one of them.
        common = path[1:2] != ("croupier-1",) and path[2:3] and path[2] in COMMON
        if own or common or path[1:2] in (("croupier-2",), ("croupier-search-2",)):
            continue
        file.write_text(yaml.safe_dump(broken))
        tried += 1
        if not faults(file):
            missed.append(path)
    assert missed == []
    assert tried > 100


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_no_rights_that_it_does_not_need(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service and "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert any(mount.startswith("/tmp:") for mount in service["tmpfs"])
    assert {"cpus", "mem_limit", "pids_limit", "stop_grace_period"} <= set(service)
    # The image of Croupier has a user and a health check of its own.
    if not name.startswith("croupier-"):
        assert re.fullmatch(r"\d+:\d+", service["user"])
        assert service["healthcheck"]["test"][0] == "CMD"
    tag = service["image"].removesuffix("}").rpartition(":")[2]
    assert re.search(r"\d+\.\d+", tag), "an image without a version"


@pytest.mark.parametrize("name", [name for name in SERVICES if name.startswith("croupier-")])
def test_a_server_gets_options_that_it_knows(name):
    service = SERVICES[name]
    variables = dict(service["environment"])
    if "search" not in name:
        assert variables.pop("CROUPIER_CONFIG") == "/run/secrets/croupier.toml"
    check_variables(variables)
    seconds = int(service["stop_grace_period"].removesuffix("s"))
    assert seconds >= 2 * (GRACE_SECONDS + MAX_QUIET_SECONDS)


def test_the_proxy_finds_the_servers_and_the_servers_believe_it():
    envoy = (DEPLOY / "envoy.yaml").read_text()
    for name in ("croupier-1", "croupier-2"):
        address = SERVICES[name]["networks"]["servers"]["ipv4_address"]
        assert f"address: {address}, port_value: 50051" in envoy
    for secret in SERVICES["envoy"]["secrets"]:
        assert secret["target"] in envoy


def test_only_match_servers_and_prometheus_reach_search_servers():
    reach = {name for name, service in SERVICES.items() if "search" in service["networks"]}
    searching = {"croupier-search-1", "croupier-search-2"}
    assert reach == searching | {"croupier-1", "croupier-2", "prometheus"}
    for name in searching:
        assert SERVICES[name]["networks"]["search"]["aliases"] == ["croupier-search"]
    assert DOCUMENT["networks"]["search"]["internal"] is True


@pytest.mark.parametrize("name", [name for name in SERVICES if name.startswith("croupier-")])
def test_a_match_server_leaves_a_processor_to_the_calls(name):
    service = SERVICES[name]
    threads = int(service["environment"]["CROUPIER_SEARCH_THREADS"])
    assert threads == max(1, service["cpus"] - ("search" not in name))


def test_the_backup_dumps_the_database_and_keeps_the_newest_dumps(postgres, tmp_path):
    (tmp_path / "password").write_text("not asked for here")
    for hour in range(60):
        (tmp_path / f"croupier-20250101T{hour:02}0000Z.dump").touch()
    script = SERVICES["backup"]["command"][-1].replace("$$", "$").replace("/backups", str(tmp_path))
    script = script.replace("/run/secrets/postgres-password", str(tmp_path / "password"))
    environment = {**os.environ, "PGHOST": str(postgres.socket.parent), "PGUSER": "croupier"}
    environment |= {"PGDATABASE": "postgres", "PATH": f"{postgres.programs}:{os.environ['PATH']}"}
    backup = subprocess.Popen(
        ["bash", "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    )
    said = backup.stdout.readline()
    wait_until(lambda: len(list(tmp_path.glob("*.dump"))) == 48)
    backup.terminate()
    assert backup.wait() == 0
    newest = sorted(tmp_path.glob("*.dump"))[-1]
    assert said == f"wrote {newest}\n"
    listed = subprocess.run(
        [postgres.programs / "pg_restore", "--list", newest], capture_output=True
    )
    assert listed.returncode == 0 and b"dbname: postgres" in listed.stdout


def test_what_is_mounted_exists():
    for service in SERVICES.values():
        for mount in service.get("volumes", ()):
            source = mount.partition(":")[0]
            if source.startswith("."):
                assert (DEPLOY / source).exists(), source


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to the users of images")
def test_each_secret_can_be_read_by_its_container_alone(tmp_path):
    folder = tmp_path / "secrets"
    command = [DEPLOY / "make_secrets.sh", folder, "cards.example.org"]
    subprocess.run(command, check=True)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert set(before) == set(DOCUMENT["secrets"])
    for name, service in SERVICES.items():
        user = 10001 if name.startswith("croupier-") else int(service["user"].partition(":")[0])
        for secret in service.get("secrets", ()):
            status = (folder / used_name(secret)).stat()
            assert status.st_uid == user
            assert stat.S_IMODE(status.st_mode) == 0o400
    check_variables({"CROUPIER_CONFIG": str(folder / "croupier.toml")})
    password = before["postgres-password"].decode().strip()
    store = f'store = "postgresql://croupier:{password}@postgres/croupier"'
    assert store in before["croupier.toml"].decode().splitlines()
    assert read_callers_file(folder / "callers.toml").trusted_proxies
    # Of a pair of one's own, none is replaced, and none is made up.
    for own, other in (("tls.crt", "tls.key"), ("tls.key", "tls.crt")):
        hidden = (folder / other).rename(tmp_path / other)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and "only one of" in done.stderr
        assert (folder / own).read_bytes() == before[own]
        hidden.rename(folder / other)
    # A second run changes nothing: the database knows only the first password.
    subprocess.run(command, check=True)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
