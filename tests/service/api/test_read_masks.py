"""Read masks leave out what they do not name."""

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

import wire
from croupier.v1 import match_pb2
from croupier.v1.clock_pb2 import TimeControl
from tests.support.play import note_on_failure, seeded
from tests.support.serving import refused, ruleset_of
from wire.fields import MAX_PATHS

MATCHES = 3
PER_DECISION = TimeControl()
PER_DECISION.per_decision.FromSeconds(1000)


def paths_of(descriptor, depth=4):
    """The paths of all fields of a message, and of the messages in them."""
    paths = []
    for field in descriptor.fields:
        paths.append(field.name)
        if field.message_type is not None and not field.is_repeated and depth:
            inner = paths_of(field.message_type, depth - 1)
            paths += [f"{field.name}.{path}" for path in inner]
    return paths


def random_mask(rng, response):
    paths = paths_of(response.DESCRIPTOR)
    if rng.random() < 0.5:
        paths = [path for path in paths if path.count(".") <= 1]
    return FieldMask(paths=rng.sample(paths, rng.randint(1, min(12, len(paths)))))


def masked(mask, response):
    """What protobuf's own library leaves of a message. It also makes messages that are not set."""
    left = type(response)()
    mask.MergeMessage(response, left)
    return left


def only_set(message):
    """A message without the messages in it that are empty."""
    for field, value in message.ListFields():
        if field.message_type is not None and not field.is_repeated:
            only_set(value)
            if not value.ByteSize():
                message.ClearField(field.name)
    return message


def call(player, name, request):
    method = getattr(player._client.matches, name)
    return method(request, metadata=player.metadata)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_mask_leaves_what_the_library_leaves_of_the_whole_response(client, game_id):
    for seed in range(MATCHES):
        rng = seeded("masks", game_id, seed)
        table = client.create(ruleset_of(game_id), time_control=PER_DECISION)
        with note_on_failure(seed=seed):
            for _ in range(25):
                view = table.spectator.view()
                if not view.deciders:
                    break
                player = table.players[rng.choice(view.deciders)]
                view = player.view()
                request = player.request(rng.choice(view.legal_actions), view.version)
                whole = call(player, "SubmitAction", request)
                # The same request again is answered alike.
                check(player, "SubmitAction", request, whole, rng)
                for viewer in table.everyone():
                    request = match_pb2.GetViewRequest(name=viewer.match)
                    whole = call(viewer, "GetView", request)
                    whole.ClearField("server_time")
                    check(viewer, "GetView", request, whole, rng)
            check_streams(table, rng)


def check(player, name, request, whole, rng):
    mask = random_mask(rng, whole)
    request.read_mask.CopyFrom(mask)
    got = call(player, name, request)
    if name == "GetView":
        got.ClearField("server_time")
    with note_on_failure(mask=list(mask.paths)):
        assert only_set(got) == only_set(masked(mask, whole))


def check_streams(table, rng):
    if not table.spectator.view().HasField("result"):
        table.players[0].resign()
    for viewer in table.everyone():
        whole = list(viewer.watch())
        mask = random_mask(rng, whole[0])
        request = match_pb2.WatchMatchRequest(name=viewer.match, read_mask=mask)
        with note_on_failure(mask=list(mask.paths)):
            for got, each in zip(call(viewer, "WatchMatch", request), whole, strict=True):
                assert only_set(got) == only_set(masked(mask, each))


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["nonsense"], "UNKNOWN_FIELD"),
        (["view.nonsense"], "UNKNOWN_FIELD"),
        (["view.deciders.seat"], "UNKNOWN_FIELD"),
        ([""], "UNKNOWN_FIELD"),
        (["view"] * (MAX_PATHS + 1), "TOO_MANY_PATHS"),
    ],
)
def test_a_mask_that_names_no_fields_is_refused(client, paths, reason):
    table = client.create(ruleset_of("skystones"))
    view = table.players[0].view()
    player = table.players[view.deciders[0]]
    action = player.view().legal_actions[0]
    mask = FieldMask(paths=paths)
    for name, request in (
        ("GetView", match_pb2.GetViewRequest(name=table.name, read_mask=mask)),
        ("WatchMatch", match_pb2.WatchMatchRequest(name=table.name, read_mask=mask)),
        ("SubmitAction", player.request(action, 0)),
    ):
        request.read_mask.CopyFrom(mask)

        def read(name=name, request=request):
            answer = call(player, name, request)
            return next(answer) if name == "WatchMatch" else answer

        refusal = refused(read)
        assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", ["read_mask"])
        assert refusal.reasons == [reason]
    assert player.view().version == 0
