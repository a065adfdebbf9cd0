"""The range of a time control: what is in it is accepted, and all else names its field."""

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from croupier.v1 import clock_pb2
from tests.support.serving import refused, ruleset_of
from tests.support.time_controls import control


@pytest.mark.parametrize(
    ("time_control", "field"),
    [
        (control(), "time_control"),
        (control(99), "time_control.per_decision"),
        (control(2_592_000_001), "time_control.per_decision"),
        (control(None, 99), "time_control.per_match"),
        (control(None, 2_592_000_001), "time_control.per_match"),
        (control(1000, None, 1000), "time_control"),
        (control(None, 1000, -1), "time_control.increment"),
        (control(None, 1000, 86_400_001), "time_control.increment"),
        (
            clock_pb2.TimeControl(per_decision=Duration(seconds=1), on_expiry=3),
            "time_control.on_expiry",
        ),
    ],
)
def test_a_time_control_out_of_range(client, time_control, field):
    refusal = refused(client.create, ruleset_of("skystones"), (), None, time_control)
    assert refusal[:3] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", [field])


@pytest.mark.parametrize(
    "time_control",
    [
        control(100),
        control(2_592_000_000),
        control(None, 100, 0),
        control(None, 2_592_000_000, 86_400_000),
    ],
)
def test_a_time_control_at_the_end_of_its_range(client, time_control):
    table = client.create(ruleset_of("skystones"), time_control=time_control)
    assert table.spectator.view().clocks.time_control == time_control
