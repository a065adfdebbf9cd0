"""Names that are erased: by their seats, by a front end and by the operator, at any server."""

import itertools
import threading
import uuid
from types import SimpleNamespace

import pytest

import wire
from croupier.client import INVITED, Operator, Seat, bot, open_seat
from croupier.v1 import feed_pb2, match_pb2, review_pb2
from service.api.paging import write_page_token
from service.api.review_service import ReviewService
from service.hosting.creation import NewMatch
from service.hosting.entries import Resignation
from service.hosting.matches import Matches
from service.hosting.records import RecordError, digest, verify
from service.hosting.seats import Caller
from service.observability.metrics import Metrics
from service.store import MemoryStore
from tests.support.houses import OPERATOR, refusal
from tests.support.scheduling import act
from tests.support.serving import ruleset_of

GAME = "skystones"


def pair(house, game=GAME, ann="Ann", bob="Bob"):
    """A match of Ann, who is named by its creator, and of Bob, who joins: seats and a spectator."""
    creator, joiner = house.client("ann"), house.client("bob")
    match = creator.create_match(game, (open_seat(ann), INVITED))
    joined = joiner.join(match.invitations[1], display_name=bob)
    return [match.seats[0], joined.seats[1]], joined.spectator


def moved(house, holder):
    """A holder of a token, at the next server."""
    return type(holder)(house.client(), holder.match, holder.token)


def decide(house, seats):
    """Lets a seat decide that must."""
    decider = moved(house, seats[moved(house, seats[0]).view().deciders[0]])
    decider.submit(decider.view().legal_actions[0])


def told(house, holders):
    """All that the holders of tokens of a match are told, by what was asked."""
    answers = {}
    for number, holder in enumerate(moved(house, each) for each in holders):
        batch = feed_pb2.BatchGetViewsRequest(tokens=[holder.token])
        answers["view", number] = view = holder.view()
        client = holder.client
        answers["batch", number] = client.call(client.feed_stub.BatchGetViews, batch)
        request = match_pb2.WatchMatchRequest(name=holder.match)
        stream = client.match_stub.WatchMatch(request, metadata=client.metadata(holder.token))
        for version in range(view.version + 1):
            answers["stream", number, version] = next(stream)
        stream.cancel()
        asked = match_pb2.GetMatchRequest(name=holder.match)
        answers["match", number] = client.call(client.match_stub.GetMatch, asked, holder.token)
        if view.HasField("result"):
            answers["record", number] = record = holder.record()
            assert verify(record).over
            for place, frame in enumerate(itertools.islice(holder.replay(), 3)):
                answers["replay", number, place] = frame
    return answers


def without(message, seats):
    """A message without the names of some seats."""
    for field, value in message.ListFields():
        each = value if field.is_repeated else [value]
        if field.name in ("players", "seats"):
            for seat, player in enumerate(value):
                for name in {"display_name", "key_name"} & set(player.DESCRIPTOR.fields_by_name):
                    player.ClearField(name) if seat in seats else None
        elif field.name == "seat_joined" and value.seat in seats:
            value.ClearField("display_name")
        elif field.message_type is not None:
            for part in each:
                without(part, seats) if hasattr(part, "ListFields") else None
    if isinstance(message, match_pb2.MatchRecord):
        message.erased_seats[:] = sorted(seats)
        message.digest = digest(message)
    return message


@pytest.mark.parametrize("game", wire.hosted_games())
def test_an_erased_name_is_shown_nowhere_and_nothing_else_changes(house, game):
    ann, bob = f"Ann {uuid.uuid4().hex[:8]}", f"Bob {uuid.uuid4().hex[:8]}"
    seats, spectator = pair(house, game, ann, bob)
    for over in (False, True):
        if over:
            seats, spectator = pair(house, game, ann, bob)
        for _ in range(3):
            decide(house, seats)
        if over:
            seats[0].resign()
        holders, erased = (*seats, spectator), set()
        before = told(house, holders)
        assert {ann, bob} <= {name for each in before.values() for name in names_in(each)}
        for seat in (1, 0) if over else (0, 1):
            assert moved(house, seats[seat]).erase_names()
            assert not moved(house, seats[seat]).erase_names()
            erased.add(seat)
            after = told(house, holders)
            for asked, answer in before.items():
                assert after[asked] == without(answer, erased), asked
            left = {name for each in after.values() for name in names_in(each)}
            assert left & {ann, bob} == {ann, bob} - {(ann, bob)[each] for each in erased}
        if not over:
            decide(house, seats)


