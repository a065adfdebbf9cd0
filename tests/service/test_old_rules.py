"""Under which rules a match is played, recorded and verified when its server knows newer ones.

The game is of an installed package. Its second version lets the seat with fewer rounds win, and
tells in the record who has won a round, as the first one did not.
"""

import grpc
import pytest

from croupier.client import Client, CroupierError, Seat
from croupier.messages import GameMessages
from tests.support.planted_games import environment_of, plant_new_game, run
from tests.support.server_process import ServerProcess
from tests.support.waiting import FOREVER

GAME = "high_card"
TELLS = '        log.add("won", seat=cards.index(max(cards)))\n'
FIRST_RULES = """
from high_card.rules.rules import HighCard


class FirstHighCard(HighCard):
    rules_version = 1

    def outcome(self, state, seat):
        return 1 - super().outcome(state, seat)
"""
RECORDED = """
    def recorded(self, rules_version, messages):
        return [m for m in messages if rules_version > 1 or m.WhichOneof("event") != "won"]

    def message_fields("""


@pytest.fixture
def packages(tmp_path):
    folder = tmp_path / "packages"
    folder.mkdir()
    plant_new_game(folder)
    change(folder, "rules/rules.py", '"cards_per_hand": 4', '"cards_per_hand": 3', TELLS, "")
    return folder


def change(folder, name, *changes):
    path = folder / GAME / name
    text = path.read_text()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def release_second_rules(folder):
    """Replaces the package by its second version, which keeps the first rules."""
    change(
        folder,
        "rules/rules.py",
        *("    abi = 2\n", "    abi = 2\n    rules_version = 2\n"),
        *("first if seat == 0 else 1 - first", "1 - first if seat == 0 else first"),
        *("        state.round_count += 1\n", f"        state.round_count += 1\n{TELLS}"),
    )
    change(folder, "api/translation.py", "\n    def message_fields(", RECORDED)
    (folder / GAME / "rules/rules_1.py").write_text(FIRST_RULES)


@pytest.fixture
def served(packages, tmp_path):
    """What starts a server of the installed package on the same log, with a client of it."""
    options = ("--store", "sqlite", "--data", str(tmp_path / "data"))
    started = []

    def start():
        for server, client in started:
            client.close()
            server.stop()
        server = ServerProcess(*options, environment=environment_of(packages))
        started[:] = [(server, Client(server.client.address, timeout=FOREVER))]
        return started[0][1]

    yield start
    for server, client in started:
        client.close()
        server.kill()


def play(seats, decisions=6):
    for _ in range(decisions):
        seat = next(seat for seat in seats if seat.view().legal_actions)
        seat.submit(seat.view().legal_actions[0])


def check(client, record, version):
    """Checks that a record tells of a match under a version of the rules."""
    messages = GameMessages(client.game(GAME))
    events = [entry.event for entry in record.entries if entry.HasField("event")]
    told = [messages.read(event, "event") for event in events if messages.is_event(event)]
    kinds = [event.WhichOneof("event") for event in told]
    cards = [event.played.card for event in told if event.HasField("played")]
    most = sum(one > other for one, other in zip(cards[::2], cards[1::2], strict=True)) > 1
    first = most == (version == 1)
    assert len(cards) == 6
    assert record.rules_version == version
    assert list(record.result.scores) == [first, not first]
    assert kinds.count("won") == (0 if version == 1 else 3)


def test_a_match_stays_under_the_rules_under_which_it_began(served, packages, tmp_path):
    client = served()
    finished, running, left = (client.create_match(GAME) for _ in range(3))
    play(finished.seats.values())
    check(client, finished.seats[0].record(), 1)
    play(running.seats.values(), 3)

    release_second_rules(packages)
    client = served()
    assert client.game(GAME).rules_version == 2
    seats = [Seat(client, running.name, seat.token) for seat in running.seats.values()]
    play(seats, 3)
    newer = client.create_match(GAME)
    play(newer.seats.values())
    records = [
        Seat(client, finished.name, finished.seats[0].token).record(),
        seats[0].record(),
        newer.seats[0].record(),
    ]
    paths = [tmp_path / f"record-{number}" for number in range(3)]
    for record, path, version in zip(records, paths, (1, 1, 2), strict=True):
        check(client, record, version)
        path.write_bytes(record.SerializeToString())
    verified = run(packages, "verify", *map(str, paths))
    assert verified.returncode == 0, verified

    # What they told is not compared, and what they led to is.
    (packages / GAME / "rules/rules_1.py").write_text(FIRST_RULES.replace("1 - super()", "super()"))
    client = served()
    with pytest.raises(CroupierError, match="lead elsewhere at version 6"):
        Seat(client, finished.name, finished.seats[0].token).view()
    assert Seat(client, left.name, left.seats[0].token).view()

    (packages / GAME / "rules/rules_1.py").unlink()
    client = served()
    with pytest.raises(CroupierError) as caught:
        Seat(client, left.name, left.seats[0].token).view()
    assert (caught.value.code, caught.value.reason) == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "RULES_CHANGED",
    )
    assert caught.value.metadata == {
        "game": GAME,
        "rules_version": "1",
        "server_rules_version": "2",
    }
    verified = run(packages, "verify", *map(str, paths))
    assert verified.returncode == 1
    assert f"{paths[2]}: true" in verified.stdout
    for path in paths[:2]:
        [line] = [line for line in verified.stderr.splitlines() if str(path) in line]
        assert "rules_version: the match began under version 1 of the rules of high_card" in line
