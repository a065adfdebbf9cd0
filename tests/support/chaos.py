"""Plays matches to their ends while the servers that host them are killed.

Each client repeats a request, with the same request_id and at any of the servers, until it is
answered, and sometimes even after that. The clients note all answers. When a match is over, its
history is compared with its record.
"""

import hashlib
import random
import sys
import threading
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns

import grpc

from croupier.errors import CroupierError
from croupier.v1 import clock_pb2, match_pb2, match_pb2_grpc
from engine.game import SPECTATOR
from service import wire
from tests.support.history import Decision, History, Read, Received, Stream, Write, violations
from tests.support.observations import log_of, refusal_of, view_bytes, wrong_observations
from tests.support.play import note_on_failure
from tests.support.serving import OPEN, bot, ruleset_of
from tests.support.waiting import FOREVER, waiting_for

# A call that reaches a server at the moment when it closes its port is CANCELLED.
UNANSWERED = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
)
# The first deadline of an attempt, which doubles until one is answered: a busy machine is slow.
ATTEMPT_SECONDS = 3
WAIT_SECONDS = 5  # Of one that waits for a version or follows a match.
RETRY_DELAY_SECONDS = 0.03

_CHANNEL = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
)


class Aborted(Exception):
    """The run has been aborted because another thread failed."""


class ContradictoryHistory(AssertionError):
    """The answers to the clients contradict each other or the record."""


class ChaosRun:
    """Threads that each play one match after the other until `finish`."""

    def __init__(self, seed, addresses, tables, games=None):
        self.seed = seed
        self._games = games or list(wire.hosted_games())
        self.figures = Counter()
        self.lost = Counter()  # Calls and streams without an answer, by status and reason.
        self.records = []
        self._addresses = addresses
        self._finishing = threading.Event()
        self._aborted = threading.Event()
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
        self._finishing.set()
        if kind is not None:
            self._abort()
        for table in self._tables:
            table.join()

    def attempt(self, run, *arguments):
        """Calls a function. A failure is kept for `check` and aborts the whole run."""
        try:
            run(*arguments)
        except Aborted:
            pass
        # `check` raises the error, of whatever class, in the thread of the test.
        except BaseException as error:
            self._failures.append(error)
            self._abort()

    def _abort(self):
        with self._changed:
            self._aborted.set()
            self._changed.notify_all()

    def check(self):
        """Raises the first failure, if there is one."""
        if self._failures:
            raise self._failures[0]

    def wait_answers(self, count, timeout=None):
        """Waits until `count` more actions have been answered, at most `timeout` seconds.

        Raises the first failure, if there is one.
        """
        with self._changed, waiting_for(lambda: f"answers in matches: {dict(self._playing)}"):
            until = self.figures["actions answered"] + count
            self._changed.wait_for(
                lambda: self._aborted.is_set() or self.figures["actions answered"] >= until,
                timeout,
            )
        self.check()

    def finish(self):
        """Lets every match end. Raises the first failure, if there is one."""
        self._finishing.set()
        with waiting_for(lambda: f"the ends of matches: {dict(self._playing)}"):
            for table in self._tables:
                table.join()
        self.check()

    def count(self, what, number=1):
        with self._changed:
            self.figures[what] += number
            self._changed.notify_all()

    def note_lost(self, error):
        """Counts a call or a stream that got no answer, and returns its error."""
        lost = CroupierError.from_call(error)
        with self._changed:
            self.lost[lost.code.name, lost.reason] += 1
        return lost

    def wait(self, seconds):
        """Waits. Raises Aborted if the run has failed."""
        if self._aborted.wait(seconds):
            raise Aborted

    def _play_on(self, number):
        channels = [grpc.insecure_channel(address, _CHANNEL) for address in self._addresses]
        clients = [match_pb2_grpc.MatchServiceStub(channel) for channel in channels]
        played = 0
        while not self._finishing.is_set():
            rng = random.Random(f"{self.seed}/{number}/{played}")
            game_id = self._games[(number + played) % len(self._games)]
            with note_on_failure(seed=self.seed, table=number, match=played):
                match = Match(self, clients, game_id, rng)
                self._playing[number] = match
                match.play()
            del self._playing[number]
            played += 1
        for channel in channels:
            channel.close()


def kill(victims, rng, run):
    """Kills servers, mostly while they serve and sometimes while they start, and restarts them."""
    if rng.random() < 0.1:
        run.wait_answers(sys.maxsize, timeout=rng.random())
    else:
        for replica in victims:
            replica.ready()
        run.wait_answers(rng.randint(1, 60))
    for replica in victims:
        replica.kill()
    for replica in victims:
        replica.start()
    run.count("servers killed", len(victims))