def names_in(message):
    """All texts of a message that may be names."""
    text = str(message)
    return {line.split('"')[1] for line in text.splitlines() if '_name: "' in line}


# Whose names


def test_a_front_end_erases_a_player_in_all_its_matches(house, monkeypatch):
    monkeypatch.setattr("service.hosting.erasing.PAGE", 2)
    studio, other = house.client(), house.client("ann", key="other")
    tables = []
    for number in range(5):
        house.pass_time(1)
        seats = (open_seat("Ann", "ann"), open_seat("Bob", "bob"))
        match = studio.create_match(GAME, seats if number % 2 else seats[::-1])
        tables.append((match.seats[0], 1 - number % 2))
    house.pass_time(1)
    seats, _ = pair(house)
    tables.append((seats[1], 0))
    seats[0].resign()
    house.pass_time(1)
    again = seats[0].rematch()
    tables.append((seats[1].rematch().seats[0], 1))
    house.pass_time(1)
    tables[0][0].resign()
    tables.append((tables[0][0].rematch().seats[1], 1 - tables[0][1]))
    alone = house.client("ann").create_match(GAME, (open_seat("Ann"), bot("random")))
    tables.append((alone.seats[0], 0))
    invited = other.create_match(GAME, (open_seat("Eve"), INVITED))
    joined = house.client("ann").join(invited.invitations[1], display_name="Ann")
    tables.append((joined.seats[1], 1))
    strangers = other.create_match(GAME, (open_seat("Ann"), open_seat("Ann", "ann")))
    assert again.name == tables[6][0].match

    def shown():
        return [
            [player.display_name for player in moved(house, holder).view().players]
            for holder, _ in tables
        ]

    before = shown()
    assert all(names[seat] == "Ann" for names, (_, seat) in zip(before, tables, strict=True))
    # A call that stops is begun again, at any server.
    first = next(house.client().erase_names("ann"))
    assert (first.erased_matches, bool(first.next_page_token)) == (2, True)
    done = list(house.client().erase_names("ann"))
    assert [each.erased_matches for each in done] == [0, 2, 2, 2, 2, 0]
    after = shown()
    for names, now, (_, seat) in zip(before, after, tables, strict=True):
        assert now[seat] == ""
        assert now[1 - seat] == names[1 - seat]
    assert [each.display_name for each in strangers.seats[0].view().players] == ["Ann", "Ann"]
    # Its matches are listed as before, and a later one has the name that it is given.
    assert len(list(house.client("ann").matches())) == len(tables)
    new = house.client("ann").create_match(GAME, (open_seat("Ann"), INVITED)).seats[0]
    assert new.view().players[0].display_name == "Ann"
    # The player itself may, too.
    assert sum(each.erased_matches for each in house.client("ann").erase_names()) == 1
    assert sum(each.erased_matches for each in house.client("bob").erase_names()) == 8
    assert {name for names in shown() for name in names} == {"", "Eve"}


