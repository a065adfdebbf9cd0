"""A match that was left is resumed from the file in which its seat was saved."""

import json
import os
import re
import stat
from pathlib import Path

import pytest

from croupier.client import Client, Seat
from croupier.terminal.saved import SavedSeat, SavedSeats
from tests.croupier.terminal.terminals import Terminal, terminal

NOWHERE = "127.0.0.1:1"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def leave(session: Terminal) -> str:
    """Leaves at the prompt; returns the last line."""
    while session.read()[-1] != "> ":
        session.type("")
    session.type("q")
    return rest(session)


def rest(session: Terminal) -> str:
    """Returns the last line of a session that ends."""
    lines = [line for line in session.read() if line]
    session.process.wait()
    return lines[-1] if lines else ""


def test_a_match_that_was_left_goes_on_and_is_forgotten_at_its_end(
    address: str, state: Path
) -> None:
    with terminal(address, "champion_chess", "--seed", "5", state=state) as session:
        back = leave(session)
    [saved] = SavedSeats().read()
    assert back == f"Come back with: croupier play --resume {saved.id}"
    [file] = state.glob("croupier/seats/*")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for words in ((), (saved.id,), (saved.match,)):
        with terminal("", "--resume", *words, state=state) as session:
            lines = session.read()
            assert lines[-1] == "> "
            assert "Challenge 1, champion phase" in "\n".join(lines)
            session.interrupt()
            assert rest(session) == back
            assert session.process.returncode == 130
    # It ends while nobody looks.
    with Client(address) as client:
        Seat(client, saved.match, saved.token).resign()
    with terminal("", "--resume", state=state) as session:
        assert any("You resigned." in line for line in session.read())
        session.type("n")
        rest(session)
        assert session.process.returncode == 0
    assert not SavedSeats().read()
    with terminal("", "--resume", state=state) as session:
        assert rest(session) == "croupier: there is no match to come back to"


def test_of_several_matches_the_player_chooses_one(address: str, state: Path) -> None:
    for game in ("skystones", "champion_chess"):
        with terminal(address, game, state=state) as session:
            leave(session)
    with terminal("", "--resume", state=state) as session:
        lines = session.read("(1 to 2) ")
        listed = re.findall("champion_chess|skystones", " ".join(lines))
        assert listed == ["champion_chess", "skystones"]
        session.type("2")
        assert "Skystones" in "\n".join(session.read())
        assert [seat.game for seat in SavedSeats().read()] == ["skystones", "champion_chess"]


def test_a_seat_is_not_saved_against_the_will_of_the_player(address: str, state: Path) -> None:
    with terminal(address, "skystones", "--no-save", state=state) as session:
        assert leave(session) == "The seat was not saved."
    assert not list(state.iterdir())


def test_what_cannot_be_resumed_is_said_and_forgotten_only_if_it_is_gone(
    address: str, state: Path
) -> None:
    with terminal(address, "skystones", state=state) as session:
        leave(session)
    [saved] = SavedSeats().read()
    with terminal("", "--resume", "nowhere", state=state) as session:
        said = rest(session)
    assert said.endswith(f"no seat of the match 'nowhere' is saved here. Saved: {saved.id}")
    with Client(address) as client:
        Seat(client, saved.match, saved.token).replace_token()
    with terminal("", "--resume", saved.id, state=state) as session:
        said = rest(session)
        assert session.process.returncode == 1
    assert said == "croupier: somebody has taken over your seat with a new token"
    assert not SavedSeats().read()
    silent = SavedSeat("matches/a1", NOWHERE, 0, "token", "skystones", "friend", saved.created)
    SavedSeats().keep(silent)
    with terminal("", "--resume", state=state) as session:
        assert "no server answers at 127.0.0.1:1" in " ".join(session.read())
    assert SavedSeats().read() == [silent]


def test_no_name_of_a_match_leads_out_of_the_folder(state: Path) -> None:
    seat = SavedSeat("matches/../../a", "", 0, "", "", "", "2026-01-01")
    with pytest.raises(OSError, match="no name of a match"):
        SavedSeats().keep(seat)
    assert not list(state.rglob("*.json"))


def test_a_file_that_is_no_saved_seat_is_left_out(state: Path) -> None:
    sound = SavedSeat(
        "matches/a1", NOWHERE, 0, "token", "skystones", "friend", "2026-01-01T00:00:00+00:00"
    )
    store = SavedSeats()
    store.keep(sound)
    [kept] = state.glob("croupier/seats/*.json")
    written = json.loads(kept.read_text())
    files = ["[" * 100_000, "{}", "[]"]
    files += [json.dumps({**written, name: 5}) for name in written if name != "seat"]
    for security in ({"shield": True}, {"cert": "x"}, {"tls": True, "insecure": True}, {"ca": 5}):
        files.append(json.dumps({**written, "security": security}))
    for number, text in enumerate(files):
        kept.with_name(f"b{number}.json").write_text(text)
    os.mkfifo(kept.with_name("pipe.json"))  # Nobody writes to it.
    assert store.read() == [sound]
    kept.unlink()
    for asked in ((), ("a1",)):
        with terminal("", "--resume", *asked, state=state) as session:
            # It may be the seat that is looked for.
            assert "/seats/b0.json" in "".join(rest(session).split())
