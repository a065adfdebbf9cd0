"""A player who decides at one server and reads at another, which is paused or not notified.

Whatever delays the second server, its views must be as new as the log when it was asked for them.
"""

from time import monotonic_ns

import grpc

from tests.support.history import Decision, History, Read, Received, Stream, Write, violations
from tests.support.observations import refusal_of
from tests.support.serving import Client, Player, ruleset_of

GAME = "castle_rampage"  # Its matches are long.


def _bytes(view):
    return view.SerializeToString(deterministic=True)


class Reader:
    """A match whose seats decide at one server and read at another, and all their answers."""

    def __init__(self, deciding, reading):
        """`deciding` and `reading` are the addresses of the servers."""
        self._clients = Client(deciding), Client(reading)
        table = self._clients[0].create(ruleset_of(GAME))
        self._players = table.players
        self._elsewhere = {
            seat: Player(self._clients[1], player.match, player.token)
            for seat, player in table.players.items()
        }
        self.history = History.new()
        self._log = []
        # The server has the match in memory from now on.
        for seat in self._elsewhere:
            self.look(seat)()

    def close(self):
        for client in self._clients:
            client.close()

    def decide(self):
        """Decides for a seat that must."""
        views = [player.view() for player in self._players.values()]
        view = next(view for view in views if view.legal_actions)
        player = self._players[view.seat]
        request = player.request(view.legal_actions[-1], view.version)
        decision = Decision(view.seat, request.action.SerializeToString(deterministic=True))
        write = Write(request.request_id, decision, view.version, monotonic_ns())
        shown = player.send(request)
        self._log.append(decision)
        self.history.writes.append(
            write._replace(returned=monotonic_ns(), version=shown.version, view=_bytes(shown))
        )

    def look(self, seat):
        """Asks the other server for a view; returns what notes the answer."""
        called = monotonic_ns()
        call = self._elsewhere[seat].wait_later(0)

        def note():
            view = call.result().view
            read = Read(seat, called, monotonic_ns(), view.version, _bytes(view))
            self.history.reads.append(read)

        return note

    def follow(self, seat, after):
        """Follows the match at the other server until the newest version; returns what notes it."""
        called = monotonic_ns()
        stream = self._elsewhere[seat].watch(None if after < 0 else after)
        newest = len(self._log)

        def note():
            received = []
            try:
                for message in stream:
                    events = b"".join(map(_bytes, message.events))
                    view = _bytes(message.view) if message.HasField("view") else None
                    received.append(Received(monotonic_ns(), message.version, events, view))
                    if message.version == newest:
                        break
            except grpc.RpcError as error:
                self.history.refusals.append(refusal_of(error, "to follow", after, called))
            stream.cancel()
            self.history.streams.append(Stream(seat, called, after, received, ended=False))

        return note

    def violations(self):
        """What the checker of histories finds."""
        return violations(self.history, self._log)


VIEWS, STREAMS = "views", "streams"


def read_while_paused(deciding, reading, rng, rounds, what=(VIEWS, STREAMS)):
    """Reads at a server that was stopped while another one committed; returns the violations."""
    reader = Reader(deciding.address, reading.address)
    decided = 0
    for _ in range(rounds):
        reading.pause()
        known = decided
        try:
            for _ in range(rng.randint(1, 3)):
                reader.decide()
                decided += 1
            # These wait in the socket, beside the notifications.
            notes = []
            if VIEWS in what:
                notes.append(reader.look(0))
            if STREAMS in what:
                # A stream that began in the past would show its first version as the newest.
                notes.append(reader.follow(1, known - 1))
        finally:
            reading.resume()
        if VIEWS in what:
            notes.append(reader.look(1))
        for note in notes:
            note()
    reader.close()
    return reader.violations()


def read_without_notifications(deciding, reading, cut, rounds):
    """Reads at a server whose listening connection is cut by `cut`; returns the violations."""
    reader = Reader(deciding.address, reading.address)
    for _ in range(rounds):
        cut()
        reader.decide()
        reader.look(0)()
        reader.look(1)()
    reader.close()
    return reader.violations()
