"""Refusals: the errors that a call answers with, as messages.

A `Refusal` carries a google.rpc.Status as AIP-193 defines it: a code, an ErrorInfo with a reason of
the schema's ErrorReason, and further details that help the caller. The listener
through which the call came sends it.
"""

import difflib
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from typing import cast

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from croupier.v1.error_pb2 import ErrorReason

DOMAIN = "croupier.v1"
# The share by which a delay is longer than it must be, at most and by chance: so those who were
# refused together do not come back together.
RETRY_SPREAD = 0.25

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
    ErrorReason.ERROR_REASON_BOTH_DECIDED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_MATCH_PAUSED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_OFFER_NOT_ALLOWED: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_OFFER_NOT_OPEN: code_pb2.FAILED_PRECONDITION,
    ErrorReason.ERROR_REASON_KEY_REQUIRED: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_KEY_INVALID: code_pb2.UNAUTHENTICATED,
    ErrorReason.ERROR_REASON_BUDGET_EXHAUSTED: code_pb2.RESOURCE_EXHAUSTED,
}


def _sendable(text: str) -> str:
    # The package of a game can say what UTF-8 has no form of, such as half of a surrogate pair.
    return text.encode("utf-8", "replace").decode()


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
        super().__init__(_sendable(message))
        self.reason = reason
        self.wait = retry_seconds  # After which to come back; 0.0: never by itself.
        sent = [(field, rule, _sendable(text)) for field, rule, text in fields]
        self._told = sent, metadata, quota

    @cached_property
    def status(self) -> status_pb2.Status:
        """What the caller is told. A connection that is closed is told nothing, and saves it."""
        fields, metadata, quota = self._told
        details: list[Message] = [
            error_details_pb2.ErrorInfo(
                reason=ErrorReason.Name(self.reason).removeprefix("ERROR_REASON_"),
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
        if self.wait:
            delay = Duration()
            spread = random.uniform(1, 1 + RETRY_SPREAD)
            delay.FromMilliseconds(math.ceil(1000 * self.wait * spread))
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        if quota is not None:
            subject, description = quota
            violation = error_details_pb2.QuotaFailure.Violation(
                subject=subject, description=description
            )
            details.append(error_details_pb2.QuotaFailure(violations=[violation]))
        status = status_pb2.Status(code=CODES[self.reason], message=str(self))
        for detail in details:
            packed = Any()
            packed.Pack(detail)
            status.details.append(packed)
        return status

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


@contextmanager
def within(path: str) -> Iterator[None]:
    """Where a message at a path of a request is read: its refusals name fields from there on."""
    try:
        yield
    except Refusal as refusal:
        bad = error_details_pb2.BadRequest()
        for detail in refusal.status.details if path else ():
            if detail.Unpack(bad):
                for violation in bad.field_violations:
                    violation.field = f"{path}.{violation.field}"
                detail.Pack(bad)
        if path:
            refusal.status.message = f"{path}: {refusal.status.message}"
        raise


def invalid_field(path: str, reason: str, rule: str) -> Refusal:
    """The refusal of a request with a field, at a path, that breaks a rule.

    `reason` identifies the rule in capitals; `rule` is a sentence without a subject.
    """
    return Refusal(
        ErrorReason.ERROR_REASON_INVALID_FIELD, f"{path}: {rule}", fields=[(path, reason, rule)]
    )


MAX_WORD = 64  # Characters of a word of a request that a refusal repeats.
MAX_LISTED = 40  # Words that a refusal lists.


def meant(word: str, known: Iterable[str]) -> str:
    """What there is instead of a word that is not known: the nearest, or all if none is near."""
    names = sorted(known)
    near = nearest(word, names)
    if near:
        return f"did you mean {near}?"
    listed = names[:MAX_LISTED] + ["..."] * (len(names) > MAX_LISTED)
    return f"there are {', '.join(listed)}" if names else "there are none"


def nearest(word: str, known: Iterable[str]) -> str:
    """The nearest of some words to one that is none of them; empty if none is near.

    Case and underscores do not count, nor does the beginning that all have, as values of an enum.
    """
    names = list(known)
    first, last = (min(names), max(names)) if len(names) > 1 else ("", "")
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    )
    start = first.rfind("_", 0, same) + 1
    forms = {_plain(each[start:]): each for each in names} | {_plain(each): each for each in names}
    found = difflib.get_close_matches(_plain(word[:MAX_WORD]), forms, 1)
    return forms[found[0]] if found else ""


def _plain(word: str) -> str:
    return word.replace("_", "").lower()


def quoted(word: str) -> str:
    """A word of a request as a refusal repeats it."""
    return ascii(word[:MAX_WORD])
