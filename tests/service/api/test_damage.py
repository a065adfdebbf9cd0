"""One match that cannot be shown takes no other along, over the API."""

import pytest

from croupier.v1 import match_pb2
from service.store import MemoryStore
from tests.support.serving import OPEN, Table, bot, ruleset_of

GAME = "skystones"
OPERATOR = "operator-" * 5
AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)
# Of the matches of this id; a server that has none of them in memory finds it.
DAMAGE = "UPDATE matches SET secret = zeroblob(32) WHERE match_id = ?"


@pytest.fixture
def log():
    """A log in memory."""
    return MemoryStore()


def id_of(name):
    return name.removeprefix("matches/")


def test_a_match_is_shown_whose_rematch_cannot_be(start, log):
    client = start(log)[1]
    table = client.create(ruleset_of(GAME))
    table.players[0].resign()
    rematch = table.players[0].rematch()
    view = table.players[1].view()
    log._anchor.execute(DAMAGE, (id_of(rematch.name),))
    client = start(log)[1]
    table.players[1].move_to(client)
    assert table.players[1].view() == view


def test_a_match_begins_from_a_record_whose_match_cannot_be_shown(start, log):
    client = start(log)[1]
    table = client.create(ruleset_of(GAME))
    table.players[0].resign()
    record = table.spectator.record()
    log._anchor.execute(DAMAGE, (id_of(table.name),))
    client = start(log)[1]
    start_from = match_pb2.StartFrom(record=record, version=0)
    seats = [OPEN, bot("RANDOM")]
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(GAME), seats=seats, start_from=start_from
    )
    begun = Table(client, client.matches.CreateMatch(request))
    assert begun.players[0].view().origin.name == table.name


@pytest.mark.parametrize(
    "change",
    [
        "match_id = 'ab!' || substr(match_id, 4)",
        "created = -created",
        "created = created << 20",
    ],
)
def test_a_list_goes_on_after_matches_that_are_damaged(start, log, change):
    client = start(log, operator=OPERATOR)[1]
    names = [client.create(ruleset_of(GAME)).name for _ in range(5)]
    for name in names[1:3]:
        log._anchor.execute(f"UPDATE matches SET {change} WHERE match_id = ?", (id_of(name),))
    request, listed, errors = match_pb2.ListMatchesRequest(page_size=1), [], 0
    while True:
        response = client.matches.ListMatches(request, metadata=AS_OPERATOR)
        listed += [each.name for each in response.matches if not response.errors]
        errors += len(response.errors)
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert sorted(listed) == sorted({*names} - {*names[1:3]})
    assert errors == 2
