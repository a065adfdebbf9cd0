"""Refusals have the right status, reason and fields, and change nothing."""

import base64

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from croupier.v1 import catalog_pb2, game_pb2, hint_pb2, match_pb2
from croupier.v1.skystones_pb2 import SkystonesPhase
from service.api.authentication import Tokens
from service.hosting.seats import Caller
from tests.support.play import seeded
from tests.support.serving import OPEN, Player, bot, play_on, refused, ruleset_of

GAME = "champion_chess"
INVALID = grpc.StatusCode.INVALID_ARGUMENT
PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION
FEW = hint_pb2.SearchLimits(iterations=10)


@pytest.fixture
def table(client):
    """A match that the test must leave unchanged."""
    table = client.create(ruleset_of(GAME), seed=1)
    table.players[0].submit(table.players[0].view().legal_actions[0], 0, "first")
    before = table.views()
    yield table
    assert table.views() == before


def chess(**fields):
    return game_pb2.MatchAction(champion_chess=fields)


def champion(**fields):
    return chess(play_champion=fields)


def refusal_of(table, action, version=1):
    player = table.players[1]
    return refused(player.submit, action, version)


def test_an_illegal_action(table):
    hand = table.players[1].view().champion_chess.hand
    missing = next(noble for noble in (1, 2, 3, 4, 5) if noble not in hand)
    for action, kind, rule in (
        (champion(noble=missing), "play_champion", "NOT_IN_HAND"),
        (chess(play_aid={}), "play_aid", "WRONG_PHASE"),
    ):
        refusal = refusal_of(table, action)
        assert refusal[:3] == (PRECONDITION, "ILLEGAL_ACTION", [f"action.champion_chess.{kind}"])
        assert refusal.metadata == {"rule": rule}
        assert refusal.reasons == [rule]


def test_an_action_without_the_version_that_it_answers(table):
    player = table.players[1]
    request = player.request(player.view().legal_actions[0], 0)
    request.ClearField("expected_version")
    refusal = refused(player.send, request)
    assert refusal[:3] == (INVALID, "INVALID_FIELD", ["expected_version"])
    assert refusal.reasons == ["REQUIRED"]


@pytest.mark.parametrize("version", [2, 99])
def test_a_stale_version(table, version):
    refusal = refusal_of(table, table.players[1].view().legal_actions[0], version)
    assert refusal[:2] == (grpc.StatusCode.ABORTED, "STALE_VERSION")
    assert refusal.metadata == {"current_version": "1"}


def test_a_version_from_before_the_last_change(client):
    table = client.create(ruleset_of(GAME), seed=1)
    for player in table.players.values():
        player.submit(player.view().legal_actions[0], 0)
    before = table.views()
    player = table.players[0]
    refusal = refused(player.submit, player.view().legal_actions[0], 1)
    assert refusal[:2] == (grpc.StatusCode.ABORTED, "STALE_VERSION")
    assert refusal.metadata == {"current_version": "2"}
    assert table.views() == before


def test_a_seat_that_need_not_decide(table):
    player = table.players[0]
    action = table.players[1].view().legal_actions[0]
    refusal = refused(player.submit, action, 1)
    assert refusal[:2] == (PRECONDITION, "NOT_TO_DECIDE")
    assert refused(player.hint, FEW)[:2] == (PRECONDITION, "NOT_TO_DECIDE")


