"""Refusals: the errors that a call answers with.

A `Refusal` carries a google.rpc.Status as AIP-193 defines it: a code, an ErrorInfo with a reason of
the schema's ErrorReason, and further details that help the caller. The listener
through which the call came sends it.
"""

import logging
import math
import random
import traceback
from collections.abc import Iterable, Mapping
from typing import cast

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2

from croupier.v1.error_pb2 import ErrorReason
from engine.errors import RulesFault

DOMAIN = "croupier.v1"
# The share by which a delay is longer than it must be, at most and by chance: so those who were
# refused together do not come back together.
RETRY_SPREAD = 0.25
MAX_FRAMES = 20  # Of a stack that is logged, the innermost ones.

_log = logging.getLogger(__name__)

CODES = {
    ErrorReason.ERROR_REASON_INVALID_FIELD: code_pb2.INVALID_ARGUMENT,
    ErrorReason.ERROR_REASON_TOKEN_MISSING: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_TOKEN_INVALID: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_TOKEN_OF_OTHER_MATCH: code_pb2.PERMISSION_DENIED,
    ErrorReason.ERROR_REASON_SPECTATOR: code_pb2.PERMISSION_DENIED,
    ErrorReason.ERROR_REASON_GAME_NOT_FOUND: code_pb2.NOT_FOUND,
    ErrorReason.ERROR_REASON_MATCH_NOT_FOUND: code_pb2.NOT_FOUND,
    ErrorReason.ERROR_REASON_MATCH_OVER: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_MATCH_NOT_OVER: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_NOT_TO_DECIDE: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_ILLEGAL_ACTION: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_STALE_VERSION: code_pb2.ABORTED,
    ErrorReason.ERROR_REASON_VERSION_IN_FUTURE: code_pb2.OUT_OF_RANGE,
    ErrorReason.ERROR_REASON_REQUEST_ID_REUSED: code_pb2.ALREADY_EXISTS,
    ErrorReason.ERROR_REASON_SEEDS_NOT_ALLOWED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_INVALID_RULESET: code_pb2.INVALID_ARGUMENT,
    ErrorReason.ERROR_REASON_INCONSISTENT_VIEW: code_pb2.INVALID_ARGUMENT,
    ErrorReason.ERROR_REASON_TOO_MANY_SEARCHES: code_pb2.RESOURCE_EXHAUSTED,
    ErrorReason.ERROR_REASON_SERVICE_NOT_FOUND: code_pb2.NOT_FOUND,
    ErrorReason.ERROR_REASON_SHUTTING_DOWN: code_pb2.UNAVAILABLE,
    ErrorReason.ERROR_REASON_INTERNAL: code_pb2.INTERNAL,
    ErrorReason.ERROR_REASON_STORE_UNAVAILABLE: code_pb2.UNAVAILABLE,
    ErrorReason.ERROR_REASON_STORE_FULL: code_pb2.RESOURCE_EXHAUSTED,
    ErrorReason.ERROR_REASON_RULES_CHANGED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_ENTROPY_NOT_OWED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_NOT_OPERATOR: code_pb2.PERMISSION_DENIED,
    ErrorReason.ERROR_REASON_INVITATION_INVALID: code_pb2.INVALID_ARGUMENT,
    ErrorReason.ERROR_REASON_INVITATION_USED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_HINTS_NOT_ALLOWED: code_pb2.PERMISSION_DENIED,
    ErrorReason.ERROR_REASON_REMATCH_NOT_OFFERED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_PUZZLE_NOT_FOUND: code_pb2.NOT_FOUND,
    ErrorReason.ERROR_REASON_CURSOR_EXPIRED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_MATCH_DAMAGED: code_pb2.DATA_LOSS,
    ErrorReason.ERROR_REASON_SEAT_NOT_JOINED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_TOKEN_REPLACED: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_TOKEN_REPLACED_TOO_OFTEN: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_KEY_REQUIRED: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_KEY_INVALID: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_BUDGET_EXHAUSTED: code_pb2.RESOURCE_EXHAUSTED,
}


