"""A game of an installed package is played, hinted at and kept as our own games are."""

import json
import re
import urllib.error
import urllib.request

import grpc
import pytest
from google.protobuf import any_pb2, descriptor_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from croupier.client import OPEN, Client, CroupierError, Seat, bot
from croupier.messages import GameMessages
from croupier.phrases import Words, ending_sentence
from croupier.v1 import clock_pb2, game_pb2, hint_pb2, match_pb2
from tests.support.planted_games import environment_of, plant_new_game, run
from tests.support.server_process import ServerProcess
from tests.support.serving import read_error
from tests.support.waiting import FOREVER

GAME = "high_card"
PACKAGE = "high_card.v1"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    plant_new_game(folder)
    return folder


@pytest.fixture(scope="module")
def server(packages):
    options = ("--store", "memory", "--web", "127.0.0.1:0", "--search-processes", "1")
    with ServerProcess(*options, environment=environment_of(packages)) as process:
        yield process


@pytest.fixture
def client(server):
    with Client(server.client.address, timeout=FOREVER) as made:
        yield made


def test_the_catalog_tells_the_schema_the_origin_and_the_phrases(client):
    game = client.game(GAME)
    assert game.origin.startswith("croupier-high-card ")
    assert game.phrases["action.play"] == "Play the {card}"
    files = descriptor_pb2.FileDescriptorSet.FromString(game.schema).file
    assert files[-1].package == PACKAGE
    assert not client.game("skystones").schema
    [listed] = [each for each in client.games() if each.name == f"games/{GAME}"]
    assert not (listed.cards or listed.schema or listed.phrases)


def test_a_refusal_says_in_the_phrases_of_the_game_what_is_legal(client):
    seat = client.create_match(GAME, seats=(OPEN, OPEN)).seats[0]
    legal = [*seat.view().legal_actions]
    with pytest.raises(CroupierError) as caught:
        held = {action.packaged.value for action in legal}
        seat.submit(next(each for each in actions() if each.packaged.value not in held))
    assert re.search(
        r"not legal now: Play the \d\. Legal are: (Play the \d(, )?){4}$", str(caught.value)
    )


def actions():
    """Yields every action of the game."""
    for card in range(1, 10):
        action = game_pb2.MatchAction()
        action.packaged.type_url = f"type.googleapis.com/{PACKAGE}.HighCardAction"
        action.packaged.value = bytes([10, 2, 8, card])
        yield action


def play(client, match):
    """Plays a match to its end by hints; returns the versions of all views of seat 0."""
    seat = match.seats[0]
    for view in seat.turns():
        hint = seat.suggest(iterations=50)
        assert hint.action in view.legal_actions
        seat.submit(hint.action)
    return seat.record()


def test_a_match_is_played_by_hints_and_its_record_is_true(client):
    match = client.create_match(GAME, (OPEN, bot("casual")))
    record = play(client, match)
    assert sum(record.result.scores) == 1
    rounds = [value.number for value in record.result.ending.values if value.HasField("number")]
    assert sum(rounds) == 4
    said = "Rounds won: First {}, Second {}.".format(*rounds)
    assert ending_sentence(Words(client.game(GAME)), record.result.ending) == said
    actions = [entry for entry in record.entries if entry.HasField("action")]
    assert len(actions) == 8
    read = GameMessages(client.game(GAME)).read(actions[0].action.action)
    assert read.DESCRIPTOR.full_name == f"{PACKAGE}.HighCardAction"


def test_a_match_is_reviewed_by_its_seat_and_by_its_record(client):
    match = client.create_match(GAME, (OPEN, bot("random")))
    record = play(client, match)
    limits = {"iterations": 100, "deep_iterations": 200}
    plan, *decisions, last = match.seats[0].review(**limits)
    assert plan.progress.decisions == 8
    assert {(each.decision.version, each.decision.seat) for each in decisions} == {
        (entry.version - 1, entry.action.seat)
        for entry in record.entries
        if entry.HasField("action")
    }
    summary = last.summary
    lost = [seat.loss for seat in summary.seats]
    terms = summary.start + summary.seats[0].luck - lost[0] + lost[1] + summary.rest
    assert terms == record.result.scores[0] - 0.5
    *_, again = client.review(record, **limits)
    assert again.summary == summary