def stop(replica, rng, run):
    """Shuts a server down in order while it serves, and restarts it; it must exit with 0."""
    replica.ready()
    run.wait_answers(rng.randint(1, 60))
    assert replica.end() == 0
    replica.start()
    run.count("servers stopped")


def pause(replica, rng, run):
    """Pauses a server while the others serve, and resumes it."""
    replica.ready()
    run.wait_answers(rng.randint(1, 60))
    replica.pause()
    run.wait_answers(rng.randint(1, 60), timeout=2)
    replica.resume()
    run.count("servers paused")


# Time controls: a limit and its milliseconds, the increment, and the policy on expiry.
_FORFEIT, _DEFAULT = (
    clock_pb2.ExpiryPolicy.EXPIRY_POLICY_FORFEIT,
    clock_pb2.ExpiryPolicy.EXPIRY_POLICY_DEFAULT_ACTION,
)
_CONTROLS = (
    ("per_decision", 1000, 0, _DEFAULT),
    ("per_match", 20_000, 200, _FORFEIT),
    ("per_match", 2000, 0, _DEFAULT),
)
_CONTROLS_OF_ABSENT = (
    ("per_decision", 1500, 0, _FORFEIT),
    ("per_match", 3000, 200, _FORFEIT),
    ("per_match", 1000, 0, _DEFAULT),
)


def _control(limit, milliseconds, increment, on_expiry):
    control = clock_pb2.TimeControl(on_expiry=on_expiry)
    getattr(control, limit).FromMilliseconds(milliseconds)
    if increment:
        control.increment.FromMilliseconds(increment)
    return control


class Match:
    """One match, its clients, and its history."""

    def __init__(self, run, clients, game_id, rng):
        self.run = run
        self.clients = clients
        self.history = History.new()
        self._rng = rng
        request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(game_id))
        kind = rng.choice(("open", "open", "open", "bot", "bot", "bots", "absent", "entropy"))
        self._kind = kind
        if kind in ("bot", "bots"):
            strengths = [rng.choice(("RANDOM", "BEGINNER")) for _ in range(2)]
            request.seats.extend(bot(strength) for strength in strengths)
            if kind == "bot":
                request.seats[rng.randrange(2)].CopyFrom(OPEN)
        request.entropy_from_seats = kind == "entropy"
        if kind == "absent":
            # No client plays one of the seats, so only its clock moves the match on.
            request.time_control.CopyFrom(_control(*rng.choice(_CONTROLS_OF_ABSENT)))
        elif kind != "bots" and rng.random() < 0.4:
            request.time_control.CopyFrom(_control(*rng.choice(_CONTROLS)))
        self._timed = request.HasField("time_control")
        request.request_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        self._created = self.call(rng, "CreateMatch", request, token=None)
        if rng.random() < 0.1:
            # The client repeats the request as if the answer had been lost.
            again = self.call(rng, "CreateMatch", request, token=None)
            if again != self._created:
                raise ContradictoryHistory(f"{self}: the repeated request created {again.name}")

    @property
    def name(self):
        return self._created.name

    def __repr__(self):
        return f"{self.name}, {self._kind}"

    def call(self, rng, method, request, token, timeout=ATTEMPT_SECONDS):
        """Calls random servers until one answers."""
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        while True:
            self.run.wait(0)
            client = rng.choice(self.clients)
            try:
                return getattr(client, method)(
                    request, metadata=metadata, timeout=timeout, wait_for_ready=True
                )
            except grpc.RpcError as error:
                if error.code() not in UNANSWERED:
                    raise
                lost = self.run.note_lost(error)
                if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                    timeout = min(2 * timeout, FOREVER)
            self.run.count("calls lost")
            self.run.wait(lost.retry_after or RETRY_DELAY_SECONDS)

    def play(self):
        """Plays the match to its end, and checks its history against its record."""
        players = []
        seats = {each.seat: each.token for each in self._created.seat_tokens}
        if self._kind == "absent":
            seat = self._rng.choice(sorted(seats))
            players.append(Watcher(self, seat, seats.pop(seat)))
        for seat, token in seats.items():
            # Two clients with the token of the same seat race for it.
            players += [Player(self, seat, token) for _ in range(self._rng.choice((1, 1, 2)))]
        spectator = self._created.spectator_token
        players += [Watcher(self, SPECTATOR, spectator) for _ in range(self._rng.choice((1, 2)))]
        rngs = [random.Random(self._rng.random()) for _ in players]
        with ThreadPoolExecutor(len(players)) as pool:
            for each, rng in zip(players, rngs, strict=True):
                pool.submit(self.run.attempt, each.run, rng)
        self.run.wait(0)
        request = match_pb2.GetRecordRequest(name=self.name)
        try:
            record = self.call(self._rng, "GetRecord", request, spectator).record
        except grpc.RpcError as error:
            what = f"all clients have seen the end, but there is no record: {error.details()}"
            raise ContradictoryHistory(f"{self}: {what}") from error
        found = [
            *violations(self.history, log_of(record)),
            *wrong_observations(self.history, record),
        ]
        if found:
            raise ContradictoryHistory(f"{self}: " + "; ".join(found[:10]))
        self.run.records.append(record)
        self.run.count("matches")
        self.run.count(f"matches of {wire.game_of(record.ruleset)}")
        if self._timed:
            expired = sum(entry.HasField("expiry") for entry in record.entries)
            self.run.count("clocks expired", expired)


