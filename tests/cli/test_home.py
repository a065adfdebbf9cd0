"""A log is never put under a home directory that nobody knows."""

import os
import pwd

import pytest

from cli import arguments as types
from tests.support.commands import croupier
from tests.support.server_process import ServerProcess

# In this process, a server that does not refuse must not stay.
NOWHERE = ("serve", "--listen", "300.1.1.1:1")
HOMELESS = {"no absolute path": {"HOME": "nowhere"}, "empty": {"HOME": ""}, "unknown user": {}}


def environment(**variables):
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return kept | variables


def unknown(number):
    raise KeyError(number)


@pytest.mark.parametrize("home", HOMELESS)
@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ({}, NOWHERE),
        ({"XDG_DATA_HOME": "~/data"}, NOWHERE),
        ({"CROUPIER_DATA": "~/data"}, NOWHERE),
        ({}, ("import", "--data", "~/data", "record.json")),
    ],
)
def test_a_log_under_an_unknown_home_is_refused_by_option(
    tmp_path, monkeypatch, home, variables, arguments
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", environment(**HOMELESS[home], **variables))
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    ended = croupier(*arguments)
    (line,) = ended.err.splitlines()
    assert line.startswith("croupier: argument --data: the home directory, and so ~/")
    assert ended.status == 2
    assert not list(tmp_path.iterdir())


def test_a_tilde_is_the_home_directory_wherever_it_comes_from(tmp_path):
    home = tmp_path / "home"
    variables = environment(HOME=str(home), CROUPIER_DATA="~/data")
    with ServerProcess(environment=variables) as server:
        server.stop()
    assert (home / "data" / "croupier.db").exists()


def test_who_keeps_nothing_needs_no_home(monkeypatch):
    monkeypatch.setenv("HOME", "")
    types.check_data("memory", types.directory("~/data"))
