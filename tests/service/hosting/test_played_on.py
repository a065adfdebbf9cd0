"""Matches that are played on from a moment of another match, on a real server."""

import copy
import hashlib
import random
import uuid

import pytest

import wire
from croupier.v1 import game_pb2, match_pb2, review_pb2
from engine.game import SPECTATOR
from engine.match import Match
from engine.model import learned
from service.common.event_loop import finish_now
from service.hosting import history
from service.hosting.creation import NewMatch, modelled_header, new_header, secret_of_seed
from service.hosting.matches import SNAPSHOT_EVERY
from service.hosting.played_on import MAX_STRETCHES
from service.hosting.records import RecordError, replaying_record, verify, write_record
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import random_match, random_moment
from tests.support.serving import (
    INVITED,
    OPEN,
    Table,
    bot,
    hosted_cases,
    play_on,
    refused,
    ruleset_of,
    simultaneous_games,
)

OPERATOR = "operator-" * 5
AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)
MOMENTS = 6 if LONG_FORM else 1  # Of a match.
CHANCY = ("castle_rampage", "champion_chess", "powershot_soccer")  # They draw after the deal.


def create(client, ruleset, version, source, who=AS_OPERATOR, **fields):
    """Plays on from a version of a match; returns the Table."""
    request = asking(ruleset, version, source, **fields)
    return Table(client, client.matches.CreateMatch(request, metadata=who))


def asking(ruleset, version, source, **fields):
    """The request, for the record of a match or one of its tokens."""
    kind = "match_token" if isinstance(source, str) else "record"
    start_from = {kind: source, "version": version}
    return match_pb2.CreateMatchRequest(ruleset=ruleset, start_from=start_from, **fields)


def game_part(view):
    """What a view shows of the game."""
    return getattr(view, view.WhichOneof("game"))


def known(state, viewer):
    """What a viewer knew of the game in the state of a match."""
    return game_part(
        game_pb2.View.FromString(wire.write_view(state.game, state.match.view(viewer)))
    )


@pytest.fixture
def client(start):
    return start(allow_seeds=True, operator=OPERATOR)[1]


@pytest.fixture
def over(client):
    """A table of two people at which a match of random actions is over."""
    table = client.create(ruleset_of("skystones"), (OPEN, OPEN))
    play_on(table, random.Random(5))
    return table


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_each_seat_knows_what_it_knew_then_and_no_more(client, game_id, name):
    rng = seeded("moments", game_id, name)
    source = random_match(game_id, name, rng, replaced=True)
    record = write_record(source)
    for _ in range(MOMENTS):
        moment = random_moment(source, rng)
        with note_on_failure(version=moment.version):
            table = create(client, record.ruleset, moment.version, record)
            owed = moment.match.position.deciders
            for seat, player in (*table.players.items(), (SPECTATOR, table.spectator)):
                view = player.view()
                assert game_part(view) == known(moment, seat)
                assert (view.version, tuple(view.deciders)) == (0, owed)
                assert view.origin.name == record.name
                assert view.origin.version == moment.version
            assert table.spectator.details().origin == view.origin
            play_on(table, rng)
            state = verify(table.spectator.record())
            assert state.header.start == moment.start_here().message


@pytest.mark.parametrize("game_id", CHANCY)
def test_chance_is_new(client, game_id):
    # Whoever has seen a match knows nothing of what is drawn when it is played on.
    ruleset = ruleset_of(game_id)
    record = write_record(random_match(game_id, "default", seeded("chance", game_id)))
    for seed in range(8):
        told = set()
        for _ in range(2):
            table = create(client, ruleset, 0, record)
            play_on(table, random.Random(seed))  # The same, as long as the views are.
            view = table.players[0].view()
            told.add((view.version, game_part(view).SerializeToString(deterministic=True)))
        if len(told) > 1:
            return
    pytest.fail("nothing was drawn anew")