def test_who_may_erase_what(house):
    seats, spectator = pair(house)
    studio, nobody = house.client(), house.client(key="")
    stub = match_pb2.EraseNamesRequest

    def refused(client, token=None, **fields):
        return refusal(client.call, client.match_stub.EraseNames, stub(**fields), token)

    name = seats[0].match
    assert refusal(Seat(nobody, name, spectator.token).erase_names) == "SPECTATOR"
    assert refused(nobody, name=name) == "TOKEN_MISSING"
    assert refused(studio, name=name) == "TOKEN_MISSING"
    assert refused(nobody, pair(house)[0][0].token, name=name) == "TOKEN_OF_OTHER_MATCH"
    assert refused(nobody, player_id="ann") == "INVALID_FIELD"
    assert refused(house.client("ann"), player_id="bob") == "INVALID_FIELD"
    assert refused(nobody) == refused(studio) == "INVALID_FIELD"
    assert refused(studio, seats[0].token, name=name, player_id="ann") == "INVALID_FIELD"
    player = house.servers.run(house.stores[0].list_players(name.removeprefix("matches/")))[
        0
    ].player
    forged = [
        write_page_token(player, *place) for place in ((1, "a", "b"), ("x", "a"), (2**63, "a"))
    ]
    for token in ("rubbish", write_page_token("another", 1, "a"), *forged):
        assert refused(studio, player_id="ann", page_token=token) == "INVALID_FIELD"
    assert refused(studio, name="matches/UP") == "INVALID_FIELD"
    token = seats[1].token
    seats[1].replace_token()
    assert refused(nobody, token, name=name) == "TOKEN_REPLACED"
    shown = [each.display_name for each in spectator.view().players]
    assert shown == ["Ann", "Bob"]
    operator = Operator(nobody, OPERATOR)
    assert operator.erase_names(name)
    assert not operator.erase_names(name)
    assert [each.display_name for each in spectator.view().players] == ["", ""]
    # Who has not joined yet keeps the name that it will give.
    match = studio.create_match(GAME, (open_seat("Ann"), INVITED))
    assert operator.erase_names(match.name)
    joined = studio.join(match.invitations[1], display_name="Bob").seats[1]
    assert [each.display_name for each in joined.view().players] == ["", "Bob"]


def test_a_repeated_request_is_answered_after_its_names_were_erased(house):
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(GAME),
        seats=(open_seat("Ann"), INVITED),
        request_id=str(uuid.uuid4()),
    )
    studio = house.client("ann")
    created = studio.create_matches([request])[0]
    join = match_pb2.JoinMatchRequest(
        invitation=created.invitations[1], request_id=str(uuid.uuid4()), display_name="Bob"
    )
    joined = studio.call(studio.match_stub.JoinMatch, join)
    holder = Seat(studio, joined.name, joined.seat_token.token)
    holder.erase_names()
    created.seats[0].erase_names()
    again = house.client("ann").create_matches([request])[0]
    assert (again.name, again.seats[0].token) == (created.name, created.seats[0].token)
    client = house.client("ann")
    assert client.call(client.match_stub.JoinMatch, join) == joined


# Other servers


def test_a_stream_of_another_server_is_shown_the_view_without_the_name(house):
    seats, spectator = pair(house)
    watcher = moved(house, spectator)
    request = match_pb2.WatchMatchRequest(name=spectator.match)
    request.heartbeat_interval.FromSeconds(60)
    client = watcher.client
    stream = client.match_stub.WatchMatch(request, metadata=client.metadata(watcher.token))
    version = watcher.view().version
    response = next(stream)
    while response.version < version or not response.HasField("view"):
        response = next(stream)
    assert [each.display_name for each in response.view.players] == ["Ann", "Bob"]
    moved(house, seats[1]).erase_names()
    response = next(stream)
    while not response.HasField("view"):
        response = next(stream)
    assert (response.version, response.up_to_date) == (version, True)
    assert [each.display_name for each in response.view.players] == ["Ann", ""]
    stream.cancel()


def test_a_server_that_has_the_match_in_memory_answers_without_the_name(house):
    seats, _ = pair(house)
    # Each is a client of another server, where there are two.
    views = [each.view() for each in seats]
    assert all(view.players[1].display_name == "Bob" for view in views)
    decider = views[0].deciders[0]
    Operator(seats[1 - decider].client, OPERATOR).erase_names(seats[0].match)
    view = seats[decider].submit(views[decider].legal_actions[0])
    assert view.players[1].display_name == ""


