"""A release is verified only if nobody has changed it; its statements on vulnerabilities hold."""

import hashlib
import json
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
WHEEL, SDIST = "croupier-0.2.0-py3-none-any.whl", "croupier-0.2.0.tar.gz"
VEX = json.loads((ROOT / "deploy/croupier.openvex.json").read_text())


def make_key(path):
    command = ["minisign", "-G", "-W", "-f", "-p", f"{path}.pub", "-s", path]
    subprocess.run(command, check=True, capture_output=True)


class Release:
    """A small release that is signed, and the same packages as somebody else has built them."""

    def __init__(self, folder):
        self.files, self.built, self.key = folder / "files", folder / "built", folder / "key"
        make_key(self.key)
        for each in (self.files, self.built):
            each.mkdir()
            (each / WHEEL).write_bytes(b"wheel")
            (each / SDIST).write_bytes(b"sources")
        self.sign()

    def sign(self):
        lines = [
            f"{hashlib.sha256((self.files / name).read_bytes()).hexdigest()}  {name}\n"
            for name in (WHEEL, SDIST)
        ]
        sums = self.files / "SHA256SUMS"
        sums.write_text("".join(lines))
        command = ["minisign", "-S", "-s", self.key, "-m", sums]
        subprocess.run(command, check=True, capture_output=True)

    def verify(self):
        """Returns the status, and what is printed."""
        program = ROOT / "scripts/verify_release.sh"
        command = [program, self.files, f"{self.key}.pub", self.built]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": "/usr/bin:/bin"},
        )
        return done.returncode, done.stdout


@pytest.fixture
def release(tmp_path):
    if not shutil.which("minisign"):
        pytest.skip("minisign is not installed: apt-get install minisign")
    return Release(tmp_path)


def test_a_release_is_verified(release):
    (release.files / "provenance.intoto.jsonl").write_text("{}")
    status, said = release.verify()
    assert status == 0, said
    assert f"Built again, with equal bytes: {WHEEL}" in said
    (release.built / SDIST).unlink()
    assert f"NOT BUILT AGAIN: {SDIST}" in release.verify()[1]


def flip(path):
    """Changes a bit of a file."""
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


CHANGES = {
    "another wheel": (lambda it: flip(it.files / WHEEL), f"verify_release: {WHEEL}: FAILED"),
    "no wheel": (lambda it: (it.files / WHEEL).unlink(), f"{WHEEL}: FAILED open or read"),
    "one more wheel": (lambda it: (it.files / "x.whl").touch(), "x.whl is not in SHA256SUMS"),
    "other hashes": (lambda it: flip(it.files / "SHA256SUMS"), "SHA256SUMS is not what"),
    "no signature": (
        lambda it: (it.files / "SHA256SUMS.minisig").unlink(),
        "SHA256SUMS is not what",
    ),
    "another key": (lambda it: make_key(it.key), "SHA256SUMS is not what"),
    "no key": (lambda it: Path(f"{it.key}.pub").unlink(), "there is no public key"),
    "other sources": (
        lambda it: flip(it.built / SDIST),
        f"verify_release: {SDIST} differs from what this checkout gives",
    ),
    "a wheel that is not released": (
        lambda it: (it.built / "x.whl").touch(),
        "x.whl differs from what this checkout gives",
    ),
    "nothing built": (lambda it: shutil.rmtree(it.built), "differs from what this checkout gives"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_refused(release, change):
    make, reason = CHANGES[change]
    make(release)
    status, said = release.verify()
    assert status == 1
    assert reason in said


def lowest(name):
    """The lowest version of a dependency that the distributions allow."""
    projects = [
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        for folder in (".", "clients/python")
    ]
    lines = [each for project in projects for each in project["dependencies"]]
    lines += projects[0]["optional-dependencies"]["jwt"]
    found = [each for each in map(Requirement, lines) if each.name == name]
    assert found, name
    return min(
        Version(part.version) for each in found for part in each.specifier if part.operator == ">="
    )


FIXED = {
    (statement["vulnerability"]["name"], part["@id"])
    for statement in VEX["statements"]
    if statement["status"] == "fixed"
    for product in statement["products"]
    for part in product["subcomponents"]
}


@pytest.mark.parametrize(("vulnerability", "component"), sorted(FIXED))
def test_no_version_with_a_vulnerability_that_is_called_fixed_is_allowed(vulnerability, component):
    name, _, version = component.removeprefix("pkg:pypi/").partition("@")
    assert lowest(name) >= Version(version)
