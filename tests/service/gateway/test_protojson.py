"""JSON in requests is ProtoJSON and no more than that, and reading it holds up nobody."""

import http.client
import itertools
import json
import re
import sys
from urllib.parse import urlsplit

import pytest
from google.api import field_behavior_pb2
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from croupier.v1 import catalog_pb2, hint_pb2, match_pb2
from service.common.event_loop import finish_now
from service.gateway import rpc
from service.gateway.options import WebOptions
from service.gateway.rpc import MAX_JSON_BYTES, JsonCodec
from tests.support.play import seeded
from tests.support.web import Caller, Failed, path_of
from wire.errors import Refusal

METHODS = [
    method
    for module in (catalog_pb2, hint_pb2, match_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
REQUESTS = [method.input_type._concrete_class for method in METHODS]
ANY = "google.protobuf.Any"
BEHAVIOR = field_behavior_pb2.field_behavior


def read(message_class, text, take_unknown=False):
    return JsonCodec(take_unknown).decode(text.encode(), message_class)()


# What is no ProtoJSON


def each(template, *values):
    return [template.replace("?", value) for value in values]


# By method and the field at fault.
WRONG = {
    ("CreateMatch", "time_control.per_decision"): each(
        '{"timeControl": {"perDecision": ?}}',
        *(r'"\udc00s"', '"1_0s"', '"1 s"', '" 1s"', '"\\n1s"', '"+1s"', '"1.s"', '"1.5_0s"'),
        *('"\u0661s"', '"1.1234567891s"', '"01s"', '"1e3s"', '"315576000001s"', "1", "[]", "{}"),
    ),
    ("CreateMatch", "seed"): [
        *each(
            '{"seed": ?}',
            *('"1_0"', '" 5"', '"5\\n"', '"\\u00a05"', '"\u0661"', '"+5"', '"005"', '""', "true"),
            *("-1", "1.5", "1e400", "18446744073709551616", "[1]", "{}", f'"{"9" * 5000}"'),
        ),
        '{"seed": 1, "seed": 2}',
        '{"seed": null, "seed": 2}',
    ],
    ("CreateMatch", "entropy_from_seats"): [
        *each('{"entropyFromSeats": ?}', "1", '"true"', "[]"),
        '{"entropyFromSeats": true, "entropy_from_seats": false}',
    ],
    ("CreateMatch", "request_id"): each('{"requestId": ?}', "7", '["a"]', "{}", r'"\udc00"'),
    ("CreateMatch", "seats"): each('{"seats": ?}', "{}", '"ab"', f"[{'{},' * 9999}{{}}]"),
    ("CreateMatch", "seats[0]"): each('{"seats": [?]}', "null", "[]", '""', '"open"', "7"),
    ("CreateMatch", "seats[0].bot"): ['{"seats": [{"open": {}, "bot": {}}]}'],
    ("CreateMatch", "seats[1].bot.strength"): each(
        '{"seats": [{"open": {}}, {"bot": {"strength": ?}}]}',
        *('"CASUAL"', '"1"', '"1_0"', '" 1"', "1.5", "true", "[1]", "1e400"),
    ),
    ("CreateMatch", "ruleset"): each('{"ruleset": ?}', "[]", '""', '["ruleset"]', "7", "true"),
    ("CreateMatch", "ruleset.skystones.cards"): [
        '{"ruleset": {"skystones": {"cards": [' + "{}," * 60 + "{}]}}}"
    ],
    ("ContributeEntropy", "entropy"): each(
        '{"entropy": ?}', '"AAAA AAAA"', '"!!!!"', '"AA=A"', '"A"', '"AAA=="', '"\u00e9"', "[1]"
    ),
    ("SuggestAction", "search.view.clocks.time"): each(
        '{"search": {"view": {"clocks": {"time": ?}}}}',
        *('"2026-01-31"', '"2026-02-31T00:00:00Z"', '"2026-1-3T0:0:0Z"', '"2026-01-31t00:00:00z"'),
        *('"\u0662\u0660\u0662\u0666-01-31T00:00:00Z"', "7"),
    ),
    ("GetView", "read_mask"): each(
        '{"readMask": ?}', '"a,,b"', '["a"]', '" a"', '"a b"', '{"paths": []}', r'"\udc00"', "7"
    ),
}
NO_OBJECT = ["[]", "null", "7", '"a"', '""', "true"]
NO_JSON = [
    *("", "{", '{"seed": 1}x', "{'seed': 1}", '{"x": NaN}', '{"x": Infinity}', "\ufeff{}"),
    '{"x": ' + "9" * 5000 + "}",
    '{"x": ' + "[" * 60_000 + "]" * 60_000 + "}",
]


def failure_of(url, method, data):
    caller = Caller(url)
    caller.encode = lambda request: data
    service = "HintService" if method == "SuggestAction" else "MatchService"
    with pytest.raises(Failed) as caught:
        caller.call(f"{service}.{method}", None)
    failure = caught.value.failure
    assert (failure.code, failure.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD"), failure
    return failure


@pytest.mark.parametrize(("method", "path"), WRONG, ids=lambda part: part)
def test_the_field_with_what_is_no_protojson_is_named(url, method, path):
    for text in WRONG[method, path]:
        failure = failure_of(url, method, text.encode())
        assert [violation.field for violation in failure.details[1].field_violations] == [path], (
            text,
            failure,
        )
        assert failure.message.startswith(f"{path}: must ")
        if "315576000001s" in text:
            assert failure.message.endswith("must be 315576000000 seconds at most")


@pytest.mark.parametrize("text", [*NO_OBJECT, *NO_JSON], ids=itertools.count())
def test_a_body_that_is_no_object_of_json_is_told_so(url, text):
    said = "it must be an object" if text in NO_OBJECT else " JSON"
    assert said in failure_of(url, "CreateMatch", text.encode()).message


@pytest.mark.parametrize(
    "data", ["{}".encode("utf-16"), "{}".encode("utf-32"), b'{"x": "\xff"}', b"\xed\xb0\x80"]
)
def test_json_is_in_utf_8(url, data):
    assert "utf-8" in failure_of(url, "CreateMatch", data).message


# What is ProtoJSON


def random_message(rng, message_class, ignore=True):
    """A message with each of its fields set by chance, but for what a server ignores."""
    message = message_class()
    for field in message.DESCRIPTOR.fields:
        behavior = field.GetOptions().Extensions[BEHAVIOR]
        ignored = ignore and field_behavior_pb2.OUTPUT_ONLY in behavior
        kind = field.message_type
        if kind is not None and (kind.GetOptions().map_entry or kind.full_name == ANY):
            continue  # No request has a map; a game of a package has tests of its own.
        if rng.random() < 0.5 and not ignored:
            values = [
                random_value(rng, field, ignore) for _ in range(2 if field.is_repeated else 1)
            ]
            if field.is_repeated:
                getattr(message, field.name).extend(values)
            elif field.message_type is not None:
                getattr(message, field.name).CopyFrom(values[0])
            else:
                setattr(message, field.name, values[0])
    return message


def random_value(rng, field, ignore=True):
    if field.message_type is not None:
        message_class = field.message_type._concrete_class
        if message_class is Duration:
            nanos = rng.choice([0, 1, 5_000_000, 999_999_999])
            return Duration(seconds=rng.choice([0, 1, 86_400, 315_576_000_000]), nanos=nanos)
        if message_class is Timestamp:
            return Timestamp(seconds=rng.randrange(1 << 33), nanos=rng.choice([0, 1, 10**8]))
        if message_class is FieldMask:
            return FieldMask(paths=rng.sample(["view.legal_actions", "view.version", "a1"], 2))
        return random_message(rng, message_class, ignore)
    if field.enum_type is not None:
        return rng.choice(field.enum_type.values).number
    by_type = {
        FieldDescriptor.CPPTYPE_BOOL: [True, False],
        FieldDescriptor.CPPTYPE_DOUBLE: [0.0, -1.5, 1e300, 5e-324, float("inf"), 3.0],
        FieldDescriptor.CPPTYPE_INT32: [0, 1, -(1 << 31), (1 << 31) - 1],
        FieldDescriptor.CPPTYPE_UINT32: [0, 1, (1 << 32) - 1],
        FieldDescriptor.CPPTYPE_UINT64: [0, 1, (1 << 64) - 1],
        FieldDescriptor.CPPTYPE_STRING: ["", "a", '\u00e9\U0001f600\0\n"'],
    }
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.randbytes(rng.randrange(6))
    return rng.choice(by_type[field.cpp_type])


@pytest.mark.parametrize("request_class", REQUESTS, ids=lambda each: each.DESCRIPTOR.name)
def test_what_protobuf_writes_is_read(request_class):
    rng = seeded(request_class.__name__)
    for i in range(50):
        message = random_message(rng, request_class)
        for options in (
            {},
            {"preserving_proto_field_name": True, "use_integers_for_enums": True},
            {"ensure_ascii": False, "always_print_fields_with_no_presence": i % 2 == 0},
        ):
            assert read(request_class, json_format.MessageToJson(message, **options)) == message


# What the server does not know


def objects(value, path=""):
    """Each object of a JSON value that is a message of ours, with its path."""
    if isinstance(value, dict):
        yield value, path
        for name, inner in value.items():
            yield from objects(
                inner, f"{path}.{re.sub('[A-Z]', lambda c: '_' + c[0].lower(), name)}"
            )
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from objects(inner, f"{path}[{i}]")


def misspelt(rng, name):
    """A name as somebody could write it by mistake."""
    at = rng.randrange(1, len(name))
    other = rng.choice([name.lower(), name + "s", name[:at] + name[at + 1 :], name.upper()])
    return other


def known_names(message_class):
    """All names that a message or one in it may have."""
    found, left = set(), [message_class.DESCRIPTOR]
    while left:
        descriptor = left.pop()
        if descriptor not in found:
            found.add(descriptor)
            left += [field.message_type for field in descriptor.fields if field.message_type]
    return {n for each in found for field in each.fields for n in (field.name, field.json_name)}


@pytest.mark.parametrize("request_class", REQUESTS, ids=lambda each: each.DESCRIPTOR.name)
def test_a_misspelt_field_is_refused_at_its_place_with_the_right_name(request_class):
    rng = seeded(request_class.__name__)
    known = known_names(request_class)
    for _ in range(60):
        sent = json_format.MessageToDict(random_message(rng, request_class))
        found = [(each, path) for each, path in objects(sent) if each]
        if not found:
            continue
        each, path = rng.choice(found)
        name = rng.choice(list(each))
        wrong = misspelt(rng, name)
        if wrong in known:
            continue
        each[wrong] = each.pop(name)
        with pytest.raises(Refusal) as caught:
            read(request_class, json.dumps(sent))
        told = str(caught.value)
        assert told.startswith(f"{path}.{wrong}: is no field".removeprefix(".")), told
        assert name.lower() in told.replace("_", "").lower(), told
        # What else there is stays, where the operator lets it, unless something else is missing.
        del each[wrong]
        try:
            expected = read(request_class, json.dumps(sent))
            assert read(request_class, json.dumps(sent), take_unknown=True) == expected
            each[wrong] = 1
            assert read(request_class, json.dumps(sent), take_unknown=True) == expected
        except Refusal as refusal:
            assert wrong in str(refusal)


MISSPELT = {
    '{"seat": [], "ruleset": {"skystones": {}}}': ("seat", "did you mean seats?"),
    '{"timecontrol": {}}': ("timecontrol", "did you mean timeControl?"),
    '{"seats": [{"open": {}}, {"bots": {}}]}': ("seats[1].bots", "did you mean bot?"),
    '{"seats": [{"bot": {"strenght": 1}}]}': ("seats[0].bot.strenght", "did you mean strength?"),
    '{"ruleset": {"poker": {}}}': ("ruleset.poker", "this server has castle_rampage"),
    '{"ruleset": {"Skystone": {}}}': ("ruleset.Skystone", "did you mean skystones? this server"),
    '{"ruleset": {"skystones": {"card": []}}}': ("ruleset.skystones.card", "did you mean cards?"),
    '{"\\udc00": 1}': ("'\\udc00'", "there are "),
    '{"seats": [{"bot": {"strength": "CASUAL"}}]}': (
        "seats[0].bot.strength",
        "did you mean BOT_STRENGTH_CASUAL?",
    ),
    '{"hintPolicy": "NEVER"}': ("hint_policy", "there are HINT_POLICY_AFTER_END, HINT_POLICY_ALL"),
}


@pytest.mark.parametrize("text", MISSPELT)
def test_who_misspells_is_told_what_there_is(url, text):
    path, instead = MISSPELT[text]
    failure = failure_of(url, "CreateMatch", text.encode())
    assert [violation.field for violation in failure.details[1].field_violations] == [path]
    assert instead in failure.message


def test_an_option_lets_unknown_fields_pass(start_web):
    server, _ = start_web(web=WebOptions(port=0, take_unknown=True))
    caller = Caller(server.web_url)
    caller.encode = lambda request: b'{"ruleset": {"skystones": {}}, "seat": [], "timecontrol": {}}'
    assert len(caller.call("MatchService.CreateMatch", None).seat_tokens) == 2
    # What is left empty by what was left out is told all the same.
    said = failure_of(server.web_url, "CreateMatch", b'{"ruleset": {"poker": {}}}').message
    assert "ruleset.poker" in said and "this server has castle_rampage" in said


VALUES = [
    *("null", "true", "1", "-0", "1e9", "1e999", "NaN", "[]", "{}", "[[{}]]", '"', "}", "\\", "\0"),
    *(
        r'"\udc00"',
        r'"\udc00s"',
        r'"\ud83d\ude00"',
        r'"\u0000"',
        '""',
        '"1s"',
        '"\u0661"',
        '"AA=="',
    ),
    *('"1_0"', '" 1"', '"a,b"', "9" * 5000, '"' + "9" * 5000 + '"', "[" * 2000, '{"a": 1, "a": 2}'),
]


def test_no_body_whatsoever_fails_the_server(url):
    rng = seeded("bodies")
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    for _ in range(1000):
        method = rng.choice(METHODS)
        if method.server_streaming:
            continue
        message = random_message(rng, method.input_type._concrete_class)
        text = json_format.MessageToJson(message)
        # In place of one value, or of one name.
        at = rng.choice([found.span() for found in re.finditer(r'"[^"]*"|\d+|{}', text)])
        text = text[: at[0]] + rng.choice(VALUES) + text[at[1] :]
        path = path_of(f"{method.containing_service.name}.{method.name}")
        connection.request("POST", path, text.encode(), {"content-type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status < 500, (text, answer)
        assert response.status == 200 or answer["message"]


def test_the_forms_that_protojson_allows():
    create = match_pb2.CreateMatchRequest
    for number in ("7", '"7"', "7.0", "70e-1", '"7e0"', '"7.0"'):
        assert read(create, f'{{"seed": {number}}}') == create(seed=7)
    # 0 is a seed like any other, and null is none.
    assert read(create, '{"seed": 0}').HasField("seed")
    assert not read(create, '{"seed": null, "seats": null, "ruleset": null}').HasField("seed")
    assert read(create, '{"seats": [{"open": {}, "bot": null}]}').seats[0].HasField("open")
    # Newer clients send what this server does not know.
    unknown = '{"[a.b]": 1, "x": {"y": "\\udc00", "y": 1}, "\\udc00": []}'
    assert read(create, unknown, take_unknown=True) == create()
    entropy = match_pb2.ContributeEntropyRequest
    for text in ("-_8=", "-_8", "+/8=", "+/8"):
        assert read(entropy, f'{{"entropy": "{text}"}}').entropy == b"\xfb\xff"
    for text in ("view.legalActions,view.version", "view.legal_actions,view.version"):
        paths = read(match_pb2.GetViewRequest, f'{{"readMask": "{text}"}}').read_mask.paths
        assert list(paths) == ["view.legal_actions", "view.version"]
    assert read(match_pb2.GetViewRequest, '{"readMask": ""}').HasField("read_mask")
    limits = '{"search": {"limits": {"time": "-1.000000001s"}}}'
    assert read(hint_pb2.SuggestActionRequest, limits).search.limits.time == Duration(
        seconds=-1, nanos=-1
    )


# How long it takes


def filled(before, item, after, most=10**6):
    room = MAX_JSON_BYTES - len(before) - len(after)
    return before + ",".join([item] * min(most, room // (len(item) + 1))) + after


ACTION = '{"skystones": {"pickCard": {}}}'
TURN = '{"aid": [1, 1, 1, 1, 1, 1, 1], "discards": [1, 1, 1, 1, 1, 1, 1]}'
HOSTILE = {
    "cards": ("CreateMatch", filled('{"ruleset": {"skystones": {"cards": [', "{}", "]}}}")),
    "seats": ("CreateMatch", filled('{"seats": [', '{"open": {}}', "]}")),
    "unknown objects": ("CreateMatch", filled('{"x": [', "{}", "]}")),
    "unknown numbers": ("CreateMatch", filled('{"x": [', "1e1", "]}")),
    "unknown members": ("CreateMatch", filled("{", '"x": 1', "}")),
    "depth": ("CreateMatch", filled('{"x": [', "[" * 900 + "]" * 900, "]}")),
    "text": ("CreateMatch", filled('{"requestId": "', r"\u00e9", '"}')),
    "bytes": ("ContributeEntropy", '{"entropy": "' + "A" * 131_000 + '"}'),
    "paths": ("GetView", filled('{"readMask": "', "a", '"}')),
    "capitals": ("GetView", '{"readMask": "' + "A" * 131_000 + '"}'),
    "ignored": ("SuggestAction", filled('{"search": {"view": {"legalActions": [', ACTION, "]}}}")),
    "actions": ("SuggestAction", filled('{"search": {"includeActions": [', ACTION, "]}}", 2048)),
    "memory": (
        "SuggestAction",
        filled(
            '{"search": {"view": {"championChess": {"sides": [{"memory": {"turns": [',
            TURN,
            "]}}]}}}}",
        ),
    ),
}
# Of Python functions, in reading one body: they take 5 ms or so.
MOST_CALLS = 10_000


@pytest.mark.parametrize("shape", HOSTILE)
def test_no_body_takes_long_to_read(shape):
    method, text = HOSTILE[shape]
    assert len(text) <= MAX_JSON_BYTES
    request_class = next(each for each in REQUESTS if each.DESCRIPTOR.name == f"{method}Request")
    calls = itertools.count()

    def count(frame, event, argument):
        if event == "call":
            next(calls)

    codec = JsonCodec(take_unknown=shape.startswith("unknown"))
    reader = codec.decode(b"{}", request_class)
    reader()  # What is made once for all requests is made now.
    reader = codec.decode(text.encode(), request_class)
    sys.setprofile(count)
    try:
        reader()
    except Exception as error:
        assert "must" in str(error) or "is no field" in str(error)
    finally:
        sys.setprofile(None)
    assert next(calls) < MOST_CALLS


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.name)
def test_responses_in_pieces_are_what_protobuf_writes(method, monkeypatch):
    rng = seeded(method.name)
    response_class = method.output_type._concrete_class
    for _ in range(50):
        monkeypatch.setattr(rpc, "PIECE_BYTES", rng.choice([0, 16, 256]))
        message = random_message(rng, response_class, ignore=False)
        response = rng.choice([message, message.SerializeToString()])
        read_request = JsonCodec().decode(b"{}", method.input_type._concrete_class)
        written = finish_now(rpc.encoder(read_request, response_class)(response))
        assert json.loads(written) == json_format.MessageToDict(message)
