"""A stream whose match has lost versions: a log that was restored, or another that took over."""

from types import SimpleNamespace

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from croupier.errors import DETAILS
from croupier.retry import Retry, Tally
from croupier.seats import Spectator
from croupier.v1 import match_pb2


class InFutureError(grpc.RpcError):
    """What a server answers to who has seen more than its log has."""

    def __init__(self, current):
        info = error_details_pb2.ErrorInfo(
            reason="VERSION_IN_FUTURE",
            domain="croupier.v1",
            metadata={"current_version": str(current)},
        )
        packed = any_pb2.Any()
        packed.Pack(info)
        self._status = status_pb2.Status(code=grpc.StatusCode.OUT_OF_RANGE.value[0])
        self._status.details.append(packed)

    def code(self):
        return grpc.StatusCode.OUT_OF_RANGE

    def details(self):
        return ""

    def trailing_metadata(self):
        return [(DETAILS, self._status.SerializeToString())]


class Stream:
    def __init__(self, versions, error=None):
        self._versions, self._error = versions, error

    def __iter__(self):
        for version in self._versions:
            yield match_pb2.WatchMatchResponse(version=version, view={"version": version})
        if self._error:
            raise self._error

    def cancel(self):
        pass


def watch(*streams):
    """The versions that a spectator is shown, and what each stream was asked for."""
    waiting, asked = list(streams), []

    def watch_match(request, metadata):
        asked.append(request.after_version if request.HasField("after_version") else None)
        return waiting.pop(0)

    client = SimpleNamespace(
        match_stub=SimpleNamespace(WatchMatch=watch_match),
        metadata=lambda token: (),
        retry=lambda patience: Retry(0, Tally()),
        wait=lambda retry, error: retry.wait(error),
    )
    spectator = Spectator(client, "matches/m", "token")
    return [each.version for each in spectator.watch()], asked, spectator.version


def test_the_version_that_the_match_has_now_is_shown():
    shown, asked, version = watch(Stream([3, 4], InFutureError(2)), Stream([2, 3]))
    assert (shown, asked, version) == ([3, 4, 2, 3], [None, 1], 3)


def test_a_match_that_is_back_at_its_deal_is_shown_from_there():
    shown, asked, version = watch(Stream([0, 1], InFutureError(0)), Stream([0]))
    assert (shown, asked, version) == ([0, 1, 0], [None, None], 0)