def test_a_request_id_of_another_action(table):
    player = table.players[0]
    other = table.players[0].request(champion(noble="CHAMPION_CHESS_CARD_KING"), 0, "first")
    reused = (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    assert refused(player.send, other)[:2] == reused
    # An illegal action and the same action for another version are refused alike.
    nonsense = chess(play_aid={"cards": [1]})
    assert refused(player.submit, nonsense, 0, "first")[:2] == reused
    assert refused(player.submit, first_action(table), 1, "first")[:2] == reused


def first_action(table):
    """The action that seat 0 has taken in `table`."""
    probe = table.players[0]._client.create(ruleset_of(GAME), seed=1)
    return probe.players[0].view().legal_actions[0]


# The caller

CALLS = ["details", "view", "watch", "submit", "resign", "record", "hint"]


def call_as(table, token, what):
    """A function that makes one kind of call about a match with a given token."""
    player = Player(table.spectator._client, table.name, token)
    action = table.players[1].view().legal_actions[0]
    return {
        "details": player.details,
        "view": player.view,
        "watch": lambda: list(player.watch()),
        "submit": lambda: player.submit(action, 1),
        "resign": player.resign,
        "record": player.record,
        "hint": lambda: player.hint(FEW),
    }[what]


@pytest.mark.parametrize("what", CALLS)
def test_no_token(table, what):
    refusal = refused(call_as(table, "", what))
    assert refusal[:2] == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_MISSING")


@pytest.mark.parametrize("what", CALLS)
def test_a_token_of_another_match(client, table, what):
    other = client.create(ruleset_of(GAME), seed=1)
    refusal = refused(call_as(table, other.players[1].token, what))
    assert refusal[:2] == (grpc.StatusCode.PERMISSION_DENIED, "TOKEN_OF_OTHER_MATCH")


def forgeries(table):
    token = table.players[1].token
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    seat_0 = base64.urlsafe_b64encode(b"\0" + data[1:]).decode().rstrip("=")
    last = "A" if token[-2] != "A" else "B"
    match_id = table.name.removeprefix("matches/")
    return {
        "another seat": seat_0,
        "a changed character": token[:-2] + last + token[-1],
        "cut": token[:-4],
        "too short": "AA",
        "empty": " ",
        "not base64": "?" * 80,
        "another key": Tokens(b"another key").make(Caller(match_id, 1)),
    }


def test_a_forged_token(table):
    for kind, token in forgeries(table).items():
        refusal = refused(call_as(table, token, "view"))
        assert refusal[:2] == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID"), kind


def test_another_scheme_than_bearer(client, table):
    request = match_pb2.GetViewRequest(name=table.name)
    metadata = [("authorization", f"Basic {table.players[1].token}")]
    refusal = refused(lambda: client.matches.GetView(request, metadata=metadata))
    assert refusal[:2] == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")


@pytest.mark.parametrize("what", ["submit", "resign", "hint"])
def test_a_spectator_only_looks_on(table, what):
    refusal = refused(call_as(table, table.spectator.token, what))
    assert refusal[:2] == (grpc.StatusCode.PERMISSION_DENIED, "SPECTATOR")


# The match


def test_an_unknown_match(client, table):
    stranger = Player(client, "matches/nosuchmatch", table.players[1].token)
    refusal = refused(stranger.view)
    assert refusal[:2] == (grpc.StatusCode.NOT_FOUND, "MATCH_NOT_FOUND")
    assert refusal.metadata == {"match": "matches/nosuchmatch"}


def test_a_finished_match(client):
    table = client.create(ruleset_of(GAME), seed=1)
    action = table.players[0].view().legal_actions[0]
    table.players[1].resign()
    before = table.views()
    for refusal in (
        refused(table.players[0].submit, action, 0),
        refused(table.players[0].resign),
        refused(table.players[0].hint, FEW),
        refused(client.hint, table.players[0].view(), FEW),
    ):
        assert refusal[:2] == (PRECONDITION, "MATCH_OVER")
    assert table.views() == before


def test_a_record_while_the_match_runs(table):
    refusal = refused(table.players[0].record)
    assert refusal[:2] == (PRECONDITION, "MATCH_NOT_OVER")


# The request


@pytest.mark.parametrize(
    ("action", "field"),
    [
        (None, "action"),
        (game_pb2.MatchAction(), "action.game"),
        (chess(), "action.champion_chess.action"),
        (champion(noble=6), "action.champion_chess.play_champion.noble"),
        (champion(noble=77), "action.champion_chess.play_champion.noble"),
        (
            chess(discard_to_reserve={"cards": [6, 6, 0]}),
            "action.champion_chess.discard_to_reserve.cards[2]",
        ),
        (chess(play_aid={"cards": [6] * 8}), "action.champion_chess.play_aid.cards"),
        (game_pb2.MatchAction(skystones={"pick_card": {"card": 1}}), "action.skystones"),
    ],
)
def test_a_malformed_action(table, action, field):
    assert refusal_of(table, action)[:3] == (INVALID, "INVALID_FIELD", [field])


def test_a_request_that_breaks_very_many_rules(client, table):
    # The refusal must be short enough to be sent, so it names only the first rule.
    view = table.players[0].view()
    for _ in range(2000):
        view.legal_actions.add()
    assert refused(client.hint, view, FEW)[:2] == (INVALID, "INVALID_FIELD")
    request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(GAME), seats=[OPEN, OPEN])
    for _ in range(2000):
        request.seats.add()
    refusal = refused(client.matches.CreateMatch, request)
    assert refusal[:2] == (INVALID, "INVALID_FIELD")
    assert len(refusal.fields) == 1


