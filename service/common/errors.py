"""The refusals that any part of the server may answer with, and what becomes of other errors."""

import logging
import traceback

from croupier.v1.error_pb2 import ErrorReason
from engine.errors import RulesFault
from wire.errors import Refusal

MAX_FRAMES = 20  # Of a stack that is logged, the innermost ones.

_log = logging.getLogger(__name__)


def version_in_future(current_version: int) -> Refusal:
    """A match has not come to the version from which to go on."""
    return Refusal(
        ErrorReason.ERROR_REASON_VERSION_IN_FUTURE,
        f"the match is at version {current_version}",
        metadata={"current_version": str(current_version)},
    )


def match_not_found(match_id: str) -> Refusal:
    """The log has no such match, or no more."""
    return Refusal(
        ErrorReason.ERROR_REASON_MATCH_NOT_FOUND,
        "there is no such match",
        metadata={"match": f"matches/{match_id}"},
    )


def match_damaged(match_id: str, version: int) -> Refusal:
    """What the log says of a match from a version on is not what was written."""
    return Refusal(
        ErrorReason.ERROR_REASON_MATCH_DAMAGED,
        f"the log of the match is damaged at version {version}; the operator was told",
        metadata={"match": f"matches/{match_id}", "version": str(version)},
    )


def shutting_down(after_version: int | None = None) -> Refusal:
    """The server shuts down; a stream can be resumed elsewhere, or here soon, after a version."""
    return Refusal(
        ErrorReason.ERROR_REASON_SHUTTING_DOWN,
        "the server is shutting down",
        retry_seconds=1.0,
        metadata=None if after_version is None else {"after_version": str(after_version)},
    )


class Unreadable(Refusal):
    """A part of the log is not what was written; callers hear what they hear of any fault."""


def store_unavailable(kind: type[Refusal] = Refusal) -> Refusal:
    """The log cannot be read or written now, or did not say whether it was written."""
    return kind(
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
