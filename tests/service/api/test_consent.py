"""What players agree on: names, hints, invitations that are looked at first, and rematches."""

import copy
import uuid

import grpc
import pytest

from croupier.v1 import game_pb2, hint_pb2, match_pb2
from service.hosting.records import verify
from tests.support.play import note_on_failure
from tests.support.serving import INVITED, OPEN, Player, Table, bot, refused, ruleset_of

ALLOWED = game_pb2.HINT_POLICY_ALLOWED
AFTER_END = game_pb2.HINT_POLICY_AFTER_END
OFFERED = match_pb2.REMATCH_STATE_OFFERED
ACCEPTED = match_pb2.REMATCH_STATE_ACCEPTED
DECLINED = match_pb2.REMATCH_STATE_DECLINED
LIMITS = hint_pb2.SearchLimits(iterations=10)
NO_HINTS = (grpc.StatusCode.PERMISSION_DENIED, "HINTS_NOT_ALLOWED")
NO_OFFER = (grpc.StatusCode.FAILED_PRECONDITION, "REMATCH_NOT_OFFERED")
FORGED_NAMES = [" Ann", "Ann ", "A\nnn", "A\0nn", "\x1b[31mAnn", "A\u202enn", "\u200b", "\ufeffAnn"]
# Joiners, fillers, a blank of Braille and marks alone show nothing.
FORGED_NAMES += ["\u200d", "\u3164", "\u2800\u115f", "\u0301\ufe0f", "\u3000Ann", "\U0001d159"]
FORGED_NAMES += ["Ann\U000e0041", "\U0001f3f4\U000e0041\u202e"]
SHOWN_NAMES = [
    "山田\u3000太郎",
    "می\u200cخواهم",
    "\U0001f469\u200d\U0001f4bb",
    "e\u0301",
    "\u2764\ufe0f",
]
SHOWN_NAMES += ["\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"]


def named(name):
    return match_pb2.SeatConfig(open=match_pb2.OpenSeat(), display_name=name)


def create(client, seats, game_id="skystones", **fields):
    request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(game_id), seats=seats, **fields)
    return Table(client, client.matches.CreateMatch(request))


def join(client, invitation, name="", request_id=None):
    request = match_pb2.JoinMatchRequest(
        invitation=invitation, request_id=request_id or str(uuid.uuid4()), display_name=name
    )
    joined = client.matches.JoinMatch(request)
    return Player(client, joined.name, joined.seat_token.token)


def invitation_of(client, invitation):
    request = match_pb2.GetInvitationRequest(invitation=invitation)
    return client.matches.GetInvitation(request)


def two_strangers(creator, friend, **fields):
    """A table of Ann, who has invited Ben."""
    table = create(creator, (named("Ann"), INVITED), **fields)
    table.players[1] = join(friend, table.invitations[1], "Ben")
    return table


def decline(player):
    request = match_pb2.DeclineRematchRequest(name=player.match)
    return player._call(player._client.matches.DeclineRematch, request).rematch


def follow(player, **fields):
    request = match_pb2.WatchMatchRequest(name=player.match, follow_rematch=True, **fields)
    return player._call(player._client.matches.WatchMatch, request)


# Names


def test_the_event_of_joining_and_the_record_have_the_names(cluster):
    table = two_strangers(*cluster.clients)
    table.players[0].resign()
    events = [e for response in table.players[0].watch() for e in response.events]
    joined = next(e.seat_joined for e in events if e.HasField("seat_joined"))
    assert (joined.seat, joined.display_name) == (1, "Ben")
    record = table.players[1].record()
    assert [seat.display_name for seat in record.seats] == ["Ann", ""]
    assert verify(record).seats.display_names == ("Ann", "Ben")


def test_a_rematch_exchanges_the_names_with_the_seats(cluster):
    creator, friend = cluster.clients
    invited = two_strangers(creator, friend)
    opened = create(creator, (named("Ann"), named("Ben")))
    for table in (invited, opened):
        table.players[0].resign()
        for player in table.players.values():
            again = player.rematch()
        view = Player(creator, again.name, again.seat_token.token).view()
        assert [each.display_name for each in view.players] == ["Ben", "Ann"]


@pytest.mark.parametrize("name", FORGED_NAMES)
def test_a_name_that_could_deceive_is_refused_and_changes_nothing(client, name):
    refusal = refused(lambda: create(client, (OPEN, named(name))))
    assert refusal.reason == "INVALID_FIELD"
    assert refusal.fields == ["seats[1].display_name"]
    table = create(client, (OPEN, INVITED))
    refusal = refused(join, client, table.invitations[1], name)
    assert refusal.fields == ["display_name"]
    join(client, table.invitations[1], "Ben")


@pytest.mark.parametrize("name", SHOWN_NAMES)
def test_a_name_has_the_joiners_that_its_script_needs(client, name):
    assert create(client, (OPEN, named(name))).players[0].view().players[1].display_name == name


def test_a_name_is_for_a_seat_that_its_player_takes(client):
    for seat in (bot("RANDOM"), INVITED):
        config = copy.deepcopy(seat)
        config.display_name = "Ann"
        refusal = refused(lambda seats=(OPEN, config): create(client, seats))
        assert refusal.fields == ["seats[1].display_name"]
    assert refused(lambda: create(client, (OPEN, named("A" * 33)))).reason == "INVALID_FIELD"
    create(client, (OPEN, named("Ä" * 32)))


# Hints


