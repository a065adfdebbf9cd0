"""A caller is told what there is instead of what it has sent, over gRPC as over JSON."""

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor

from buf.validate import validate_pb2
from croupier.v1 import (
    catalog_pb2,
    feed_pb2,
    game_pb2,
    hint_pb2,
    match_pb2,
    puzzle_pb2,
    review_pb2,
)
from tests.support.serving import OPEN, ruleset_of
from wire import hosted_games
from wire.validation import first_violation

FILES = [
    module.DESCRIPTOR
    for module in (catalog_pb2, feed_pb2, hint_pb2, match_pb2, puzzle_pb2, review_pb2)
]
REQUESTS = [
    method.input_type._concrete_class
    for file in FILES
    for service in file.services_by_name.values()
    for method in service.methods
]
GAMES = ", ".join(hosted_games())


def within(message_class):
    """The classes of all messages that can be in a message, itself included."""
    found, left = {}, [message_class.DESCRIPTOR]
    while left:
        descriptor = left.pop()
        if descriptor.full_name not in found:
            found[descriptor.full_name] = descriptor
            left += [field.message_type for field in descriptor.fields if field.message_type]
    return [each._concrete_class for each in found.values()]


def each_id(part):
    """How a test is called."""
    return part if isinstance(part, str) else getattr(part, "DESCRIPTOR", part).full_name


EVERY = {each.DESCRIPTOR.full_name: each for root in REQUESTS for each in within(root)}
ONEOFS = [
    (each, oneof.name)
    for each in EVERY.values()
    for oneof in each.DESCRIPTOR.oneofs
    if oneof.GetOptions().Extensions[validate_pb2.oneof].required
]


@pytest.mark.parametrize(("message_class", "oneof"), ONEOFS, ids=each_id)
def test_an_empty_oneof_is_told_with_all_that_it_may_have(message_class, oneof):
    rule = first_violation(message_class())
    # Another rule may come first, where the message has one.
    if rule.path == oneof:
        assert rule.rule.startswith("must have one of ")
        fields = message_class.DESCRIPTOR.oneofs_by_name[oneof].fields
        assert all(field.name in rule.rule for field in fields)
    # What was sent has a number, if nothing else.
    sent = message_class.FromString(b"\xfa\x7f\x05spare")
    told = first_violation(sent)
    assert told.path != oneof or "sent was field 2047" in told.rule


def test_there_are_empty_oneofs_at_each_depth():
    assert len(ONEOFS) > 10


NAMED = [
    (request, field)
    for request in REQUESTS
    for field in request.DESCRIPTOR.fields
    if field.type == FieldDescriptor.TYPE_STRING
    and "/" in field.GetOptions().Extensions[validate_pb2.field].string.pattern
]


@pytest.mark.parametrize(("request_class", "field"), NAMED, ids=each_id)
def test_a_name_without_its_collection_is_told_what_it_lacks(request_class, field):
    collection = field.GetOptions().Extensions[validate_pb2.field].string.pattern.strip("^(")
    collection = collection[: collection.index("/") + 1]
    for wrong in ("7f3", "x" * 90, "seats/7", collection[:-1]):
        told = first_violation(request_class(**{field.name: wrong}))
        if told.path != field.name:
            continue  # Another field is missing.
        assert f'must be as "{collection}{{' in told.rule, told
        assert f"{wrong[:60]}" in told.rule and f'lacks "{collection}' in told.rule


def told(call, *arguments):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments)
    return caught.value.code(), caught.value.details()


def test_over_grpc(client):
    create = client.create
    unknown = game_pb2.Ruleset.FromString(b"\xfa\x7f\x05spare")
    packaged = game_pb2.Ruleset(packaged={"type_url": "type.googleapis.com/poker.PokerRuleset"})
    for call, arguments, said in (
        (create, (game_pb2.Ruleset(),), f"ruleset.game: must have a game: this server has {GAMES}"),
        (create, (unknown,), "sent was field 2047, which this server does not know"),
        (create, (packaged,), f"there is no game 'poker.PokerRuleset': this server has {GAMES}"),
        (create, (game_pb2.Ruleset(packaged={}),), f"this server has {GAMES}"),
        (create, (ruleset_of("skystones"), [OPEN, {}]), "must have one of open, bot, invited"),
        (
            create,
            (ruleset_of("skystones"), [OPEN, {"bot": {"strength": 77}}]),
            "not 77: BOT_STRENGTH_RANDOM, ",
        ),
        (
            client.matches.GetView,
            (match_pb2.GetViewRequest(name="7f3"),),
            'name: must be as "matches/{match}": \'7f3\' lacks "matches/"',
        ),
        (
            client.catalog.GetGame,
            (catalog_pb2.GetGameRequest(name="games/skystone"),),
            f"there is no game 'skystone': did you mean skystones? this server has {GAMES}",
        ),
    ):
        assert said in told(call, *arguments)[1]


def test_a_read_mask_is_told_which_path_is_wrong(client):
    player = client.create(ruleset_of("skystones")).players[0]
    for path, instead in (
        ("view.legalAction", "did you mean legal_actions?"),
        ("views", "did you mean view?"),
        ("view.version.x", "there is nothing within"),
        ("view.clocks.x.y", "there are "),
    ):
        request = match_pb2.GetViewRequest(name=player.match, read_mask={"paths": ["view", path]})
        _, said = told(lambda r=request: client.matches.GetView(r, metadata=player.metadata))
        assert f"not '{path}'" in said and instead in said


def test_a_token_without_its_scheme_is_told_the_form(client):
    player = client.create(ruleset_of("skystones")).players[0]
    request = match_pb2.GetViewRequest(name=player.match)
    metadata = [("authorization", player.token)]
    _, said = told(lambda: client.matches.GetView(request, metadata=metadata))
    assert '"Bearer {token}"' in said and player.token not in said


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("/croupier.v1.MatchService/Getview", "did you mean /croupier.v1.MatchService/GetView?"),
        ("/MatchService/GetView", "did you mean /croupier.v1.MatchService/GetView?"),
        ("/acme.Chess/Play", "its services are croupier.v1.CatalogService, "),
    ],
)
def test_an_unknown_method_of_grpc(client, path, instead):
    code, said = told(client.channel.unary_unary(path), b"")
    assert code is grpc.StatusCode.UNIMPLEMENTED and instead in said