def test_unknown_fields_are_not_kept(client):
    ruleset = ruleset_of(GAME)
    ruleset.champion_chess.MergeFromString(b"\xfa\x7f\x05spare")
    assert b"spare" in ruleset.SerializeToString()
    table = client.create(ruleset)
    assert not any(b"spare" in view for view in table.views())


def test_a_malformed_request(client, table):
    method = client.channel.unary_unary("/croupier.v1.MatchService/SubmitAction")
    refusal = refused(lambda: method(b"\xff\xff", metadata=table.players[1].metadata))
    assert refusal[:2] == (INVALID, "INVALID_FIELD")


@pytest.mark.parametrize(
    "name", ["", "matches/", "matches/UPPER", "games/x", "matches/" + "a" * 41]
)
def test_a_malformed_name(client, table, name):
    refusal = refused(Player(client, name, table.players[1].token).view)
    assert refusal[:3] == (INVALID, "INVALID_FIELD", ["name"])


@pytest.mark.parametrize("request_id", ["", "x" * 65])
def test_a_request_id_of_the_wrong_length(table, request_id):
    player = table.players[1]
    request = player.request(player.view().legal_actions[0], 1)
    request.request_id = request_id
    assert refused(player.send, request)[:3] == (INVALID, "INVALID_FIELD", ["request_id"])


@pytest.mark.parametrize(
    "request_id",
    [
        "x",
        "00000000-0000-0000-0000-000000000000",
        "c232ab00-9414-11ec-b3c8-9f6bdeced846",  # Version 1, made of the time and the machine.
        "{0d3f8c0a-6f0e-4f5b-9a3e-2b6d1c7e8f90}",
        "0d3f8c0a6f0e4f5b9a3e2b6d1c7e8f90",
        "0d3f8c0a-6f0e-4f5b-7a3e-2b6d1c7e8f90",
        "0d3f8c0a-6f0e-4f5b-9a3e-2b6d1c7e8f90\n",
    ],
)
def test_a_request_id_of_a_creation_that_is_no_random_uuid(client, request_id):
    request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(GAME), request_id=request_id)
    refusal = refused(client.matches.CreateMatch, request)
    assert refusal[:3] == (INVALID, "INVALID_FIELD", ["request_id"])


CARD = {"card": 1, "copies": 1}


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"hand_size": 8}, "INVALID_FIELD", "hand_size"),
        ({"cards": [CARD, {"card": 0}]}, "INVALID_FIELD", "cards[1].card"),
        ({"cards": [CARD, {"card": 1}]}, "INVALID_RULESET", "cards[1].card"),
        ({"cards": [{"card": 6, "copies": 5}]}, "INVALID_RULESET", "cards"),
    ],
)
def test_a_malformed_ruleset(client, fields, reason, field):
    refusal = refused(client.create, game_pb2.Ruleset(champion_chess=fields))
    assert refusal[:3] == (INVALID, reason, [f"ruleset.champion_chess.{field}"])


@pytest.mark.parametrize(
    ("ruleset", "seats", "field"),
    [
        (None, [], "ruleset"),
        (game_pb2.Ruleset(), [], "ruleset.game"),
        (ruleset_of(GAME), [OPEN], "seats"),
        (ruleset_of(GAME), [OPEN, match_pb2.SeatConfig()], "seats[1].occupant"),
        (ruleset_of(GAME), [bot("UNSPECIFIED"), OPEN], "seats[0].bot.strength"),
    ],
)
def test_a_malformed_creation(client, ruleset, seats, field):
    refusal = refused(client.create, ruleset, seats)
    assert refusal[:3] == (INVALID, "INVALID_FIELD", [field])


@pytest.mark.parametrize("seconds", [2**63 - 1, -(2**63), 315_576_000_001])
@pytest.mark.parametrize("field", ["per_decision", "per_match", "increment"])
@pytest.mark.parametrize("on_expiry", ["FORFEIT", "DEFAULT_ACTION"])
def test_a_duration_that_there_is_not(client, seconds, field, on_expiry):
    times = {"per_match": Duration(seconds=9), field: Duration(seconds=seconds)}
    expiry = f"EXPIRY_POLICY_{on_expiry}"
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(GAME), seats=[OPEN, OPEN], time_control={**times, "on_expiry": expiry}
    )
    refusal = refused(lambda: client.matches.CreateMatch(request))
    assert refusal[:3] == (INVALID, "INVALID_FIELD", [f"time_control.{field}"])


def test_a_seed_where_seeds_are_not_allowed(start):
    _, client = start()
    refusal = refused(client.create, ruleset_of(GAME), (), 1)
    assert refusal[:2] == (PRECONDITION, "SEEDS_NOT_ALLOWED")