@pytest.mark.parametrize("number", range(5))
def test_names_are_erased_while_the_match_goes_on(house, number):
    seats, spectator = pair(house)
    erased, both = threading.Event(), [moved(house, spectator) for _ in range(2)]
    eraser = threading.Thread(target=lambda: (seats[1].erase_names(), erased.set()))
    others = [moved(house, each) for each in seats]
    for version in range(6):
        if version == number:
            eraser.start()
        decider = others[both[0].view().deciders[0]]
        action = decider.view().legal_actions[0]
        late = erased.is_set()
        view = decider.submit(action)
        assert not (late and view.players[1].display_name)
    eraser.join()
    assert [each.view().players[1].display_name for each in (*others, *both)] == [""] * 4


def test_a_spectator_who_waits_is_not_shown_the_name_either(house):
    ann, bob = house.client("ann"), house.client("bob")
    match = ann.create_match(GAME, (open_seat("Ann"), INVITED), spectator_delay=60)
    joined = bob.join(match.invitations[1], display_name="Bob")
    seats = [match.seats[0], joined.seats[1]]
    house.pass_time(60_000)
    for _ in range(3):
        decide(house, seats)
    holders = [moved(house, joined.spectator) for _ in range(2)]
    before = [each.view() for each in holders]
    assert {each.version for each in before} == {seats[0].view().version - 3}
    assert {each.players[1].display_name for each in before} == {"Bob"}
    seats[1].erase_names()
    assert [each.view() for each in holders] == [without(each, {1}) for each in before]


# What stays verifiable


def test_a_record_verifies_before_and_after(house):
    seats, spectator = pair(house)
    seats[0].resign()
    old = spectator.record()
    seats[1].erase_names()
    new = moved(house, spectator).record()
    assert "Bob" in str(old)
    assert "Bob" not in str(new)
    assert list(new.erased_seats) == [1]
    [*_, review] = moved(house, spectator).review()
    assert [each.player.display_name for each in review.summary.seats] == ["Ann", ""]
    states = [verify(each) for each in (old, new)]
    assert old.secret_hash == new.secret_hash
    assert states[0].result == states[1].result
    for change in (
        lambda record: record.erased_seats.append(0),
        lambda record: record.ClearField("erased_seats"),
        lambda record: setattr(record.entries[0].seat_joined, "display_name", "Eve"),
        lambda record: record.erased_seats.append(1),
    ):
        forged = match_pb2.MatchRecord()
        forged.CopyFrom(new)
        change(forged)
        with pytest.raises(RecordError):
            verify(forged)
    forged.CopyFrom(new)
    forged.entries[0].seat_joined.display_name = "Eve"
    forged.digest = digest(forged)
    with pytest.raises(RecordError, match="erased"):
        verify(forged)


async def test_what_was_begun_before_shows_no_erased_name():
    store = MemoryStore()
    matches = Matches(store, Metrics())
    names = ("Ann", "Bob")
    state = await matches.create(NewMatch(ruleset_of(GAME), display_names=names))
    match_id = state.header.match_id
    for _ in range(3):
        await act(matches, match_id)
    await matches.carry_out(Caller(match_id, 0), Resignation.ask)

    async def read(call, name):
        return await matches.load(match_id)

    service = ReviewService(matches, None, None, SimpleNamespace(read=read))
    name = f"matches/{match_id}"
    replay = service.ReplayMatch(review_pb2.ReplayMatchRequest(match_name=name), None)
    summary = review_pb2.MatchReview(name=name)
    for seat, each in enumerate(names):
        summary.seats.add(seat=seat).player.display_name = each
    assert b"Ann" in await anext(replay)
    assert await store.erase_names(match_id, 1)
    await matches.load(match_id)
    later = [each async for each in replay]
    assert len(later) == 4
    assert not any(b"Ann" in each for each in later)
    assert all(b"Bob" in each for each in later)
    await service._name(summary)
    assert [each.player.display_name for each in summary.seats] == ["", "Bob"]