def test_a_hint_from_a_view_tells_beliefs_by_the_places_of_the_game(client):
    match = client.create_match(GAME)
    view = match.seats[0].view()
    request = hint_pb2.SuggestActionRequest(
        search={"view": view, "limits": {"iterations": 200}, "belief_worlds": 500}
    )
    response = client.hint_stub.SuggestAction(request)
    places = {belief.place_name for belief in response.hint.beliefs}
    assert places == {"opponent_hand", "set_aside"}
    assert response.hint.action in view.legal_actions


def test_reflection_knows_the_messages(server):
    database = ProtoReflectionDescriptorDatabase(server.client.channel)
    file = database.FindFileContainingSymbol(f"{PACKAGE}.HighCardView")
    assert file.package == PACKAGE


def packed(name, value=b""):
    return any_pb2.Any(type_url=f"type.googleapis.com/{name}", value=value)


def refused_ruleset(client, message):
    request = match_pb2.CreateMatchRequest(
        ruleset=game_pb2.Ruleset(packaged=message), seats=[OPEN, OPEN]
    )
    with pytest.raises(grpc.RpcError) as caught:
        client.match_stub.CreateMatch(request)
    return read_error(caught.value), caught.value.details()


def test_a_ruleset_that_cannot_be_used_is_refused_by_field(client):
    ruleset = f"{PACKAGE}.HighCardRuleset"
    # Neither a long name nor that of a game may pass for more than an unknown message.
    for name in ("x" * 100_000, f"acme.{'x' * 100_000}", "skystones", GAME, "packaged", ""):
        refusal, text = refused_ruleset(client, packed(name))
        assert refusal.reason == "GAME_NOT_FOUND", name
        assert len(text) < 500
    refusal, _ = refused_ruleset(client, packed("acme.Unknown"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "GAME_NOT_FOUND")
    for message, said in (
        (packed(ruleset, b"\xff"), ": must be a message of its type"),
        (packed(f"{PACKAGE}.HighCardView"), f": must be a {ruleset}"),
        # A rule of the schema, and one of the game.
        (packed(ruleset, b"\x08\x63"), ".ranks: must be greater than or equal to 2"),
        (packed(ruleset, b"\x08\x04"), ".ranks: must be enough for both hands"),
        (packed(ruleset, b"\x7a\x80\x80\x04" + bytes(1 << 16)), ": must have at most 65536 bytes"),
    ):
        refusal, text = refused_ruleset(client, message)
        assert refusal.reason == "INVALID_RULESET"
        assert f"ruleset.packaged{said}" in text


def test_an_action_of_another_game_or_type_is_refused_and_changes_nothing(client):
    seat = client.create_match(GAME).seats[0]
    before = seat.view()
    for action, message in (
        (
            game_pb2.MatchAction(skystones={"pick_card": {"card": 1}}),
            "must be an action of high_card",
        ),
        (game_pb2.MatchAction(packaged=packed(GAME)), "must be an action of high_card"),
        (game_pb2.MatchAction(packaged=packed(f"{PACKAGE}.HighCardView")), "must be a "),
        (game_pb2.MatchAction(packaged=packed(f"{PACKAGE}.HighCardAction")), "must have one of "),
    ):
        request = match_pb2.SubmitActionRequest(
            name=seat.match, expected_version=0, action=action, request_id="x"
        )
        with pytest.raises(grpc.RpcError) as caught:
            client.match_stub.SubmitAction(
                request, metadata=(("authorization", f"Bearer {seat.token}"),)
            )
        assert message in caught.value.details()
        assert seat.view() == before


def test_json_has_the_messages_by_their_types(server):
    def post(method, body, token=""):
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        url = f"{server.web_url}croupier.v1.{method}"
        request = urllib.request.Request(
            url, json.dumps(body).encode(), {n: t for n, t in headers.items() if t != "Bearer "}
        )
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    ruleset = {"packaged": {"@type": f"type.googleapis.com/{PACKAGE}.HighCardRuleset", "ranks": 8}}
    created = post("MatchService/CreateMatch", {"ruleset": ruleset, "seats": [{"open": {}}] * 2})
    token = created["seatTokens"][0]["token"]
    view = post("MatchService/GetView", {"name": created["name"]}, token)["view"]
    hand = view["packaged"]["handCards"]
    assert view["packaged"]["@type"].endswith(f"{PACKAGE}.HighCardView")
    assert len(hand) == 4 and view["ruleset"]["packaged"]["ranks"] == 8
    submitted = {"name": created["name"], "expectedVersion": 0, "requestId": "json"}
    action = {"packaged": {"@type": f"{PACKAGE}.HighCardAction", "play": {"card": hand[1]}}}
    answer = post("MatchService/SubmitAction", {**submitted, "action": action}, token)
    assert answer["view"]["version"] == "1"


def said_of(server, ruleset):
    """What the server says of a ruleset in JSON that it refuses."""
    body = json.dumps({"ruleset": ruleset, "seats": [{"open": {}}] * 2})
    request = urllib.request.Request(
        f"{server.web_url}croupier.v1.MatchService/CreateMatch",
        body.encode(),
        {"content-type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == 400
    return json.loads(caught.value.read())["message"]


@pytest.mark.parametrize("name", [None, "acme.Unknown", 7, f"{PACKAGE}.HighCard"])
def test_json_of_an_unknown_type_is_refused(server, name):
    packaged = {"@type": name} if name is not None else {}
    said = said_of(server, {"packaged": packaged})
    assert "ruleset.packaged: must have in" in said and f"{PACKAGE}.HighCard" in said


def test_who_misspells_a_message_of_a_package_is_told_what_there_is(server, client):
    kind = f"{PACKAGE}.HighCardRuleset"
    said = said_of(server, {"packaged": {"@type": kind, "rank": 8}})
    assert said == "ruleset.packaged.rank: is no field of HighCardRuleset: did you mean ranks?"
    # Its id is no field, as those of our games are.
    for name in (GAME, "highCard"):
        said = said_of(server, {name: {}})
        assert f'go into "packaged", with "@type": "{kind}"' in said
    assert f"{GAME} (in packaged)" in said_of(server, {"poker": {}})
    with pytest.raises(CroupierError, match=f"did you mean {GAME}?"):
        client.game("high_cards")


CRASHES = {
    "apply": """
    def apply(self, state, joint, chance, log):
        raise ZeroDivisionError("planted")
""",
    "view": """
    def view(self, state, seat, view):
        1 / (1 - state.round_count)
        view.seat = seat
        if seat < 2:
            view.hand = state.hands[seat]
""",
}


@pytest.mark.parametrize("method", CRASHES)
def test_rules_that_raise_end_the_call_and_not_the_server(tmp_path, method):
    plant_new_game(tmp_path)
    rules = tmp_path / "high_card/rules/rules.py"
    planted = f"{CRASHES[method]}\n    def replaced("
    rules.write_text(rules.read_text().replace(f"    def {method}(", planted))
    with (
        ServerProcess("--store", "memory", environment=environment_of(tmp_path)) as server,
        Client(server.client.address, timeout=FOREVER) as client,
    ):
        match = client.create_match(GAME)
        first, second = match.seats.values()
        first.submit(first.view().legal_actions[0])
        with pytest.raises(CroupierError) as caught:
            second.submit(second.view().legal_actions[0], patience=0)
        assert caught.value.code == grpc.StatusCode.INTERNAL
        assert second.view().version == 1, "nothing has happened"
        server.wait_for("from ZeroDivisionError at ")  # What it said could be a secret.
        assert play(client, client.create_match("skystones", (OPEN, bot("random")))).result.scores


VIEW = """
    def view(self, state, seat, view):
        1 / (0 if {} else 1)
        view.seat = seat
        if seat < 2:
            view.hand = state.hands[seat]

    def replaced("""


def with_view(folder, fails):
    """Plants the game, whose `view` fails where an expression is true."""
    plant_new_game(folder)
    rules = folder / GAME / "rules/rules.py"
    rules.write_text(rules.read_text().replace("\n    def view(", VIEW.format(fails)))
    return ServerProcess("--store", "memory", environment=environment_of(folder))


@pytest.mark.parametrize("viewer", range(3))
def test_a_match_of_which_somebody_would_see_nothing_is_not_created(tmp_path, viewer):
    with (
        with_view(tmp_path, f"seat == {viewer}") as server,
        Client(server.client.address, timeout=FOREVER) as client,
        pytest.raises(CroupierError, match="INTERNAL"),
    ):
        client.create_match(GAME)


def test_a_decision_of_which_a_spectator_would_see_nothing_is_not_made(tmp_path):
    with (
        with_view(tmp_path, "seat == 2 and state.round_count") as server,
        Client(server.client.address, timeout=FOREVER) as client,
    ):
        match = client.create_match(GAME)
        first, second = match.seats.values()
        first.submit(first.view().legal_actions[0])
        with pytest.raises(CroupierError, match="INTERNAL"):
            second.submit(second.view().legal_actions[0], patience=0)
        assert match.spectator.view().version == 1


def test_a_seat_can_resign_where_the_rules_fail_at_what_the_clock_demands(tmp_path):
    control = clock_pb2.TimeControl(
        on_expiry=clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION, per_decision={"seconds": 1}
    )
    with (
        with_view(tmp_path, "state.round_count") as server,
        Client(server.client.address, timeout=FOREVER) as client,
    ):
        match = client.create_match(GAME, time_control=control)
        server.wait_for("from ZeroDivisionError at ")
        match.seats[0].resign()
        assert match.spectator.view().HasField("result")


def test_a_match_goes_on_after_a_restart(packages, tmp_path):
    options = ("--store", "sqlite", "--data", str(tmp_path))
    environment = environment_of(packages)
    with ServerProcess(*options, environment=environment) as server:
        with Client(server.client.address, timeout=FOREVER) as client:
            match = client.create_match(GAME)
            first = match.seats[0]
            first.submit(first.view().legal_actions[0])
            before = first.view()
        server.kill()
    with (
        ServerProcess(*options, environment=environment) as server,
        Client(server.client.address, timeout=FOREVER) as client,
    ):
        seat = Seat(client, match.name, first.token)
        assert seat.view() == before


# What changes in the rules, which keep their version, and after how many decisions.
CHANGES = {
    "deal": (
        0,
        "for seat in range(SEATS):\n            hand =",
        "for seat in (1, 0):\n            hand =",
    ),
    "legal": (
        4,
        "for card in held(state.hands[seat])]",
        "for card in held(state.hands[seat])][:1]",
    ),
    "apply": (4, "            state.hands[seat][card - 1] = 0\n", ""),
    "outcome": (
        8,
        "return first if seat == 0 else 1 - first",
        "return 0.25 if seat == 0 else 0.75",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_rules_that_make_something_else_of_a_match_are_noticed(tmp_path, change):
    count, old, new = CHANGES[change]
    plant_new_game(tmp_path)
    options = ("--store", "sqlite", "--data", str(tmp_path / "data"))
    environment = environment_of(tmp_path)
    with ServerProcess(*options, environment=environment) as server:
        with Client(server.client.address, timeout=FOREVER) as client:
            match = client.create_match(GAME)
            for _ in range(count):
                seat = next(each for each in match.seats.values() if each.view().legal_actions)
                seat.submit(seat.view().legal_actions[0])
            assert match.spectator.view().HasField("result") == (change == "outcome")
        server.stop()
    rules = tmp_path / GAME / "rules/rules.py"
    text = rules.read_text()
    assert old in text
    rules.write_text(text.replace(old, new))
    with (
        ServerProcess(*options, environment=environment) as server,
        Client(server.client.address, timeout=FOREVER) as client,
    ):
        with pytest.raises(CroupierError, match="RULES_CHANGED"):
            Seat(client, match.name, match.seats[0].token).view()
        server.stop()
    said = run(tmp_path, "verify", "--data", str(tmp_path / "data")).stdout
    assert "1 under other rules" in said


def test_nothing_unknown_in_a_ruleset_is_kept(client):
    name = f"{PACKAGE}.HighCardRuleset"
    unknown = b"\x7a\xe0\xd4\x03" + bytes(60_000)
    for message in (
        packed(name, unknown),
        any_pb2.Any(type_url=f"{'x' * 60_000}/{name}"),
        packed(name, b"\x08\x08" * 9_999),
    ):
        match = client.create_match(game_pb2.Ruleset(packaged=message))
        assert match.spectator.view().ruleset.ByteSize() < 200
        match.seats[0].resign()
        record = match.spectator.record()
        assert record.ruleset.ByteSize() < 200
    record.ruleset.packaged.value += unknown
    request = match_pb2.CreateMatchRequest(
        ruleset=game_pb2.Ruleset(packaged=packed(name)), seats=[OPEN, bot("random")]
    )
    request.start_from.record.CopyFrom(record)
    with pytest.raises(grpc.RpcError) as caught:
        client.match_stub.CreateMatch(request)
    assert read_error(caught.value).fields == ["start_from.record"]
