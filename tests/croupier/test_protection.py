"""Every command says how to connect, where TLS or an API key is missing."""

import hashlib
import itertools

import pytest

from cli.main import COMMANDS
from croupier.terminal.arguments import API_KEY
from tests.support.certificates import Authority
from tests.support.commands import croupier

pytestmark = pytest.mark.usefixtures("patient_probe")
KEY = "a key of a front end"
CALLERS = f"""
require_key = ["create_match"]
[keys.house]
sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"
"""
PLAY = ("play", "skystones", "--auto", "--hint-iterations", 5, "--no-save")


@pytest.fixture
def commands(tmp_path, operator):
    """The words that make each command call a server, at each call of this once."""
    (tmp_path / "secret").write_text("whsec_" + 40 * "A")
    numbers = itertools.count()
    found = {
        "play": PLAY,
        "games": ("games",),
        "health": ("health",),
        "load": ("load", "--matches", 1, "--seconds", 0),
        "export": ("export", "--all", "--output", tmp_path / "records", *operator),
        "webhooks": ("webhooks", "http://127.0.0.1:1", "--secret-file", tmp_path / "secret"),
    }
    # That of `mcp` calls when a model asks it to, with the same client.
    takes_server = {name for name in COMMANDS if "--server " in croupier(name, "--help").out}
    assert set(found) | {"mcp"} == takes_server

    def words():
        for name, each in found.items():
            # This process holds the folder.
            state = ("--state", tmp_path / f"hooks{next(numbers)}")
            yield (*each, *(state if name == "webhooks" else ()))

    return words


def test_it_says_whether_to_use_tls(commands, replicas, tmp_path, monkeypatch):
    monkeypatch.setenv(API_KEY, KEY)
    authority = Authority(tmp_path, "authority")
    cert, key = authority.issue()
    secured = replicas("--store", "memory", "--tls-cert", str(cert), "--tls-key", str(key))
    clear = replicas("--store", "memory")
    for replica in (secured, clear):
        replica.ready()
    at = secured.address.replace("127.0.0.1", "localhost")  # It may have more addresses.
    for words in commands():
        said = croupier(*words, "--server", at)
        assert said.status == 1 and "the server speaks TLS: use --tls" in said.err, words
    for words in commands():
        said = croupier(*words, "--server", clear.address, "--tls")
        assert said.status == 1 and "the server speaks no TLS: leave --tls" in said.err, words


def test_it_says_that_a_server_asks_for_a_certificate(replicas, tmp_path):
    authority = Authority(tmp_path, "authority")
    cert, key = authority.issue()
    files = {"cert": cert, "key": key, "client-ca": authority.cert}
    options = [word for name, path in files.items() for word in (f"--tls-{name}", str(path))]
    secured = replicas("--store", "memory", *options)
    secured.ready()
    at = ("--server", secured.address, "--tls-ca", authority.cert)
    said = croupier("games", *at)
    assert said.status == 1 and "use --tls-cert and --tls-key" in said.err
    assert croupier("games", *at, "--tls-cert", cert, "--tls-key", key).status == 0


def test_its_calls_carry_the_key_that_it_is_given(commands, replicas, tmp_path, monkeypatch):
    monkeypatch.delenv(API_KEY, raising=False)
    (tmp_path / "callers.toml").write_text(CALLERS)
    replica = replicas("--store", "memory", "--callers-file", str(tmp_path / "callers.toml"))
    replica.ready()
    at = ("--server", replica.address)
    assert "KEY_REQUIRED" in croupier(*PLAY, *at).err
    assert croupier(*PLAY, *at, "--api-key", KEY).status == 0
    monkeypatch.setenv(API_KEY, "of somebody else")
    for words in commands():
        assert "KEY_INVALID" in croupier(*words, *at).err, words
    monkeypatch.setenv(API_KEY, KEY)
    assert croupier(*PLAY, *at).status == 0
    replica.end_well()
