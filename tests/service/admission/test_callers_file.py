"""Callers files: what is read, and what is refused with its place."""

import hashlib
import os

import pytest

from service.admission.budgets import Budget
from service.admission.callers_file import (
    DEFAULT_ADDRESS,
    DEFAULT_KEY,
    DEFAULT_PERSON,
    read_callers_file,
)

DIGEST = hashlib.sha256(b"secret").hexdigest()
ONE = f'[keys.one]\nsha256 = "{DIGEST}"\n'


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "callers.toml"
        path.write_text(text)
        return read_callers_file(path)

    return read


def test_a_whole_file(read):
    callers = read(f"""
        require_key = ["create_match"]
        trusted_proxies = ["10.0.0.0/8", "192.0.2.7"]
        forwarded_header = "X-Real-IP"
        [budgets.person]
        calls_per_second = 5
        live_matches = "unlimited"
        [keys.studio]
        sha256 = "{DIGEST}"
        names_players = true
        [keys.studio.budgets]
        searches = 100
        [jwt]
        jwks = "https://example.com/keys"
        issuer = "https://example.com"
        audience = "croupier"
    """)
    [(digest, key)] = callers.keys.items()
    assert (digest, key.name, key.names_players) == (DIGEST, "studio", True)
    assert key.limits == {**DEFAULT_KEY, Budget.SEARCHES: 100}
    assert callers.person[Budget.CALLS] == 5
    assert Budget.LIVE_MATCHES not in callers.person
    assert callers.person[Budget.STREAMS] == DEFAULT_PERSON[Budget.STREAMS]
    assert callers.address == DEFAULT_ADDRESS
    assert callers.forwarded_header == "x-real-ip"
    assert [str(network) for network in callers.trusted_proxies] == ["10.0.0.0/8", "192.0.2.7/32"]
    assert callers.jwt.algorithms == ("RS256", "ES256", "EdDSA")
    assert callers.loopback_is_limited


def test_an_empty_file_limits_callers_of_this_machine_too(read):
    assert read("").loopback_is_limited


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("limit = 1", "limit: is not one of"),
        ("[budgets.persons]", "budgets.persons: is not one of"),
        ("[budgets.person]\ncalls = 1", "budgets.person.calls: there is no such budget"),
        ("[budgets.person]\nstreams = -1", "budgets.person.streams: must be a number from 0"),
        ("[budgets.person]\nstreams = true", "budgets.person.streams: must be a number from 0"),
        ('[budgets.person]\nstreams = "no"', "budgets.person.streams: must be a number from 0"),
        ("[budgets.person]\nstreams = nan", "budgets.person.streams: must be a number from 0"),
        ("[keys.one]", "keys.one.sha256: must be a text"),
        ('[keys.one]\nsha256 = "secret"', "keys.one.sha256: must be 64 hexadecimal digits"),
        (ONE + "players = 1", "keys.one.players: is not one of"),
        (ONE + ONE.replace("one", "two"), "keys.two.sha256: the key is that of one"),
        ("keys = 1", "keys: must be a table"),
        (ONE.replace("one", '"a/b"'), "keys.'a/b': a name can be printed, and has no /"),
        (ONE.replace("one", r'"a\u0007"'), r"keys.'a\x07': a name can be printed"),
        (ONE.replace("one", '""'), "keys.'': a name can be printed"),
        ('require_key = ["play"]', "require_key: 'play' is not one of"),
        ('require_key = ["create_match"]', "require_key: needs"),
        ('trusted_proxies = ["proxy"]', "trusted_proxies: 'proxy' is not an address"),
        ("trusted_proxies = [1]", "trusted_proxies: must be a list of texts"),
        ('[jwt]\njwks = "file"\nissuer = "i"', "jwt.audience: must be a text"),
        ('[jwt]\njwks = "https://a:qz@h/keys"', "jwt.jwks: keys that are public need no user"),
        (
            '[jwt]\njwks = "f"\nissuer = "i"\naudience = "a"\nalgorithms = ["HS256"]',
            "jwt.algorithms: 'HS256' is not one of",
        ),
        ("budgets = [", "callers.toml: "),
        pytest.param("#" * (5 << 20), "has more than 4096 KiB", id="a large file"),
        pytest.param("a = " + "[" * 5000, "nested too deeply", id="a nested file"),
        pytest.param(" " * 10**6 + "x", "callers.toml: ", id="an indented line"),
    ],
)
def test_a_mistake_is_named_with_its_place(read, text, place):
    with pytest.raises(ValueError) as caught:
        read(text)
    assert f"callers.toml: {place}" in str(caught.value) or place in str(caught.value)


def test_a_file_that_cannot_be_read_again_is_refused(tmp_path):
    os.mkfifo(tmp_path / "callers.toml")
    with pytest.raises(ValueError, match="must be a regular file"):
        read_callers_file(tmp_path / "callers.toml")
