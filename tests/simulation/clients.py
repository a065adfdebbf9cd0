"""The clients of a world: programs with connections of their own, which repeat what was lost."""

import asyncio
import re
import uuid
from functools import cache, partial
from pathlib import Path

from croupier.v1 import match_pb2
from tests.simulation.network import CallError, ClientCall, Connection
from tests.simulation.web import Browser

ATTEMPT_SECONDS = 10.0
PATIENCE_SECONDS = 180.0  # With a server that does not answer.
LOST_SECONDS = 25.0  # After which a stream that is silent is lost,
LATE_SECONDS = 5.0  # and by which a heartbeat may be late,
BEAT_SECONDS = 0.5  # or sent late.
GAMES = ("champion_chess", "castle_rampage", "skystones", "powershot_soccer")
MATCH_SERVICE = "/croupier.v1.MatchService/"
FEED_SERVICE = "/croupier.v1.FeedService/"
KEYS = {
    name: f"the-key-of-{name}"
    for name in ("front", "house", "hasty", "club", "crowd", "miser", "thrifty")
}  # By their names.
CHANGING = ("SubmitAction", "ResignMatch", "AbortMatch", "ContributeEntropy", "ReplaceSeatToken")
RESPONSES = {
    each.name: each.output_type._concrete_class
    for each in match_pb2.DESCRIPTOR.services_by_name["MatchService"].methods
}


class Client:
    """A program with connections of its own, which go to one of the servers each."""

    def __init__(self, inhabitants, rng, *, key="", web="", home=None):
        """`key` is the name of its API key, if it has one, and `home` the only machine it calls.

        `web` is the form of its messages if it calls the web gateway, "proto" or "json".
        """
        self.inhabitants = inhabitants
        inhabitants.clients += 1
        self.world = inhabitants.world
        self.rng = rng
        self.number = inhabitants.clients
        self.key = key
        self.player = f"player-{self.number}"  # Whom it names, with a key.
        self.home = home
        self.newer = False  # Whether it calls for a match of rules that only a newer server has.
        self._connection = None
        self.address = f"192.0.2.{self.number % 250}"
        self._peer = f"ipv4:{self.address}:{40000 + self.number % 20000}"
        world = self.world
        self._browser = Browser(world.network, world.loop.world, self._peer, web) if web else None

    def _connect(self):
        connection = self._connection
        is_open = connection is not None and connection.state == "open"
        # To close it would leave the calls that run without an answer.
        if not is_open or (not connection.calls and self.rng.random() < 0.01):
            self.connect()
        return self._connection

    def connect(self, address=None):
        """Connects anew, to some server or to one; returns the connection."""
        self.close()
        world = self.world
        address = address or self.rng.choice(self._machines()).address
        self._connection = Connection(world.network, world.loop.world, address, self._peer)
        return self._connection

    def _machines(self):
        return [self.home] if self.home else self.world.machines_with(self.newer)

    def need_newer(self):
        """From now on calls newer servers alone."""
        self.newer = True
        if self._connection is not None:
            self._connection.close()

    def close(self):
        """Leaves."""
        if self._connection is not None:
            self._connection.close()
        if self._browser is not None:
            self._browser.close()

    def begin(
        self, method, request, token="", timeout=ATTEMPT_SECONDS, *, streams=False, connection=None
    ):
        """Begins a call, through a connection that it had before if one is given."""
        path = method if "/" in method else MATCH_SERVICE + method
        self.world.called.add(path)
        metadata = []
        if token:
            metadata.append(("authorization", f"Bearer {token}"))
        if self.key:
            metadata.append(("x-api-key", KEYS[self.key]))
            metadata.append(("x-player-id", self.player))
        metadata = tuple(metadata)
        if self._browser is not None and connection is None:
            host = self.rng.choice(self._machines()).host
            self._note(method, request, host)
            call = self._browser.begin(host, path, request, metadata, timeout, streams)
        else:
            connection = connection or self._connect()
            self._note(method, request, connection.address)
            call = ClientCall(connection, path, request, metadata, timeout, streams)
        if streams:
            noted = self, method, request, token, self.world.now
            call.refused = partial(self.world.noted.note, *noted)
        return call

    def _note(self, method, request, address):
        # For the story: who has sent what of a match to whom.
        if method in CHANGING:
            shown = request.request_id if method == "SubmitAction" else ""
            noted = (self.world.now, self.number, method, shown, address)
            self.world.sent[request.name].append(noted)

    async def once(
        self, method, request, token="", timeout=ATTEMPT_SECONDS, response=None, since=None
    ):
        """Calls once, for the first time or again since some time; raises CallError."""
        since = self.world.now if since is None else since
        call = self.begin(method, request, token, timeout)
        try:
            data = await call.read()
            if data is not None:
                await call.read()  # The status.
        except CallError as error:
            self.world.noted.note(self, method, request, token, since, error)
            raise
        finally:
            call.cancel()
        if data is None:
            raise CallError("INTERNAL", "a call without a response")
        answer = (response or RESPONSES[method]).FromString(data)
        self.world.noted.note(self, method, request, token, since, answer)
        return answer

    async def call(self, method, request, token="", timeout=ATTEMPT_SECONDS, response=None):
        """Calls until there is an answer; raises CallError for a refusal."""
        since = self.world.now
        until = since + max(PATIENCE_SECONDS, 8 * timeout)  # Some calls wait.
        pause = 0.1
        while True:
            try:
                return await self.once(method, request, token, timeout, response, since)
            except CallError as error:
                again = error.unanswered or error.reason in ("BUDGET_EXHAUSTED", "STORE_FULL")
                if error.reason == "RULES_CHANGED" and self.world.upgrading:
                    self.need_newer()
                    again = True
                if not again:
                    self._check_refusal(method, error)
                    raise
                self.world.counts["calls repeated"] += 1
                late = error.code == "DEADLINE_EXCEEDED" and timeout == ATTEMPT_SECONDS
                if late and self.world.troubles.answers(timeout):
                    self.world.fail(f"{method} is not answered in {timeout:.0f} s: {error}")
                if self.world.now > until:
                    self.world.fail(f"{method} is not answered for minutes: {error}")
                await asyncio.sleep(max(error.retry_seconds, pause * self.rng.uniform(0.8, 1.2)))
                pause = min(2 * pause, 2.0)

    def _check_refusal(self, method, error):
        if error.code in ("INTERNAL", "UNKNOWN", "UNIMPLEMENTED"):
            self.world.fail(f"{method} fails: {error}")


