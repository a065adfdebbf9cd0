"""Matches that are played to their ends while the servers that host them are killed.

The clients are careful: each sends a request again, under the same request_id and to any of the
servers, until it is answered, and sometimes also then. They note what they are told; when a match
is over, its history is compared with its record.
"""

import hashlib
import random
import sys
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, monotonic_ns

import grpc

from croupier.v1 import clock_pb2, match_pb2, match_pb2_grpc
from engine.game import SPECTATOR
from service import wire
from tests.support.history import Decision, History, Read, Received, Stream, Write, faults
from tests.support.notes import log_of, mistaken_pictures, picture_of, refusal_of
from tests.support.play import told
from tests.support.serving import OPEN, bot, ruleset_of

UNANSWERED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
PATIENCE = 90  # Seconds for which one request is sent again and again.
ATTEMPT = 3  # Seconds that one attempt may take.
WAITING = 5
ENDING = 180  # Seconds within which all matches end when nothing is killed any more.
PAUSE = 0.03

_CHANNEL = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
)


class GaveUp(Exception):
    """Something went wrong elsewhere."""


class Inexplicable(AssertionError):
    """What clients were told, and no course of the match explains."""


class Ordeal:
    """Tables at which one match after the other is played, until it is said that it is enough."""

    def __init__(self, seed, addresses, tables, games=None):
        self.seed = seed
        self._games = games or list(wire.hosted_games())
        self.figures = Counter()
        self.records = []
        self._addresses = addresses
        self._enough = threading.Event()
        self._given_up = threading.Event()
        self._failures = []
        self._playing = {}
        self._changed = threading.Condition()
        self._tables = [
            threading.Thread(target=self.attempt, args=(self._play_on, number))
            for number in range(tables)
        ]
        for table in self._tables:
            table.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self._enough.set()
        if kind is not None:
            self._give_up()
        for table in self._tables:
            table.join()

    def attempt(self, run, *arguments):
        """Runs something; when it fails, everything is given up, and the failure kept."""
        try:
            run(*arguments)
        except GaveUp:
            pass
        # Whatever it is, `check` raises it in the thread of the test.
        except BaseException as error:
            self._failures.append(error)
            self._give_up()

    def _give_up(self):
        with self._changed:
            self._given_up.set()
            self._changed.notify_all()

    def check(self):
        """Raises what has gone wrong first."""
        if self._failures:
            raise self._failures[0]

    def wait_answers(self, count, timeout):
        """Returns when so many more actions have been answered, or the time is over.

        Raises what has gone wrong.
        """
        with self._changed:
            until = self.figures["actions answered"] + count
            self._changed.wait_for(
                lambda: self._given_up.is_set() or self.figures["actions answered"] >= until,
                timeout,
            )
        self.check()

    def finish(self):
        """Lets every match end; raises what has gone wrong."""
        self._enough.set()
        until = monotonic() + ENDING
        for table in self._tables:
            table.join(max(0.0, until - monotonic()))
        self.check()
        assert not any(table.is_alive() for table in self._tables), self._playing

    def count(self, what, number=1):
        with self._changed:
            self.figures[what] += number
            self._changed.notify_all()

    def wait(self, seconds):
        """Waits; raises GaveUp if something has gone wrong."""
        if self._given_up.wait(seconds):
            raise GaveUp

    def _play_on(self, number):
        channels = [grpc.insecure_channel(address, _CHANNEL) for address in self._addresses]
        clients = [match_pb2_grpc.MatchServiceStub(channel) for channel in channels]
        played = 0
        while not self._enough.is_set():
            rng = random.Random(f"{self.seed}/{number}/{played}")
            game_id = self._games[(number + played) % len(self._games)]
            with told(seed=self.seed, table=number, match=played):
                match = Match(self, clients, game_id, rng)
                self._playing[number] = match
                match.play()
            del self._playing[number]
            played += 1
        for channel in channels:
            channel.close()


def kill(victims, rng, ordeal):
    """Kills servers that are at work, or while they start, and starts them again."""
    if rng.random() < 0.1:
        ordeal.wait_answers(sys.maxsize, timeout=rng.random())
    else:
        for replica in victims:
            replica.ready()
        ordeal.wait_answers(rng.randint(1, 60), timeout=5)
    for replica in victims:
        replica.kill()
    for replica in victims:
        replica.start()
    ordeal.count("servers killed", len(victims))


def pause(replica, rng, ordeal):
    """Pauses a server that is at work, while others go on, and resumes it."""
    replica.ready()
    ordeal.wait_answers(rng.randint(1, 60), timeout=5)
    replica.pause()
    ordeal.wait_answers(rng.randint(1, 60), timeout=2)
    replica.resume()
    ordeal.count("servers paused")