@pytest.mark.parametrize("game_id", CHANCY)
def test_the_piles_that_nobody_has_seen_are_shuffled_again(game_id):
    rng = seeded("piles", game_id)
    moment = random_moment(random_match(game_id, "default", rng), rng)
    start = moment.match.position
    begun = {Match(moment.game, rng.randbytes(32), "m", 0, start).position for _ in range(20)}
    assert len(begun) > 10
    for seat in (0, 1):
        assert {each.view(seat) for each in begun} == {start.view(seat)}


def test_a_match_is_played_on_from_its_token_as_from_its_record(client, over):
    record = over.spectator.record()
    for source in (record, over.players[0].token, over.spectator.token):
        table = create(client, record.ruleset, 5, source)
        assert game_part(table.players[0].view()) == game_part(
            create(client, record.ruleset, 5, record).players[0].view()
        )
        play_on(table, random.Random(3))
        assert verify(table.spectator.record()).over


def test_a_bot_a_friend_a_clock_and_entropy_as_in_any_match(client, over):
    record = over.spectator.record()
    control = {"per_decision": {"seconds": 3600}}
    table = create(
        client,
        record.ruleset,
        4,
        record,
        seats=(OPEN, INVITED),
        time_control=control,
    )
    friend = client.matches.GetInvitation(
        match_pb2.GetInvitationRequest(invitation=table.invitations[1])
    )
    assert (friend.origin.name, friend.origin.version) == (record.name, 4)
    assert not table.players[0].view().deciders
    table.join(client, 1)
    assert table.players[0].view().clocks.seats
    play_on(table, random.Random(8))
    with_bot = create(client, record.ruleset, 4, record, seats=(OPEN, bot("RANDOM")))
    while not (view := with_bot.players[0].view()).result.scores:
        if 0 in view.deciders:
            with_bot.players[0].submit(view.legal_actions[0], view.version)
        else:
            with_bot.players[0].wait_later(view.version + 1).result()
    for each in (table, with_bot):
        verify(each.spectator.record())


def test_a_decision_that_was_held_back_is_made_anew(client):
    for game_id in simultaneous_games():
        table = client.create(ruleset_of(game_id), (OPEN, OPEN))
        view = table.players[1].view()
        table.players[1].submit(view.legal_actions[0], view.version)
        table.players[0].resign()
        again = create(client, ruleset_of(game_id), 1, table.players[0].token)
        assert list(again.spectator.view().deciders) == [0, 1]
        assert game_part(again.players[1].view()) == game_part(view)


def test_it_outlasts_a_restart_from_its_log_and_from_a_snapshot(servers, start, place):
    rng = seeded("restart")
    source = random_match("castle_rampage", "default", rng)
    moment = random_moment(source, rng)
    record = write_record(source)
    table = None
    for most in (0, 2 * SNAPSHOT_EVERY, None):
        store = place.store()
        servers.run(store.open())
        server, client = start(store, operator=OPERATOR)
        if table is None:
            table = create(client, record.ruleset, moment.version, record)
            views = table.views()
        for player in table.everyone():
            player.move_to(client)
        assert table.views() == views
        play_on(table, rng, most)
        views = table.views()
        if most is None:
            verify(table.spectator.record())
        client.close()
        servers.stop(server, 0)
        servers.run(store.close())


def test_a_rematch_begins_at_the_same_moment_with_the_seats_exchanged(client, over):
    record = over.spectator.record()
    table = create(client, record.ruleset, 6, record)
    began = [game_part(each.view()) for each in table.players.values()]
    table.players[0].resign()
    rematch = table.players[0].rematch()
    view = client.matches.GetView(
        match_pb2.GetViewRequest(name=rematch.name),
        metadata=[("authorization", f"Bearer {rematch.seat_token.token}")],
    ).view
    assert view.seat == 1
    assert game_part(view) == began[1]
    assert view.origin.version == 6


def test_a_review_of_it_adds_up(client, over):
    record = over.spectator.record()
    table = create(client, record.ruleset, 3, record)
    play_on(table, random.Random(2))
    request = review_pb2.ReviewMatchRequest(
        record=table.spectator.record(), iterations=100, deepen_above=1
    )
    summary = list(client.reviews.ReviewMatch(request))[-1].summary
    luck = sum(each.luck for each in summary.chance_outcomes)
    lost = [seat.loss for seat in summary.seats]
    terms = summary.start + luck - lost[0] + lost[1] + summary.rest
    assert terms == summary.result.scores[0] - 0.5
    assert all(each.version for each in summary.chance_outcomes)  # There was no deal.