async def hear(call, interval, who):
    """The next message of a stream, None at its end; raises TimeoutError if the stream is lost.

    Fails where all is well and the heartbeats of an interval, in seconds, do not come, or are sent
    later than it says.
    """
    world, began, before = who.world, who.world.now, call.sent
    is_well = world.troubles.is_well
    try:
        async with asyncio.timeout(LOST_SECONDS):
            data = await call.read()
        late = call.sent - max(before, call.asked) - interval
        if data is not None and before and late > BEAT_SECONDS and is_well(60.0 + interval):
            world.fail(f"{who}: a stream sends nothing for {late:.1f} s more than {interval}")
        return data
    finally:
        silent = world.now - began
        if silent > interval + LATE_SECONDS and world.troubles.answers(silent):
            world.fail(f"{who}: a stream is silent for {silent:.0f} s, not for {interval}")


def judge_cut_off(world, path, seconds):
    """Fails a server that lets a call run into its deadline, which it knows; a search may."""
    answers = path.startswith((MATCH_SERVICE, FEED_SERVICE)) and seconds > 1.0
    if answers and world.troubles.answers(seconds):
        world.loop.failures.append(f"{path} is not answered within its {seconds:.1f} s")


@cache
def _promised():
    # By reasons, what the schema says that a refusal has: metadata, and a time to wait for.
    schema = Path(__file__).resolve().parents[2] / "proto/croupier/v1/error.proto"
    promised = {}
    found = re.findall(r"((?:  //.*\n)+)  ERROR_REASON_(\w+) =", schema.read_text())
    for comment, reason in found:
        text = " ".join(comment.replace("//", "").split())
        told = re.sub(r"\(.*?\)", "", text.partition("Metadata:")[2].partition("The details")[0])
        waits = "RetryInfo" in text and "unless" not in text
        promised[reason] = set(re.findall(r'"([a-z_]+)"', told)), waits
    return promised


def judge_refusal(world, error):
    """Fails a refusal that lacks what the schema promises."""
    keys, waits = _promised().get(error.reason, ((), False))
    if lacks := set(keys) - error.metadata.keys():
        world.loop.failures.append(f"a refusal lacks {sorted(lacks)}: {error.metadata} {error}")
    if waits and not error.retry_seconds:
        world.loop.failures.append(f"a refusal does not say when to come again: {error}")
    if not error.metadata.get("match", "matches/").startswith("matches/"):
        world.loop.failures.append(f"a refusal names another match: {error.metadata} {error}")


JUDGES = (judge_cut_off, judge_refusal)


def nanoseconds(seconds):
    """A time as histories have it."""
    return round(1e9 * seconds)


def new_id(rng):
    """A random id of a request."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
