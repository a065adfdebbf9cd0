"""Every request has a largest size: whatever is of variable length in it has a bound."""

import pytest

from croupier.v1 import catalog_pb2, hint_pb2, match_pb2
from service.sizes import largest_size

REQUESTS = [
    method.input_type
    for module in (catalog_pb2, hint_pb2, match_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda each: each.name)
def test_a_request_has_a_largest_size(request_type):
    size = largest_size(request_type)
    print(f"{request_type.name}: at most {size} bytes")
    assert size <= 256 << 10


def test_no_legal_request_is_larger():
    # One field after the other, in the type of each of which something is of variable length.
    request = match_pb2.JoinMatchRequest(invitation="\U0001f0a1" * 200, request_id="x" * 36)
    assert request.ByteSize() <= largest_size(request.DESCRIPTOR)
    cards = [{"card": 2 + i % 11, "copies": 6, "movement": 9, "attack": 9} for i in range(12)]
    request = match_pb2.CreateMatchRequest(ruleset={"champion_chess": {"cards": cards}})
    assert request.ByteSize() <= largest_size(request.DESCRIPTOR)
