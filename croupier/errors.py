"""The one exception of the client, with all that the server said."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

MAX_RETRY_AFTER = 86_400.0  # Seconds: no server of ours names more.
DETAILS = "grpc-status-details-bin"  # The key of the trailing metadata with a google.rpc.Status.


class FieldViolation(NamedTuple):
    """A field of a request that breaks a rule."""

    field: str
    description: str
    reason: str = ""  # Identifies the rule, such as "STRING_PATTERN".


class CroupierError(Exception):
    """A call that the server refused, or that did not reach a server.

    `code` is the gRPC status; `reason` a name of `ErrorReason` without its prefix, or empty if the
    error does not come from Croupier; `metadata` what that reason comes with; `violations` the
    fields at fault; `retry_after` the seconds after which the same call may succeed, if the server
    named them.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after

    def __str__(self) -> str:
        faults = (f"{violation.field}: {violation.description}" for violation in self.violations)
        unsaid = "".join(f"; {fault}" for fault in faults if fault not in self.message)
        return f"{self.reason or self.code.name}: {self.message}{unsaid}"

    @classmethod
    def from_call(cls, call: Any) -> "CroupierError":
        """Returns the error of a failed call: a `grpc.RpcError` from a channel of this package."""
        error = cls(call.code(), call.details() or "")
        trailing = dict(call.trailing_metadata() or ())
        with suppress(DecodeError):  # A proxy may send anything.
            error._read(status_pb2.Status.FromString(trailing.get(DETAILS, b"")))
        return error

    def _read(self, status: status_pb2.Status) -> None:
        if (status.code, status.message) != (self.code.value[0], self.message):
            return  # There are no details, or a proxy has replaced the status they belong to.
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            request = error_details_pb2.BadRequest()
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(info) and info.domain == "croupier.v1":
                self.reason, self.metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(request):
                self.violations = tuple(
                    FieldViolation(v.field, v.description, v.reason)
                    for v in request.field_violations
                )
            elif detail.Unpack(retry):
                delay = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
                self.retry_after = min(max(0.0, delay), MAX_RETRY_AFTER)