class Player:
    """A client that plays a seat and repeats requests until they are answered."""

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
        request = match_pb2.GetViewRequest(name=self._match.name, **wait)
        called = monotonic_ns()
        timeout = WAIT_SECONDS if wait else ATTEMPT_SECONDS
        view = self._match.call(rng, "GetView", request, self._token, timeout).view
        read = Read(self._seat, called, monotonic_ns(), view.version, view_bytes(view))
        self._match.history.reads.append(read)
        return view

    def _decide(self, rng, view):
        request = match_pb2.SubmitActionRequest(
            name=self._match.name,
            expected_version=view.version,
            action=rng.choice(view.legal_actions),
            request_id=f"{self._seat} {rng.getrandbits(64):016x}",
        )
        decided = self._send(rng, request)
        if decided is not None and rng.random() < 0.1:
            # The client repeats the request as if the answer had been lost.
            self._send(rng, request)
        return decided

    def _send(self, rng, request):
        # Returns the view of the answer, or None for a refusal: then another client was first.
        run, history = self._match.run, self._match.history
        decision = Decision(self._seat, request.action.SerializeToString(deterministic=True))
        expected = request.expected_version
        called = monotonic_ns()
        write = Write(request.request_id, decision, expected, called)
        try:
            view = self._match.call(rng, "SubmitAction", request, self._token).view
        except grpc.RpcError as error:
            history.refusals.append(refusal_of(error, request.request_id, expected, called))
            run.count("actions refused")
            return None
        except Aborted:
            history.writes.append(write)
            raise
        history.writes.append(
            write._replace(returned=monotonic_ns(), version=view.version, view=view_bytes(view))
        )
        run.count("actions answered")
        return view

    def _contribute(self, rng, view):
        entropy = f"{self._match.name} {self._seat}".encode()[:64]
        request = match_pb2.ContributeEntropyRequest(name=self._match.name)
        if view.entropy_owed.hash_seats:
            request.entropy_hash = hashlib.sha256(entropy).digest()
        else:
            request.entropy = entropy
        return self._match.call(rng, "ContributeEntropy", request, self._token).view


class Watcher:
    """A client that follows a match, and resumes a lost stream where it ended."""

    def __init__(self, match, viewer, token):
        self._match = match
        self._viewer = viewer
        self._token = token
        self._delay = RETRY_DELAY_SECONDS  # Until a lost stream is resumed.
        self._timeout = WAIT_SECONDS  # Of a stream; doubles with each that brings nothing.

    def run(self, rng):
        after = -1
        while True:
            request = match_pb2.WatchMatchRequest(name=self._match.name)
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
            if received:
                after = received[-1].version
            else:
                self._timeout = min(2 * self._timeout, FOREVER)
            self._match.run.count("streams resumed")
            self._match.run.wait(self._delay)

    def _follow(self, rng, request, received):
        # Returns whether the stream ended with the match.
        call = rng.choice(self._match.clients).WatchMatch(
            request,
            metadata=(("authorization", f"Bearer {self._token}"),),
            timeout=self._timeout,
            wait_for_ready=True,
        )
        most = rng.randint(1, 200)
        self._delay = RETRY_DELAY_SECONDS
        try:
            for message in call:
                events = b"".join(
                    event.SerializeToString(deterministic=True) for event in message.events
                )
                view = view_bytes(message.view) if message.HasField("view") else None
                received.append(Received(monotonic_ns(), message.version, events, view))
                if len(received) == most:
                    call.cancel()
                    return False
        except grpc.RpcError as error:
            if error.code() not in UNANSWERED:
                raise
            self._delay = self._match.run.note_lost(error).retry_after or RETRY_DELAY_SECONDS
            return False
        return True