def test_a_repeated_request_creates_one_match(client, over):
    record = over.spectator.record()
    request_id = str(uuid.uuid4())
    once = [create(client, record.ruleset, 6, record, request_id=request_id) for _ in range(2)]
    assert once[0].created == once[1].created
    other = asking(record.ruleset, 7, record, request_id=request_id)
    assert refused(client.matches.CreateMatch, other).reason == "REQUEST_ID_REUSED"


def refused_start(client, source, version=0, seats=(OPEN, INVITED), **fields):
    """The fields of the refusal of a start."""
    name = "skystones"
    request = asking(ruleset_of(name), version, source, seats=seats, **fields)
    return refused(client.matches.CreateMatch, request).fields


def resigned(table):
    """A table, after somebody has given up the match."""
    next(iter(table.players.values())).resign()
    return table


def test_people_play_on_only_from_what_the_log_holds(client, over):
    made_up = write_record(random_match("skystones", "default", seeded("made up")))
    ruleset = made_up.ruleset
    for seats in ((OPEN, INVITED), (OPEN, OPEN), (INVITED, INVITED), ()):
        assert refused_start(client, made_up, seats=seats) == ["start_from.record"]
    # Neither by way of a match that a player has played alone, nor of its record, nor of the next.
    for seats in ((OPEN, bot("RANDOM")), (bot("RANDOM"), INVITED), (bot("RANDOM"),) * 2):
        alone = create(client, ruleset, 0, made_up, (), seats=seats)
        assert not alone.spectator.view().origin.logged
    alone = resigned(create(client, ruleset, 0, made_up, (), seats=(OPEN, bot("RANDOM"))))
    again = resigned(
        create(client, ruleset, 0, alone.players[0].token, (), seats=(OPEN, bot("RANDOM")))
    )
    for each in (alone, again):
        assert refused_start(client, each.spectator.token) == ["start_from.match_token"]
        record = each.spectator.record()
        assert refused_start(client, record) == ["start_from.record"]
        record.start.origin.logged = True
        assert refused_start(client, record) == ["start_from.record"]
    # Another course of a match that the log holds, or that of a match that is not over.
    other = over.spectator.record()
    first = next(each for each in other.entries if each.HasField("action"))
    legal = finish_now(replaying_record(other, 0)).dealt().legal(first.action.seat)
    game = wire.read_ruleset(ruleset, "ruleset")
    taken = wire.read_action(game, first.action.action)
    first.action.action.CopyFrom(
        wire.write_action(game, next(each for each in legal if each != taken))
    )
    assert refused_start(client, other, version=2) == ["start_from.record"]
    running = client.create(ruleset, (OPEN, OPEN), seed=7)
    known = copy.deepcopy(made_up)
    known.name, known.seeded, known.secret = running.name, True, secret_of_seed(7)
    known.secret_hash = hashlib.sha256(known.secret).digest()
    del known.entries[:]
    assert refused_start(client, known) == ["start_from.record"]
    # Whoever has chosen a seed has chosen the deal.
    chosen = resigned(running)
    assert refused_start(client, chosen.spectator.token) == ["start_from.match_token"]
    # What the log holds, and what the operator allows.
    for source in (over.spectator.record(), over.players[0].token):
        table = create(client, ruleset, 5, source, (), seats=(OPEN, OPEN))
        assert table.spectator.view().origin.logged
        play_on(table, random.Random(1))
        later = create(client, ruleset, 1, table.players[1].token, (), seats=(OPEN, INVITED))
        assert later.spectator.view().origin.logged
    allowed = create(client, ruleset, 0, made_up, seats=(OPEN, INVITED))
    assert not allowed.spectator.view().origin.logged