# Hints


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (hint_pb2.SearchLimits(), "search.limits"),
        (hint_pb2.SearchLimits(iterations=10_000_001), "search.limits.iterations"),
        (hint_pb2.SearchLimits(time=Duration(seconds=61)), "search.limits.time"),
        (hint_pb2.SearchLimits(time=Duration(nanos=1)), "search.limits.time"),
        (hint_pb2.SearchLimits(iterations=1, threads=17), "search.limits.threads"),
    ],
)
def test_limits_out_of_range(client, table, limits, field):
    player = table.players[1]
    assert refused(player.hint, limits)[:3] == (INVALID, "INVALID_FIELD", [field])
    assert refused(client.hint, player.view(), limits)[:3] == (INVALID, "INVALID_FIELD", [field])


def test_a_hint_request_without_a_position(client):
    refusal = refused(client.hint_later().result)
    assert refusal[:3] == (INVALID, "INVALID_FIELD", ["search.position"])


def change_hand_size(view):
    view.champion_chess.sides[1].hand_size -= 1


def change_hand(view):
    view.champion_chess.hand[0] = view.champion_chess.hand[0] % 12 + 1
    del view.champion_chess.hand[1]


def change_memory(view):
    view.champion_chess.sides[0].memory.hand.append(0)


def change_deck_size(view):
    view.champion_chess.sides[0].deck_size += 1


def change_ruleset(view):
    view.ruleset.champion_chess.cards.add(card="CHAMPION_CHESS_CARD_PAWN", copies=1)


def change_game(view):
    view.skystones.phase = 1
    view.skystones.sides.add()
    view.skystones.sides.add()


@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        (change_hand_size, "INCONSISTENT_VIEW", "champion_chess.sides[1].hand_size"),
        (change_hand, "INCONSISTENT_VIEW", "champion_chess.hand"),
        (change_memory, "INCONSISTENT_VIEW", "champion_chess.sides[0].memory.hand[0]"),
        (change_deck_size, "INCONSISTENT_VIEW", "champion_chess.sides[0].deck_size"),
        (change_ruleset, "INVALID_RULESET", "ruleset.champion_chess.cards"),
        (change_game, "INVALID_FIELD", "skystones"),
    ],
)
def test_a_view_that_contradicts_itself(client, table, change, reason, field):
    view = table.players[1].view()
    change(view)
    refusal = refused(client.hint, view, FEW)
    assert refusal[:3] == (INVALID, reason, [f"search.view.{field}"])


def test_a_view_that_gives_the_turn_to_the_wrong_seat(client):
    table = client.create(ruleset_of("skystones"), seed=1)
    rng = seeded("turn")
    while table.spectator.view().skystones.phase != SkystonesPhase.SKYSTONES_PHASE_PLACE:
        play_on(table, rng, most=1)
    (decider,) = table.spectator.view().deciders
    view = table.players[1 - decider].view()
    view.deciders[0] = 1 - decider
    refusal = refused(client.hint, view, FEW)
    assert refusal[:3] == (INVALID, "INCONSISTENT_VIEW", ["search.view.deciders"])


def test_a_view_of_a_seat_that_need_not_decide(client, table):
    view = table.players[0].view()
    refusal = refused(client.hint, view, FEW)
    assert refusal[:3] == (PRECONDITION, "NOT_TO_DECIDE", ["search.view.deciders"])


def test_a_spectators_view(client, table):
    refusal = refused(client.hint, table.spectator.view(), FEW)
    assert refusal[:3] == (INVALID, "INVALID_FIELD", ["search.view.seat"])


# Games and failures


@pytest.mark.parametrize("game", ["no_such_game", "kuhn_poker"])
def test_a_game_that_is_not_hosted(client, game):
    request = catalog_pb2.GetGameRequest(name=f"games/{game}")
    refusal = refused(lambda: client.catalog.GetGame(request))
    assert refusal[:2] == (grpc.StatusCode.NOT_FOUND, "GAME_NOT_FOUND")
    assert refusal.metadata == {"game": f"games/{game}"}


def test_an_internal_error_reveals_nothing(servers, start, caplog):
    server, client = start()
    table = client.create(ruleset_of(GAME))
    message = " ".join(["the hand holds a", "Knight"])

    async def fail(match_id):
        raise RuntimeError(message)

    server.matches.load = fail
    with pytest.raises(grpc.RpcError) as caught:
        table.players[0].view()
    servers.stop(server)
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "Knight" not in str(caught.value)
    assert "GetView failed: RuntimeError" in caplog.text
    assert "Knight" not in caplog.text
