"""Seats that erase their names when their match is over, and what is shown of them from then on."""

from croupier.v1 import match_pb2
from service.hosting.records import verify
from tests.simulation.course import course_of
from tests.simulation.network import CallError

SHARE = 0.6  # Of the matches.
LOOKS = 4  # Each from a client, which has its server.


async def erase(table):
    """Lets a seat of a match that was judged erase its names, and judges what is told then."""
    rng = table.rng
    if table.lost or not table.tokens or rng.random() > SHARE:
        return
    seat, token = rng.choice(sorted(table.tokens.items()))
    request = match_pb2.EraseNamesRequest(name=table.name)
    response, told = match_pb2.EraseNamesResponse, []
    names = _names(table)
    had = any(names[seat])
    try:
        for _ in range(2):
            told.append(await table.client().call("EraseNames", request, token, response=response))
    except CallError as error:
        if error.reason != "TOKEN_REPLACED":
            raise
        return
    # A call that was repeated finds nothing more.
    right = [[response(erased_matches=each), response()] for each in {int(had), 0}]
    late = told != right[-1 if had else 0]
    if told not in right or (late and table.world.troubles.is_well(60.0)):
        table.world.fail(f"{table}: who erases names, of which there {had=}, is told {told}")
    table.world.counts["names erased"] += 1
    names[seat] = "", ""
    if _names(table) != names:
        table.world.fail(f"{table}: since seat {seat} erased its names, it has {_names(table)}")
    for _ in range(LOOKS):
        client = table.client()
        shown = (await table.look(client)).players[seat]
        asked = match_pb2.GetRecordRequest(name=table.name)
        record = (await client.call("GetRecord", asked, table.spectator_token)).record
        if shown.display_name or shown.key_name:
            table.world.fail(f"{table}: an erased name of seat {seat} is shown: {shown}")
        # Nothing else is another one than before.
        if not verify(record).over or record != _without_name(table.record, seat, record):
            table.world.fail(f"{table}: since a name was erased, its record is {record}")
        client.close()


def _names(table):
    course = course_of(table.world.stored(table.name.removeprefix("matches/")))
    return [tuple(each) for each in course.names]


def _without_name(before, seat, after):
    record = match_pb2.MatchRecord()
    record.CopyFrom(before)
    for each in record.entries:
        if each.HasField("seat_joined") and each.seat_joined.seat == seat:
            each.seat_joined.ClearField("display_name")
    record.seats[seat].ClearField("display_name")
    record.erased_seats[:] = after.erased_seats
    record.digest = after.digest
    return record
