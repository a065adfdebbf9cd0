"""Arguments are read or refused by name; each kind of failure has one exit status."""

import argparse
import re

import pytest

from cli import arguments
from cli.main import COMMANDS
from tests.support.commands import croupier


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (arguments.address, "localhost:1", ("localhost", 1)),
        (arguments.address, "[::1]:65535", ("[::1]", 65535)),
        (arguments.port, "0", 0),
        (arguments.whole(), "18446744073709551615", 2**64 - 1),
        (arguments.whole(1, 3), "3", 3),
        (arguments.even, "2", 2),
        (arguments.fraction(0, 0.5), "0.49", 0.49),
        (arguments.ascending, "-5,0.5", (-5.0, 0.5)),
        (arguments.seconds(60), ".5", 0.5),
        (arguments.seconds(60), "60", 60.0),
        (arguments.size, "16M", 16 << 20),
        (arguments.size, "2G", 2 << 30),
        (arguments.duration, "90d", 90 * 86400.0),
        (arguments.duration, "5m", 300.0),
        (arguments.sha256, "0f" * 32, b"\x0f" * 32),
        *(
            (kind, text, None)
            for kind, texts in (
                (arguments.address, ("localhost", ":1")),
                (arguments.port, ("65536", "-1", "\u00b2", "\u0663", "1_0", "9" * 5000, "")),
                (arguments.whole(), ("18446744073709551616",)),
                (arguments.whole(1), ("0",)),
                (arguments.whole(1, 3), ("4",)),
                (arguments.even, ("3", "0")),
                (arguments.fraction(0, 0.5), ("0.5", "0", "nan")),
                (arguments.ascending, ("1,1", "1")),
                (arguments.seconds(60), ("60.1", "1e1")),
                (arguments.size, ("15M", "1T")),
                (arguments.duration, ("5", "5y")),
                (arguments.sha256, ("0f" * 31, "x" * 64)),
            )
            for text in texts
        ),
    ],
)
def test_arguments_are_read_or_refused(kind, text, value):
    if value is None:
        with pytest.raises(argparse.ArgumentTypeError, match=r"^'"):
            kind(text)
    else:
        assert kind(text) == value


def test_every_command_has_a_help():
    whole = croupier("--help")
    assert whole.status == 0
    for name in COMMANDS:
        assert re.search(rf"\n    {name}\s", whole.out)
        own = croupier(name, "--help")
        assert own.status == 0
        assert own.out.startswith(f"usage: croupier {name} ")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["whist"], 2, "croupier: error: "),
        (["serve", "--metrics-port", "x"], 2, "croupier serve: error: argument --metrics-port: "),
        (["arena", "random", "--game", "skystones"], 2, "croupier: the arena needs two players"),
        (["exploit", "whist"], 2, "croupier: no game is called whist"),
        (["exploit", "kuhn_poker", "--option", "x=1"], 2, "croupier: x: is not an option"),
        (["exploit", "skystones", "--option", "cards=5"], 2, "croupier: cards: must be a list"),
        (["verify", "/no/such/file"], 1, "/no/such/file: No such file or directory"),
        (["verify", "."], 1, "croupier: .: there are no records"),
        (["import", "/no/such/file"], 1, "croupier: nothing was imported"),
        (["serve", "--store", "paper"], 2, "croupier serve: error: argument --store: 'paper' is"),
        (["serve", "--tls-cert", "a"], 2, "croupier: --tls-cert and --tls-key belong together"),
        (["serve", "--token-key-file", "lost"], 1, "croupier: argument --token-key-file: lost: No"),
    ],
)
def test_failures_have_a_status_and_one_prefix(monkeypatch, tmp_path, words, status, said):
    monkeypatch.chdir(tmp_path)
    ended = croupier(*words)
    assert (ended.status, ended.out) == (status, "")
    assert ended.err.splitlines()[-1].startswith(said)
