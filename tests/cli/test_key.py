"""`croupier key`: what it prints is a callers file that admits its key."""

import pytest

from service.admission.callers_file import read_callers_file
from service.admission.identification import Identification
from service.common.call import Call, Kind, Principal
from tests.support.commands import croupier


@pytest.mark.parametrize("names_players", [False, True])
def test_its_output_is_a_callers_file(tmp_path, names_players):
    path = tmp_path / "callers.toml"
    said = croupier("key", "studio", *["--names-players"] * names_players).out
    path.write_text(said)
    key = said.splitlines()[0].split()[-1]
    assert len(key) >= 40
    callers = read_callers_file(path)
    [entry] = callers.keys.values()
    assert (entry.name, entry.names_players) == ("studio", names_players)
    metadata = [("x-api-key", key)]
    call = Call("", "grpc", metadata, "ipv4:192.0.2.1:1")
    principal, _ = Identification(callers, None).identify(call)
    assert principal == Principal(Kind.KEY, "studio")
    assert croupier("key", "studio") != croupier("key", "studio")


@pytest.mark.parametrize("name", ["", "two words", "a.b", "x" * 41])
def test_a_name_that_toml_would_not_take_is_refused(name):
    ended = croupier("key", name)
    assert ended.status == 2
    assert "is not a name" in ended.err
