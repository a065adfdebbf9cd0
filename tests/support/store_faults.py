"""Requests during faults of a store, and the refusals that report the faults."""

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

GAME = "skystones"
FULL = (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL")
UNAVAILABLE = (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")


class Reading:
    """Whether a log can be read: `answers`, one for each time that somebody asks, then yes."""

    def __init__(self, answers):
        self.answers = answers

    def __get__(self, store, owner):
        return self.answers.pop(0) if self.answers else True


def next_request(table, rng=None):
    """A player that must decide in a match, and a request for a legal action, random with `rng`."""
    seat = table.spectator.view().deciders[0]
    player = table.players[seat]
    view = player.view()
    legal = rng.choice(view.legal_actions) if rng else view.legal_actions[0]
    return player, player.request(legal, view.version)


def check_refusal(refusal, expected):
    """Checks the code and the reason of a refusal, and that it asks the client to retry."""
    assert (refusal.code, refusal.reason) == expected
    assert refusal.retry_seconds > 0


def is_serving(client):
    """Whether the health service of a server reports that it serves."""
    request = health_pb2.HealthCheckRequest()
    status = health_pb2_grpc.HealthStub(client.channel).Check(request).status
    return status == health_pb2.HealthCheckResponse.SERVING