# A limit in milliseconds, an increment, and what happens when the time is up.
_FORFEIT, _DEFAULT = (
    clock_pb2.ExpiryPolicy.EXPIRY_POLICY_FORFEIT,
    clock_pb2.ExpiryPolicy.EXPIRY_POLICY_DEFAULT_ACTION,
)
_CONTROLS = (
    ("per_decision", 1000, 0, _DEFAULT),
    ("per_match", 20_000, 200, _FORFEIT),
    ("per_match", 2000, 20, _DEFAULT),
)
_CONTROLS_OF_NOBODY = (
    ("per_decision", 1500, 0, _FORFEIT),
    ("per_match", 3000, 200, _FORFEIT),
    ("per_match", 500, 20, _DEFAULT),
)


def _control(limit, milliseconds, increment, on_expiry):
    control = clock_pb2.TimeControl(on_expiry=on_expiry)
    getattr(control, limit).FromMilliseconds(milliseconds)
    if increment:
        control.increment.FromMilliseconds(increment)
    return control


class Match:
    """One match, everyone at it, and what they were told."""

    def __init__(self, ordeal, clients, game_id, rng):
        self.ordeal = ordeal
        self.clients = clients
        self.history = History.new()
        self._rng = rng
        request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(game_id))
        kind = rng.choice(("open", "open", "open", "bot", "bot", "bots", "left", "entropy"))
        self._kind = kind
        if kind in ("bot", "bots"):
            strengths = [rng.choice(("RANDOM", "BEGINNER")) for _ in range(2)]
            request.seats.extend(bot(strength) for strength in strengths)
            if kind == "bot":
                request.seats[rng.randrange(2)].CopyFrom(OPEN)
        request.entropy_from_seats = kind == "entropy"
        if kind == "left":
            # Nobody plays one of the seats: only its clock does.
            request.time_control.CopyFrom(_control(*rng.choice(_CONTROLS_OF_NOBODY)))
        elif kind != "bots" and rng.random() < 0.4:
            request.time_control.CopyFrom(_control(*rng.choice(_CONTROLS)))
        self._timed = request.HasField("time_control")
        request.request_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        self._created = self.call(rng, "CreateMatch", request, token=None)
        if rng.random() < 0.1:
            # As if the answer had been lost.
            again = self.call(rng, "CreateMatch", request, token=None)
            if again != self._created:
                raise Inexplicable(f"{self}: asked for again, it is {again.match}")

    @property
    def name(self):
        return self._created.match

    def __repr__(self):
        return f"{self.name}, {self._kind}"

    def call(self, rng, method, request, token, timeout=ATTEMPT):
        """Calls one of the servers after the other until one answers."""
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        give_up = monotonic_ns() + PATIENCE * 10**9
        while True:
            self.ordeal.wait(0)
            client = rng.choice(self.clients)
            try:
                return getattr(client, method)(
                    request, metadata=metadata, timeout=timeout, wait_for_ready=True
                )
            except grpc.RpcError as error:
                if error.code() not in UNANSWERED or monotonic_ns() > give_up:
                    raise
            self.ordeal.count("calls lost")
            self.ordeal.wait(PAUSE)

    def play(self):
        """Plays it to its end, and finds nothing that it cannot explain."""
        everyone = []
        seats = {each.seat: each.token for each in self._created.seat_tokens}
        if self._kind == "left":
            seat = self._rng.choice(sorted(seats))
            everyone.append(Watcher(self, seat, seats.pop(seat)))
        for seat, token in seats.items():
            # Two clients that hold the token of a seat race for it.
            everyone += [Player(self, seat, token) for _ in range(self._rng.choice((1, 1, 2)))]
        spectator = self._created.spectator_token
        everyone += [Watcher(self, SPECTATOR, spectator) for _ in range(self._rng.choice((1, 2)))]
        rngs = [random.Random(self._rng.random()) for _ in everyone]
        with ThreadPoolExecutor(len(everyone)) as pool:
            for each, rng in zip(everyone, rngs, strict=True):
                pool.submit(self.ordeal.attempt, each.run, rng)
        self.ordeal.wait(0)
        request = match_pb2.GetRecordRequest(match=self.name)
        try:
            record = self.call(self._rng, "GetRecord", request, spectator).record
        except grpc.RpcError as error:
            what = f"all have seen the end, and there is no record: {error.details()}"
            raise Inexplicable(f"{self}: {what}") from error
        found = [*faults(self.history, log_of(record)), *mistaken_pictures(self.history, record)]
        if found:
            raise Inexplicable(f"{self}: " + "; ".join(found[:10]))
        self.ordeal.records.append(record)
        self.ordeal.count("matches")
        self.ordeal.count(f"matches of {wire.game_of(record.ruleset)}")
        if self._timed:
            expired = sum(entry.HasField("expiry") for entry in record.entries)
            self.ordeal.count("clocks expired", expired)