class Refusal(Exception):
    """Why a call is not carried out."""

    def __init__(
        self,
        reason: ErrorReason,
        message: str,
        *,
        fields: Iterable[tuple[str, str, str]] = (),
        retry_seconds: float = 0.0,
        metadata: Mapping[str, str] | None = None,
        quota: tuple[str, str] | None = None,
    ) -> None:
        """Details: a BadRequest from `fields`, a RetryInfo and a QuotaFailure, where given.

        `fields` are paths of fields, and the rule that each breaks: an identifier in capitals, and
        a sentence without a subject. `quota` is the subject whose
        quota is used up, and what the quota allows.
        """
        super().__init__(message)
        self.reason = reason
        self.wait = retry_seconds  # After which to come back; 0.0: never by itself.
        details = [
            error_details_pb2.ErrorInfo(
                reason=ErrorReason.Name(reason).removeprefix("ERROR_REASON_"),
                domain=DOMAIN,
                metadata=metadata,
            )
        ]
        violations = [
            error_details_pb2.BadRequest.FieldViolation(
                field=field, reason=reason, description=description
            )
            for field, reason, description in fields
        ]
        if violations:
            details.append(error_details_pb2.BadRequest(field_violations=violations))
        if retry_seconds:
            delay = Duration()
            spread = random.uniform(1, 1 + RETRY_SPREAD)
            delay.FromMilliseconds(math.ceil(1000 * retry_seconds * spread))
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        if quota is not None:
            subject, description = quota
            violation = error_details_pb2.QuotaFailure.Violation(
                subject=subject, description=description
            )
            details.append(error_details_pb2.QuotaFailure(violations=[violation]))
        self.status = status_pb2.Status(code=CODES[reason], message=message)
        for detail in details:
            packed = Any()
            packed.Pack(detail)
            self.status.details.append(packed)

    @classmethod
    def of(cls, status: status_pb2.Status) -> "Refusal":
        """The refusal of another server, whose status names a reason; raises ValueError."""
        info = error_details_pb2.ErrorInfo()
        for detail in status.details:
            if detail.Unpack(info) and info.domain == DOMAIN:
                reason = cast(ErrorReason, ErrorReason.Value(f"ERROR_REASON_{info.reason}"))
                refusal = cls(reason, status.message)
                refusal.status = status
                return refusal
        raise ValueError(f"no reason: {status.message}")


def invalid_field(path: str, reason: str, rule: str) -> Refusal:
    """The refusal of a request with a field, at a path, that breaks a rule.

    `reason` identifies the rule in capitals; `rule` is a sentence without a subject.
    """
    return Refusal(
        ErrorReason.ERROR_REASON_INVALID_FIELD, f"{path}: {rule}", fields=[(path, reason, rule)]
    )


def version_in_future(current_version: int) -> Refusal:
    """A match has not come to the version from which to go on."""
    return Refusal(
        ErrorReason.ERROR_REASON_VERSION_IN_FUTURE,
        f"the match is at version {current_version}",
        metadata={"current_version": str(current_version)},
    )


def shutting_down(after_version: int | None = None) -> Refusal:
    """The server shuts down; a stream can be resumed elsewhere, or here soon, after a version."""
    return Refusal(
        ErrorReason.ERROR_REASON_SHUTTING_DOWN,
        "the server is shutting down",
        retry_seconds=1.0,
        metadata=None if after_version is None else {"after_version": str(after_version)},
    )


def store_unavailable() -> Refusal:
    """The log cannot be read or written now, or did not say whether it was written."""
    return Refusal(
        ErrorReason.ERROR_REASON_STORE_UNAVAILABLE,
        "the log of the matches does not answer; the same request may be sent again",
        retry_seconds=1.0,
    )


def store_full() -> Refusal:
    """The log has no room left; nothing was changed."""
    return Refusal(
        ErrorReason.ERROR_REASON_STORE_FULL,
        "the log of the matches is full; the same request may be sent again",
        retry_seconds=10.0,
    )


def as_refusal(what: str, error: BaseException) -> Refusal:
    """What a caller is told of an error. If it is none of the API, it is logged, and not shown."""
    if isinstance(error, Refusal):
        return error
    log_failure(what, error)
    return Refusal(ErrorReason.ERROR_REASON_INTERNAL, "something went wrong here")


def log_failure(what: str, error: BaseException) -> None:
    """Logs where an unexpected error was raised, but not its message, which could name cards.

    An error that was raised from another, as one of the rules of a game is, names that one too.
    """
    raised = f"{type(error).__name__} at {_stack(error)}"
    if isinstance(error, RulesFault):
        raised = f"{error.method} of the game {error.game_id}, {raised}"
    if error.__cause__ is not None:
        raised += f", from {type(error.__cause__).__name__} at {_stack(error.__cause__)}"
    # Lines are left out by where they come from, and they come from the caller.
    _log.error("%s failed: %s", what, raised, stacklevel=2)


def _stack(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return ", ".join(f"{each.filename}:{each.lineno} in {each.name}" for each in frames)
