"""Who sits where: invitations are used once, tokens are replaced, and strangers share no token."""

import base64
import hashlib
import hmac
import uuid

import grpc

from croupier.v1 import hint_pb2, match_pb2
from engine.game import SPECTATOR
from service.api.authentication import Tokens
from service.hosting.seats import MAX_GENERATION, Caller
from tests.support.manual_clock import ManualClock
from tests.support.play import note_on_failure, seeded
from tests.support.serving import INVITED, OPEN, Player, Table, bot, play_on, refused, ruleset_of

KEY = bytes(range(32))
LIMITS = hint_pb2.SearchLimits(iterations=30)
USED = (grpc.StatusCode.FAILED_PRECONDITION, "INVITATION_USED")
REPLACED = (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REPLACED")


def creation(seats=(OPEN, INVITED), game_id="skystones", **fields):
    """A request for CreateMatch, with a new request_id."""
    fields = {"ruleset": ruleset_of(game_id), "request_id": str(uuid.uuid4()), **fields}
    return match_pb2.CreateMatchRequest(seats=seats, **fields)


def create(client, request):
    return client.matches.CreateMatch(request)


def table(client, *arguments, **fields):
    """Creates a match, by default with an open and an invited seat."""
    return Table(client, create(client, creation(*arguments, **fields)))


# Invitations


def test_two_strangers_play_and_neither_gets_the_token_of_the_other(cluster):
    # Everything that each of the two receives in a match and its rematch, as bytes.
    received = {"creator": [], "friend": []}
    creator, friend = cluster.clients
    request = creation()
    created = create(creator, request)
    assert [each.seat for each in created.seat_tokens] == [0]
    assert [each.seat for each in created.invitations] == [1]
    mine = Table(creator, created).players[0]
    joined = friend.join_later(created.invitations[0].invitation).result()
    assert joined.name == created.name
    assert joined.secret_hash == created.secret_hash
    assert joined.spectator_token == created.spectator_token
    theirs = Player(friend, joined.name, joined.seat_token.token)
    assert theirs.view().seat == joined.seat_token.seat == 1
    received["creator"] += [created, create(creator, request)]
    received["friend"].append(joined)
    tokens = {"creator": {mine.token}, "friend": {theirs.token}}

    both = Table(creator, created)
    both.players[1] = theirs
    play_on(both, seeded("strangers"))
    for name, player in (("creator", mine), ("friend", theirs)):
        received[name] += [player.view(), *player.watch(), player.record()]
        again = player.rematch()
        assert again.seat_token.seat == (1 if name == "creator" else 0)
        assert player.rematch() == again
        received[name].append(again)
        tokens[name].add(again.seat_token.token)
    cluster.crash()
    mine.move_to(cluster.clients[1])
    received["creator"] += [create(cluster.clients[0], request), mine.rematch()]

    assert len(tokens["creator"] | tokens["friend"]) == 4
    for name, other in (("creator", "friend"), ("friend", "creator")):
        data = b"".join(message.SerializeToString() for message in received[name])
        assert not any(token.encode() in data for token in tokens[other])
        assert all(token.encode() in data for token in tokens[name])


def test_an_invitation_is_used_once_even_after_a_crash(cluster):
    creator, friend = cluster.clients
    matches = [table(creator) for _ in range(3)]
    request_ids = [str(uuid.uuid4()) for _ in matches]
    answers = [
        friend.join_later(each.invitations[1], request_id).result()
        for each, request_id in zip(matches, request_ids, strict=True)
    ]
    # The request_id of another invitation is no better than a new one.
    assert refused(creator.join, matches[0].invitations[1], request_ids[1])[:2] == USED
    Player(friend, answers[2].name, answers[2].seat_token.token).resign()
    for crashed in (False, True):
        if crashed:
            cluster.crash()
        for client in cluster.clients:
            for each, request_id, answer in zip(matches, request_ids, answers, strict=True):
                assert client.join_later(each.invitations[1], request_id).result() == answer
                refusal = refused(client.join, each.invitations[1])
                assert refusal[:2] == USED
                assert refusal.fields == []


def test_a_match_waits_for_its_invited_seat(servers, start):
    clock = ManualClock()
    _, client = start(clock=clock)
    control = {"per_decision": {"seconds": 60}, "per_match": {"seconds": 90}}
    table_ = table(client, [OPEN, INVITED], "powershot_soccer", time_control=control)
    opened, spectator = table_.players[0], table_.spectator
    stream = spectator.watch()
    assert not next(stream).events
    # Ten minutes do not run out any clock, and nothing is dealt.
    servers.loop.call_soon_threadsafe(clock.advance, 600_000)
    for player in (opened, spectator):
        view = player.view()
        assert (view.version, list(view.deciders)) == (0, [])
        assert view.WhichOneof("game") is None
        assert [player.WhichOneof("kind") for player in view.players] == ["open", "invited"]
        assert not view.players[1].invited.joined
        assert [seat.HasField("deadline") for seat in view.clocks.seats] == [False, False]
        assert [seat.time_left.seconds for seat in view.clocks.seats] == [90, 90]
    dealt = table(client, [OPEN, OPEN], "powershot_soccer")
    (decider,) = dealt.spectator.view().deciders
    action = dealt.players[decider].view().legal_actions[0]
    assert refused(opened.hint, LIMITS).reason == "NOT_TO_DECIDE"
    assert refused(opened.submit, action, 0).reason == "NOT_TO_DECIDE"

    joined = table_.join(client, 1)
    assert joined.view().players[1].invited.joined
    update = next(stream)
    assert update.version == 1
    assert update.events[0].seat_joined.seat == 1
    assert all(event.HasField("powershot_soccer") for event in update.events[1:])
    assert len(update.events) > 1
    stream.cancel()
    view = opened.view()
    (decider,) = view.deciders
    assert view.clocks.seats[decider].deadline.ToMilliseconds() == clock.now() + 60_000
    play_on(table_, seeded("waits"), most=3)
    assert opened.view().version == 4


def test_an_invitation_to_a_match_that_is_over_is_refused(client):
    table_ = table(client)
    table_.players[0].resign()
    refusal = refused(client.join, table_.invitations[1])
    assert refusal[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "MATCH_OVER")
    assert refused(table_.players[0].rematch).reason == "SEAT_NOT_JOINED"
    entries = table_.players[0].record().entries
    assert [entry.WhichOneof("entry") for entry in entries] == ["resignation"]


def test_only_an_invitation_of_this_server_is_taken(client):
    table_ = table(client)
    match_id = table_.name.removeprefix("matches/")
    good = table_.invitations[1]
    wrong = {
        "an invitation to the other seat": Tokens(KEY).invite(match_id, 0),
        "a token": table_.players[0].token,
        "a token of a spectator": table_.spectator.token,
        "cut off": good[:-1],
        "with more": good + "A",
        "changed": good[:-2] + ("AA" if good[-2:] != "AA" else "BB"),
        "short": "A",
        "no base64": "é!",
    }
    for what, invitation in wrong.items():
        with note_on_failure(what=what):
            refusal = refused(client.join, invitation)
            assert refusal[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVITATION_INVALID")
            assert refusal.fields == ["invitation"]
    # An invitation is no token.
    player = Player(client, table_.name, good)
    assert refused(player.view).reason == "TOKEN_INVALID"
    for fields in ({"invitation": ""}, {"request_id": ""}, {"request_id": "1234"}):
        request = {"invitation": good, "request_id": str(uuid.uuid4()), **fields}
        refusal = refused(client.matches.JoinMatch, match_pb2.JoinMatchRequest(**request))
        assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", [*fields])
    assert table_.join(client, 1).view().seat == 1


def test_an_invited_seat_contributes_entropy_after_it_was_joined(start):
    _, client = start()
    table_ = table(client, [OPEN, INVITED], entropy_from_seats=True)

    def contribute(player, **contribution):
        request = match_pb2.ContributeEntropyRequest(name=table_.name, **contribution)
        return player._call(client.matches.ContributeEntropy, request).view

    entropy = [bytes([seat]) * 20 for seat in (0, 1)]
    hashes = [hashlib.sha256(each).digest() for each in entropy]
    contribute(table_.players[0], entropy_hash=hashes[0])
    table_.join(client, 1)
    contribute(table_.players[1], entropy_hash=hashes[1])
    contribute(table_.players[1], entropy=entropy[1])
    view = contribute(table_.players[0], entropy=entropy[0])
    assert view.version == 5
    assert view.deciders
    play_on(table_, seeded("entropy of strangers"))
    assert table_.spectator.view().HasField("result")


# Rematches


def test_a_rematch_that_is_given_up_early_can_still_be_asked_for(client):
    table_ = table(client)
    table_.join(client, 1)
    table_.players[0].resign()
    first = table_.players[0].rematch()
    Player(client, first.name, first.seat_token.token).resign()
    late = table_.players[1].rematch()
    assert late.name == first.name
    assert Player(client, late.name, late.seat_token.token).view().HasField("result")


def test_a_rematch_of_open_seats_begins_at_once(client):
    table_ = table(client, [OPEN, OPEN])
    table_.players[0].resign()
    response = table_.players[0].rematch()
    view = Player(client, response.name, response.seat_token.token).view()
    assert view.version == 0
    assert view.deciders
    assert [player.WhichOneof("kind") for player in view.players] == ["open", "open"]


# Tokens that are replaced


def test_a_replaced_token_is_void_at_once_on_every_server(cluster):
    one, other = cluster.clients
    table_ = table(one, [OPEN, OPEN], game_id="castle_rampage")
    thief = Player(other, table_.name, table_.players[0].token)
    holder = table_.players[0]
    # The other server knows the match, without the replacement.
    stream = thief.watch()
    assert next(stream).version == 0
    waiting = thief.wait_later(5)
    action = thief.view().legal_actions[0]
    repeated = thief.request(action, 0)
    before = thief.send(repeated)

    token = holder.replace_token()
    assert token != holder.token
    calls = {
        "submit": lambda: thief.submit(action, before.version),
        "repeat": lambda: thief.send(repeated),
        "resign": thief.resign,
        "view": thief.view,
        "hint": lambda: thief.hint(LIMITS),
        "watch": lambda: next(thief.watch()),
        "record": thief.record,
        "rematch": thief.rematch,
        "replace": thief.replace_token,
    }
    for client in (other, one):
        thief.move_to(client)
        for what, call in calls.items():
            with note_on_failure(what=what):
                refusal = refused(call)
                assert refusal[:2] == REPLACED
                assert (refusal.fields, refusal.metadata) == ([], {})
    # What was open with the old token ends with the reason.
    assert next(stream).version == 1
    assert refused(next, stream)[:2] == REPLACED
    assert refused(waiting.result)[:2] == REPLACED

    holder.token = token
    cluster.crash()
    for client in cluster.clients:
        for player in (holder, thief, *table_.everyone()):
            player.move_to(client)
        assert refused(thief.view)[:2] == REPLACED
        assert holder.view().seat == 0
        assert table_.players[1].view().version == table_.spectator.view().version == 2
    (event,) = next(holder.watch(after=1)).events
    assert event.seat_token_replaced.seat == 0
    play_on(table_, seeded("replaced"), most=5)
    table_.players[1].resign()
    assert holder.record().result == holder.view().result


def test_replacements_do_not_change_the_chance_of_a_match(client):
    # Otherwise a seat that conspires with the server could draw again until it likes the cards.
    games = []
    for replace in (False, True):
        table_ = table(client, [OPEN, INVITED], "castle_rampage", seed=5)
        if replace:
            table_.players[0].token = table_.players[0].replace_token()
        table_.join(client, 1)
        rng = seeded("the same actions")
        for turn in range(45):
            if replace and turn % 3 == 0:
                player = table_.players[turn % 2]
                player.token = player.replace_token()
            play_on(table_, rng, most=1)
        table_.players[0].resign()
        record = table_.spectator.record()
        games.append(
            [
                entry.action if entry.HasField("action") else entry.event.castle_rampage
                for entry in record.entries
                if entry.WhichOneof("entry") in ("action", "event")
            ]
        )
    assert games[0] == games[1]
    assert len(games[0]) > 45  # Cards were drawn, too.


def test_a_repeated_replacement_returns_the_same_token(cluster):
    table_ = table(cluster.clients[0], [OPEN, OPEN])
    holder, request_id = table_.players[0], str(uuid.uuid4())
    token = holder.replace_token(request_id)
    assert holder.replace_token(request_id) == token
    cluster.crash()
    for client in cluster.clients:
        holder.move_to(client)
        assert holder.replace_token(request_id) == token
        assert refused(holder.replace_token)[:2] == REPLACED
    renewed = Player(cluster.clients[0], table_.name, token)
    assert refused(renewed.replace_token, request_id).reason == "REQUEST_ID_REUSED"
    renewed.replace_token()
    # The answer that was given then is no longer true.
    assert refused(holder.replace_token, request_id)[:2] == REPLACED


def test_only_the_holder_of_a_seat_replaces_its_token(client):
    table_ = table(client)
    player = table_.join(client, 1)
    assert refused(table_.spectator.replace_token).reason == "SPECTATOR"
    stranger = Player(client, table_.name, "nonsense")
    assert refused(stranger.replace_token).reason == "TOKEN_INVALID"
    stranger.token = table(client, [OPEN, OPEN]).players[1].token
    assert refused(stranger.replace_token).reason == "TOKEN_OF_OTHER_MATCH"
    refusal = refused(player.replace_token, "not random")
    assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", ["request_id"])
    player.resign()
    assert refused(player.replace_token).reason == "MATCH_OVER"


def test_a_token_is_replaced_at_most_255_times(client, server):
    # More often than a snapshot is stored, also before there are cards that one could hold.
    table_ = table(client)
    player = table_.players[0]
    for _ in range(MAX_GENERATION):
        player.token = player.replace_token()
    assert refused(player.replace_token).reason == "TOKEN_REPLACED_TOO_OFTEN"
    player.resign()
    entries = [entry.WhichOneof("entry") for entry in player.record().entries]
    assert entries == ["seat_token_replaced"] * MAX_GENERATION + ["resignation"]


def test_a_replacement_makes_no_view_stale(client):
    table_ = table(client, [OPEN, OPEN], "champion_chess", seed=5)
    first, second = table_.players[0], table_.players[1]
    view = first.view()
    second.token = second.replace_token()
    first.token = first.replace_token()
    assert first.view().version == 2
    # Both decide for version 0, from before the replacements.
    first.submit(view.legal_actions[0], view.version)
    after = second.submit(second.view().legal_actions[0], 0)
    assert after.version == 4
    decider = table_.players[after.deciders[0]]
    actions = decider.view().legal_actions
    for stale in range(4):
        assert refused(decider.submit, actions[0], stale).reason == "STALE_VERSION"
    decider.token = decider.replace_token()
    decider.submit(actions[0], 4)


def test_tokens_of_earlier_versions_stay_valid():
    claim = bytes([1]) + b"abcdefgh"
    mac = hmac.digest(KEY, b"croupier/token/v1\0" + claim, "sha256")
    token = base64.urlsafe_b64encode(claim + mac).decode().rstrip("=")
    tokens = Tokens(KEY)
    assert tokens.read(f"Bearer {token}") == Caller("abcdefgh", 1, 0)
    assert tokens.make(Caller("abcdefgh", 1)) == token
    for generation in (1, 2, MAX_GENERATION):
        for seat in (0, 1, SPECTATOR):
            caller = Caller("abcdefgh", seat, generation)
            assert tokens.read(f"Bearer {tokens.make(caller)}") == caller


# What a view says of its seats


def test_a_view_says_who_sits_where_and_whether_there_is_a_seed(client):
    for seats, seed, kinds in (
        ([OPEN, OPEN], None, ["open", "open"]),
        ([], 4, ["open", "open"]),
        ([bot("SKILLED"), INVITED], 4, ["bot", "invited"]),
    ):
        table_ = table(client, seats, "champion_chess", seed=seed)
        for invited in table_.invitations:
            table_.join(client, invited)
        views = [player.view() for player in table_.everyone()]
        for view in views:
            assert view.seeded == (seed is not None)
            assert [player.WhichOneof("kind") for player in view.players] == kinds
            assert view.players == views[0].players
            assert not any(player.key_name for player in view.players)
        if kinds[0] == "bot":
            assert views[0].players[0].bot.strength == "SKILLED"
        # A hint for the view does not depend on them.
        view = next(view for view in views if view.legal_actions)
        hint = client.hint(view, LIMITS, seed=1).hint
        del view.players[:]
        view.ClearField("seeded")
        assert client.hint(view, LIMITS, seed=1).hint == hint


CALLERS = "\n".join(
    f'[keys."{name}"]\nsha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\n'
    f"names_players = {str(name.startswith('chess')).lower()}"
    for name in ("chess.example", "cards.example")
)


def test_a_view_names_the_key_with_which_a_seat_was_taken(start):
    _, client = start(callers=CALLERS)
    matches = client.matches

    def key(name, *more):
        # The keys of this test are their names.
        return {"metadata": [("x-api-key", name), *more]}

    def names(player):
        views = [player.view(), spectator.view()]
        assert views[0].players == views[1].players
        return [player.key_name for player in views[0].players]

    # The player whom a front end names is not shown.
    request = creation([OPEN, INVITED])
    created = matches.CreateMatch(request, **key("chess.example", ("x-player-id", "ann")))
    opened = Player(client, created.name, created.seat_tokens[0].token)
    spectator = Player(client, created.name, created.spectator_token)
    assert names(opened) == ["chess.example", ""]
    # The same request with another key means the same match.
    assert matches.CreateMatch(request, **key("cards.example")) == created
    assert names(opened) == ["chess.example", ""]
    join = match_pb2.JoinMatchRequest(
        invitation=created.invitations[0].invitation, request_id=str(uuid.uuid4())
    )
    joined = matches.JoinMatch(join, **key("cards.example"))
    assert names(opened) == ["chess.example", "cards.example"]
    invited = Player(client, joined.name, joined.seat_token.token)
    assert names(invited) == ["chess.example", "cards.example"]
    invited.resign()
    # Without a key, the rematch names none for the seat.
    rematch = invited.rematch()
    spectator = Player(client, rematch.name, rematch.spectator_token)
    assert names(Player(client, rematch.name, rematch.seat_token.token)) == ["", ""]