def test_hints_are_given_where_the_match_allows_them(cluster):
    creator, friend = cluster.clients
    tables = []
    for seats, asked, policy in (
        ((OPEN, bot("RANDOM")), {}, ALLOWED),
        ((OPEN, INVITED), {}, AFTER_END),
        ((OPEN, OPEN), {}, AFTER_END),
        ((), {}, AFTER_END),
        ((OPEN, bot("RANDOM")), {"hint_policy": AFTER_END}, AFTER_END),
        ((OPEN, INVITED), {"hint_policy": ALLOWED}, ALLOWED),
    ):
        table = create(creator, seats, **asked)
        for seat, invitation in table.invitations.items():
            assert invitation_of(friend, invitation).hint_policy == policy
            assert refused(invitation_of, friend, "made up").reason == "INVITATION_INVALID"
            table.players[seat] = join(friend, invitation)
        tables.append((table, policy))
    cluster.crash()
    for number, (table, policy) in enumerate(tables):
        with note_on_failure(number=number):
            check_hints(cluster.clients[0], table, policy)


def check_hints(client, table, policy):
    for player in table.everyone():
        player.move_to(client)
        assert player.view().hint_policy == policy
    for seat, player in table.players.items():
        if seat not in player.view().deciders:
            continue
        if policy == ALLOWED:
            assert player.hint(LIMITS).hint.iterations
        else:
            assert refused(player.hint, LIMITS)[:2] == NO_HINTS
            assert refused(list, player.analysis(limits=LIMITS))[:2] == NO_HINTS


# Takebacks and pauses


def test_an_offer_outlives_the_servers_and_so_does_what_came_of_it(cluster):
    creator, friend = cluster.clients
    clock = {"per_match": {"seconds": 3600}}
    table = two_strangers(creator, friend, time_control=clock)
    ann, ben = table.players[0], table.players[1]

    def crash():
        cluster.crash()
        for player, client in zip(table.everyone(), [*cluster.clients, None], strict=True):
            player.move_to(client or cluster.clients[0])

    before = ann.view()
    ann.submit(before.legal_actions[0], before.version)
    offer = ann.offer("TAKEBACK").offer
    crash()
    assert ben.view().offer == offer
    back = ben.answer(offer)
    crash()
    assert ben.answer(offer) == back
    view = ann.view()
    assert (view.takeback_count, view.skystones) == (1, before.skystones)
    ben.answer(ann.offer("PAUSE").offer)
    crash()
    assert ann.view().HasField("pause_end_time")
    refusal = refused(ann.submit, before.legal_actions[0], ann.view().version)
    assert refusal[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "MATCH_PAUSED")
    assert ann.resume().deciders
    crash()
    # Versions and requests from before the takeback are what they were.
    assert refused(ann.submit, before.legal_actions[0], before.version).reason == "STALE_VERSION"
    ann.submit(before.legal_actions[0], ann.view().version)
    ann.resign()
    verify(ben.record())


# Rematches


def test_a_declined_rematch_ends_for_good(cluster):
    creator, friend = cluster.clients
    table = two_strangers(creator, friend)
    ann, ben = table.players[0], table.players[1]
    assert refused(decline, ben).reason == "REMATCH_NOT_OFFERED"
    ben.resign()
    assert refused(decline, ben)[:2] == NO_OFFER
    again = ann.rematch()
    waiting = Player(creator, again.name, again.seat_token.token)
    assert decline(ben) == decline(ben) == decline(ann)
    cluster.crash()
    for player in (ann, ben, waiting):
        player.move_to(cluster.clients[1])
    assert refused(ann.rematch).reason == refused(ben.rematch).reason == "MATCH_OVER"
    result = waiting.view().result
    assert result.reason == game_pb2.END_REASON_DECLINED
    assert list(result.scores) == [0.5, 0.5]
    *_, last = waiting.watch()
    assert [event.WhichOneof("event") for event in last.events] == ["seat_declined", "match_ended"]
    assert last.events[0].seat_declined.seat == 0
    verify(waiting.record())


def test_an_offer_can_be_taken_back_but_not_a_rematch_that_has_begun(cluster):
    table = two_strangers(*cluster.clients)
    table.players[1].resign()
    table.players[0].rematch()
    assert decline(table.players[0]).state == DECLINED
    table = two_strangers(*cluster.clients)
    table.players[1].resign()
    for player in table.players.values():
        player.rematch()
    for player in table.players.values():
        assert refused(decline, player)[:2] == NO_OFFER
    assert refused(decline, table.spectator).reason == "SPECTATOR"


def test_a_rematch_against_a_bot_begins_at_once(cluster):
    table = create(cluster.clients[0], (OPEN, bot("RANDOM")))
    table.players[0].resign()
    stream = follow(table.players[0])
    again = table.players[0].rematch()
    *_, last = stream
    assert (last.rematch.name, last.rematch.state) == (again.name, ACCEPTED)
    assert last.rematch.asking_seats == [0]


def test_a_stream_for_a_rematch_proves_that_it_lives(cluster):
    table = two_strangers(*cluster.clients)
    table.players[1].resign()
    stream = follow(table.players[0], heartbeat_interval={"seconds": 1})
    version = table.players[0].view().version
    for _ in range(2):  # The second comes while the stream waits for a rematch.
        while not (response := next(stream)).up_to_date:
            pass
        assert response.version == version
    table.players[1].rematch()
    while not (response := next(stream)).HasField("rematch"):
        assert response.up_to_date
    assert response.rematch.state == OFFERED
    stream.cancel()
