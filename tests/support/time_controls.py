"""Time controls as messages."""

from croupier.v1 import clock_pb2


def control(per_decision=None, per_match=None, increment=None, *, default=False):
    """A time control, in milliseconds."""
    message = clock_pb2.TimeControl(on_expiry=1 + default)
    for field, value in (
        ("per_decision", per_decision),
        ("per_match", per_match),
        ("increment", increment),
    ):
        if value is not None:
            getattr(message, field).FromMilliseconds(value)
    return message
