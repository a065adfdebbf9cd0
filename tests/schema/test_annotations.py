"""Requests and resources say what each field is for: google.api.field_behavior and resource."""

import importlib
import pkgutil

import pytest
from google.api import field_behavior_pb2, resource_pb2

import croupier.v1
from buf.validate import validate_pb2

BEHAVIOR = field_behavior_pb2.field_behavior
FieldBehavior = field_behavior_pb2.FieldBehavior


def messages():
    """All messages of the schema that are not nested."""
    found = []
    for module in pkgutil.iter_modules(croupier.v1.__path__):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(f"croupier.v1.{module.name}").DESCRIPTOR
            found.extend(file.message_types_by_name.values())
    return found


def single_fields(message):
    """The fields that are in no oneof, but for those that are there to be optional."""
    return [
        field
        for field in message.fields
        if field.containing_oneof is None or len(field.containing_oneof.fields) == 1
    ]


def behavior(field):
    return {FieldBehavior.Name(each) for each in field.GetOptions().Extensions[BEHAVIOR]}


REQUESTS = [message for message in messages() if message.name.endswith("Request")]
RESOURCES = [message for message in messages() if message.name in ("Match", "Game", "Puzzle")]


@pytest.mark.parametrize("message", REQUESTS, ids=lambda message: message.name)
def test_a_field_of_a_request_says_whether_it_is_required(message):
    for field in single_fields(message):
        if (
            len(message.oneofs)
            and field.containing_oneof in message.oneofs
            and (field.containing_oneof.GetOptions().Extensions[validate_pb2.oneof].required)
        ):
            continue
        assert behavior(field) & {"REQUIRED", "OPTIONAL"}, field.full_name


def test_what_the_rules_require_is_said_to_be_required():
    checked = 0
    for message in messages():
        for field in single_fields(message):
            rules = field.GetOptions().Extensions[validate_pb2.field]
            if rules.required and behavior(field):
                assert behavior(field) == {"REQUIRED"}, field.full_name
                checked += 1
    assert checked > 3


@pytest.mark.parametrize("message", RESOURCES, ids=lambda message: message.name)
def test_a_resource_has_a_name_and_only_outputs(message):
    resource = message.GetOptions().Extensions[resource_pb2.resource]
    assert resource.type == f"croupier/{message.name}"
    own = f"{resource.plural}/{{{resource.singular}}}"
    assert list(resource.pattern) == [f"games/{{game}}/{own}" if message.name == "Puzzle" else own]
    for field in message.fields:
        wanted = "IDENTIFIER" if field.name == "name" else "OUTPUT_ONLY"
        assert behavior(field) == {wanted}, field.full_name


def test_a_field_with_a_name_refers_to_its_resource():
    types = {f"croupier/{message.name}" for message in RESOURCES}
    referring = set()
    for message in messages():
        for field in message.fields:
            reference = field.GetOptions().Extensions[resource_pb2.resource_reference].type
            if message in RESOURCES and field.name == "name":
                assert not reference
            elif field.name in ("name", "match_name"):
                assert reference in types, field.full_name
                referring.add(field.full_name)
    assert {"croupier.v1.View.name", "croupier.v1.Search.match_name"} <= referring