def test_seats_contribute_entropy_where_it_matters(client, over):
    source = over.players[0].token
    for seats in ((OPEN, OPEN), (OPEN, bot("RANDOM"))):
        fields = {"version": 3, "seats": seats, "entropy_from_seats": True}
        assert refused_start(client, source, **fields) == ["entropy_from_seats"]
    for game_id in CHANCY:
        table = resigned(client.create(ruleset_of(game_id), (OPEN, OPEN)))
        again = create(
            client, ruleset_of(game_id), 0, table.players[0].token, (), entropy_from_seats=True
        )
        assert list(again.spectator.view().entropy_owed.hash_seats) == [0, 1]
    # In the last round nothing is drawn any more.
    state = random_match(game_id, "default", seeded("entropy", game_id))
    record = write_record(state)
    request = asking(record.ruleset, state.version - 1, record, entropy_from_seats=True)
    assert refused(client.matches.CreateMatch, request).fields == ["entropy_from_seats"]


def test_what_cannot_be_played_on_is_refused(client, over):
    record, ruleset = over.spectator.record(), ruleset_of("skystones")
    end = record.entries[-1].version
    running = client.create(ruleset, (OPEN, OPEN))
    waiting = client.create(ruleset, (OPEN, INVITED))
    waiting.players[0].resign()
    illegal = copy.deepcopy(record)
    acts = [each for each in illegal.entries if each.HasField("action")]
    acts[1].action.action.CopyFrom(acts[-1].action.action)
    foreign = "x" + over.players[0].token[1:]
    for version, source, asked, expected in (
        (3, running.players[0].token, ruleset, "MATCH_NOT_OVER"),
        (end, record, ruleset, "start_from.version"),
        (end, over.players[0].token, ruleset, "start_from.version"),
        (end + 1, over.players[0].token, ruleset, "start_from.version"),
        (end + 1, record, ruleset, "start_from.record.entries"),
        (0, waiting.players[0].token, ruleset, "start_from.version"),
        (3, record, ruleset_of("champion_chess"), "ruleset"),
        (3, foreign, ruleset, "start_from.match_token"),
        (6, illegal, ruleset, "start_from.record.entries["),
        (3, match_pb2.MatchRecord(), ruleset, "start_from.record"),
    ):
        refusal = refused(client.matches.CreateMatch, asking(asked, version, source))
        if refusal.fields:
            assert refusal.fields[0].startswith(expected)
        else:
            assert refusal.reason == expected
    nothing = match_pb2.CreateMatchRequest(ruleset=ruleset, start_from={"version": 3})
    assert refused(client.matches.CreateMatch, nothing).fields


def test_matches_are_played_on_a_limited_number_of_times_in_a_row(client):
    state = random_match("skystones", "default", seeded("row"), played_on=MAX_STRETCHES)
    assert len(verify(write_record(state)).header.start)
    refusal = refused(
        client.matches.CreateMatch, asking(ruleset_of("skystones"), 0, write_record(state))
    )
    assert refusal.fields[0] == "start_from.version"


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_record_whose_start_breaks_a_rule_is_refused(game_id):
    record = write_record(random_match(game_id, "default", seeded("broken", game_id), played_on=1))
    stretch = record.start.stretches[-1]
    stretch.actions.add().CopyFrom(stretch.actions[0])
    stretch.actions[-1].seat = 1 - stretch.actions[-1].seat
    with pytest.raises(RecordError) as caught:
        verify(record)
    assert caught.value.field.startswith("start.stretches[0]")


def test_the_model_of_older_rules_is_not_that_of_the_newest(monkeypatch):
    newest = type(wire.read_ruleset(ruleset_of("castle_rampage"), "ruleset"))
    module = newest.__module__.rpartition(".")[0] + ".rules_1"
    older = type("Older", (newest,), {"rules_version": 1, "__module__": module})
    begun = new_header(NewMatch(ruleset_of("castle_rampage"), bots=(0, 1)), 0)
    assert modelled_header(begun).model == learned(newest()).name
    monkeypatch.setattr(history, "_under", lambda game, version: older(game.ruleset))
    assert learned(older()) is None
    assert modelled_header(begun._replace(rules_version=1)).model == ""