class Player:
    """A client that plays a seat, carefully."""

    def __init__(self, match, seat, token):
        self._match = match
        self._seat = seat
        self._token = token

    def run(self, rng):
        view = self._look(rng)
        while not view.HasField("result"):
            if view.legal_actions:
                view = self._decide(rng, view) or self._look(rng)
            elif self._seat in (view.entropy_owed.hash_seats or view.entropy_owed.entropy_seats):
                view = self._contribute(rng, view)
            else:
                view = self._look(rng, wait_for_version=view.version + 1)

    def _look(self, rng, **wait):
        request = match_pb2.GetViewRequest(match=self._match.name, **wait)
        called = monotonic_ns()
        timeout = WAITING if wait else ATTEMPT
        view = self._match.call(rng, "GetView", request, self._token, timeout).view
        read = Read(self._seat, called, monotonic_ns(), view.version, picture_of(view))
        self._match.history.reads.append(read)
        return view

    def _decide(self, rng, view):
        request = match_pb2.SubmitActionRequest(
            match=self._match.name,
            expected_version=view.version,
            action=rng.choice(view.legal_actions),
            request_id=f"{self._seat} {rng.getrandbits(64):016x}",
        )
        decided = self._send(rng, request)
        if decided is not None and rng.random() < 0.1:
            # As if the answer had been lost.
            self._send(rng, request)
        return decided

    def _send(self, rng, request):
        # The view that answers it; None if it is refused as another was first.
        ordeal, history = self._match.ordeal, self._match.history
        decision = Decision(self._seat, request.action.SerializeToString(deterministic=True))
        expected = request.expected_version
        called = monotonic_ns()
        write = Write(request.request_id, decision, expected, called)
        try:
            view = self._match.call(rng, "SubmitAction", request, self._token).view
        except grpc.RpcError as error:
            history.refusals.append(refusal_of(error, request.request_id, expected, called))
            ordeal.count("actions refused")
            return None
        except GaveUp:
            history.writes.append(write)
            raise
        history.writes.append(
            write._replace(returned=monotonic_ns(), version=view.version, view=picture_of(view))
        )
        ordeal.count("actions answered")
        return view

    def _contribute(self, rng, view):
        entropy = f"{self._match.name} {self._seat}".encode()[:64]
        request = match_pb2.ContributeEntropyRequest(match=self._match.name)
        if view.entropy_owed.hash_seats:
            request.hash = hashlib.sha256(entropy).digest()
        else:
            request.entropy = entropy
        return self._match.call(rng, "ContributeEntropy", request, self._token).view


class Watcher:
    """A client that follows a match, and resumes where it was when it loses the stream."""

    def __init__(self, match, viewer, token):
        self._match = match
        self._viewer = viewer
        self._token = token

    def run(self, rng):
        after = -1
        while True:
            request = match_pb2.WatchMatchRequest(match=self._match.name)
            if after >= 0:
                request.after_version = after
            called, received = monotonic_ns(), []
            ended = refused = False
            try:
                ended = self._follow(rng, request, received)
            except grpc.RpcError as error:
                refused = True
                self._match.history.refusals.append(
                    refusal_of(error, f"to follow after {after}", after, called)
                )
            stream = Stream(self._viewer, called, after, received, ended)
            self._match.history.streams.append(stream)
            if ended or refused:
                return
            after = received[-1].version if received else after
            self._match.ordeal.count("streams resumed")
            self._match.ordeal.wait(PAUSE)

    def _follow(self, rng, request, received):
        # Whether it has come to its end.
        call = rng.choice(self._match.clients).WatchMatch(
            request,
            metadata=(("authorization", f"Bearer {self._token}"),),
            timeout=WAITING,
            wait_for_ready=True,
        )
        most = rng.randint(1, 200)
        try:
            for message in call:
                events = b"".join(
                    event.SerializeToString(deterministic=True) for event in message.events
                )
                view = picture_of(message.view) if message.HasField("view") else None
                received.append(Received(monotonic_ns(), message.version, events, view))
                if len(received) == most:
                    call.cancel()
                    return False
        except grpc.RpcError as error:
            if error.code() not in UNANSWERED:
                raise
            return False
        return True
