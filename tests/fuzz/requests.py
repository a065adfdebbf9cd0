"""Fuzzes a server over the wire: all methods, valid and damaged requests, tokens and metadata.

    python -m tests.fuzz.requests --requests 1000000 --seed 1

It starts a server in a process of its own and calls it with requests that are valid, changed in
places or damaged as bytes, in any order, with any token, some with a deadline that has almost
passed. What the server accepts is played on, in games under every ruleset.

It fails if a call is answered with INTERNAL, UNKNOWN, DATA_LOSS or UNIMPLEMENTED, if a call is not
answered in time, if the server logs an error, stops, or keeps more memory than at first. With
--small-caches it may hardly keep any.
"""

import argparse
import asyncio
import collections
import os
import random
import resource
import signal
import sys
import tempfile
import time
import uuid
from pathlib import Path

import grpc
from google.protobuf.message import DecodeError

from croupier.v1 import catalog_pb2, feed_pb2, game_pb2, hint_pb2, match_pb2, puzzle_pb2, review_pb2
from service import wire
from tests.fuzz.mutations import Mutator
from tests.fuzz.targets import hosted_rulesets
from tests.support.play import seeded

CONCURRENT = 32
TIMEOUT = 600.0  # Whatever else the machine does can hold a call up.
SEARCH = hint_pb2.SearchLimits(iterations=20)
# MiB of the server's memory, after the first tenth of the requests: what its caches take, and what
# is left of that when they are small.
MAX_GROWTH, MAX_GROWTH_WITH_SMALL_CACHES = 200, 25
OPERATOR_TOKEN = "the-operator-of-this-server-is-the-fuzzer"
FAULTS = {grpc.StatusCode[name] for name in ("INTERNAL", "UNKNOWN", "DATA_LOSS", "UNIMPLEMENTED")}
# These wait for what may never come, and are cut short.
_WAITING = {"GetView", "WatchMatch", "WatchMatches"}
_WAIT = 0.3
_HINTS = "/croupier.v1.HintService/"
_REVIEWS = "/croupier.v1.ReviewService/ReviewMatch"
_MOST_REVIEWED = 200  # Iterations of a search.
_DECIDING = {"SubmitAction", "SuggestAction", "AnalyzePosition"}
_KEPT = 400  # Matches, views and other things that later requests are made of.


class Method:
    """A method of the API."""

    def __init__(self, file, service, method):
        self.path = f"/{service.full_name}/{method.name}"
        self.request = method.input_type._concrete_class
        self.response = method.output_type._concrete_class
        self.streams = method.server_streaming


METHODS = [
    Method(file, service, method)
    for file in (catalog_pb2, match_pb2, feed_pb2, hint_pb2, review_pb2, puzzle_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


class Memory:
    """What responses have told: names of matches, tokens, views and pages for later requests."""

    def __init__(self):
        self.views = {}  # The newest view of each caller, by match and token.
        self.tokens = collections.deque(maxlen=_KEPT)  # Of any caller, with the name of its match.
        self.invitations = collections.deque(["none"], maxlen=_KEPT)
        self.records = collections.deque(maxlen=8)
        self.pages = collections.deque([""], maxlen=8)
        self.cursors = collections.deque([""], maxlen=8)
        self.requests = collections.deque(maxlen=_KEPT)  # Serialized, with their method.

    def learn(self, response, token):
        """Keep what a response holds."""
        if isinstance(response, match_pb2.CreateMatchResponse):
            for each in response.seat_tokens:
                self.tokens.append((response.name, each.token))
            self.tokens.append((response.name, response.spectator_token))
            self.invitations.extend(each.invitation for each in response.invitations)
        elif isinstance(response, match_pb2.RematchResponse | match_pb2.JoinMatchResponse):
            self.tokens.append((response.name, response.seat_token.token))
        elif isinstance(response, match_pb2.ListMatchesResponse):
            self.pages.append(response.next_page_token)
        elif isinstance(response, feed_pb2.WatchMatchesResponse):
            self.cursors.append(response.cursor)
        elif isinstance(response, match_pb2.GetRecordResponse):
            self.records.append(response.record)
        elif "view" in response.DESCRIPTOR.fields_by_name and response.HasField("view"):
            self.views.pop((response.view.name, token), None)
            self.views[response.view.name, token] = response.view
            if len(self.views) > _KEPT:
                del self.views[next(iter(self.views))]


class Requests:
    """Makes requests from a seed and from what the server has told so far."""

    def __init__(self, seed):
        self._rng = random.Random(seed)
        self._mutator = Mutator(self._rng)
        self._number = 0
        self.memory = Memory()
        self._rulesets = [wire.write_ruleset(game) for game in hosted_rulesets()]
        self._rulesets += [game_pb2.Ruleset(**{name: {}}) for name in wire.hosted_games()]

    def next(self):
        """A method, its serialized request and the metadata."""
        rng = self._rng
        method = rng.choice(METHODS)
        message, token = self._valid(method)
        data = message.SerializeToString()
        if rng.random() < 0.5:
            other = rng.choice(self.memory.requests)[1] if self.memory.requests else b""
            data = self._tame(method, self._mutator.mutate(method.request, data, other))
        self.memory.requests.append((method, data))
        return method, data, self._metadata(token)

    def _tame(self, method, data):
        # A search may take up to a minute by the rules; it would only wait. Everything else stays.
        if not method.path.startswith((_HINTS, _REVIEWS)):
            return data
        try:
            message = method.request.FromString(data)
        except DecodeError:
            return data
        if method.path.startswith(_REVIEWS):
            return self._tame_review(message)
        search = message.search
        limits = search.limits if search.HasField("limits") else None
        if limits is not None and (limits.iterations > 100 or limits.HasField("time")):
            limits.CopyFrom(SEARCH)
        if search.WhichOneof("effort") != "limits" or not limits.iterations:
            search.limits.CopyFrom(SEARCH)
        search.belief_worlds = min(search.belief_worlds, 100)
        return message.SerializeToString()

    def _tame_review(self, message):
        for field in ("iterations", "deep_iterations"):
            asked = getattr(message, field) or _MOST_REVIEWED
            if asked <= 10_000_000:
                setattr(message, field, min(asked, _MOST_REVIEWED))
        return message.SerializeToString()

    def _valid(self, method):
        rng, memory = self._rng, self.memory
        request = method.request()
        fields = method.request.DESCRIPTOR.fields_by_name
        name, token = rng.choice(memory.tokens) if memory.tokens else ("matches/none", "")
        view = None
        if memory.views and rng.random() < 0.7:
            (name, token), view = rng.choice(list(memory.views.items()))
        rpc = method.path.rpartition("/")[2]
        if rpc in _DECIDING and rng.random() < 0.9:
            deciding = [item for item in memory.views.items() if item[1].legal_actions]
            if deciding:
                (name, token), view = rng.choice(deciding)
        if "name" in fields and rpc != "GetGame":
            request.name = name
        match rpc:
            case "CreateMatch":
                self._create(request)
            case "SubmitAction":
                request.expected_version = view.version if view else 0
                if view and view.legal_actions:
                    request.action.CopyFrom(rng.choice(view.legal_actions))
                else:
                    request.action.skystones.pick_card.SetInParent()
                request.request_id = self._request_id()
            case "GetView" if rng.random() < 0.1:
                request.wait_for_version = rng.randrange(4)
            case "WatchMatch" if view and view.version and rng.random() < 0.8:
                request.after_version = view.version - 1
            case "ResignMatch" if rng.random() < 0.95:
                # Otherwise no match would be played to its end.
                request.name = "matches/none"
            case "ContributeEntropy":
                request.entropy = rng.randbytes(rng.choice((15, 16, 64, 65)))
            case "JoinMatch":
                request.invitation = rng.choice(memory.invitations)
                request.request_id = self._uuid()
            case "ReplaceSeatToken":
                request.request_id = self._uuid()
            case "ListMatches":
                request.page_size = rng.choice((0, 1, 3, 2**31 - 1))
                request.page_token = rng.choice(memory.pages)
                token = OPERATOR_TOKEN if rng.random() < 0.8 else token
            case "WatchMatches":
                request.cursor = rng.choice(memory.cursors)
                request.filter = rng.choice((0, 0, 1, 2))
                token = OPERATOR_TOKEN if rng.random() < 0.8 else token
            case "BatchGetViews":
                some = [rng.choice(memory.tokens)[1] for _ in range(3) if memory.tokens]
                request.tokens.extend(some or ["none"])
            case "SuggestAction" | "AnalyzePosition":
                search = request.search
                search.match_name = name
                search.limits.CopyFrom(SEARCH)
                search.seed = rng.getrandbits(64)
                search.belief_worlds = rng.choice((0, 1, 50))
                if view and rng.random() < 0.7:
                    search.view.CopyFrom(view)
                    if view.legal_actions and rng.random() < 0.3:
                        search.include_actions.append(rng.choice(view.legal_actions))
            case "ReviewMatch" | "ReplayMatch":
                request.match_name = name
                if memory.records and rng.random() < 0.7:
                    request.record.CopyFrom(rng.choice(memory.records))
                if method.path.endswith("ReplayMatch"):
                    request.spectator = rng.random() < 0.5
                    return request, token
                request.iterations = request.deep_iterations = rng.choice((100, _MOST_REVIEWED))
                request.validate_only = rng.random() < 0.5
            case "GetGame":
                request.name = f"games/{rng.choice(list(wire.hosted_games()))}"
        return request, token

    def _create(self, request):
        rng = self._rng
        request.ruleset.CopyFrom(rng.choice(self._rulesets))
        for _ in range(rng.choice((0, 2, 2))):
            seat = request.seats.add()
            if rng.random() < 0.6:
                seat.open.SetInParent()
            elif rng.random() < 0.6:
                seat.invited.SetInParent()
            else:
                seat.bot.strength = rng.choice((1, 2))
        if rng.random() < 0.5:
            request.seed = rng.getrandbits(64)
        elif rng.random() < 0.2:
            request.entropy_from_seats = True
        if rng.random() < 0.2:
            request.time_control.per_decision.seconds = rng.choice((1, 3600))
        if rng.random() < 0.2:
            request.request_id = self._uuid()

    def _uuid(self):
        # Some are repeated, some of these with another request.
        return str(uuid.UUID(int=self._rng.randrange(1000), version=4))

    def _request_id(self):
        self._number += self._rng.random() < 0.9
        return f"fuzz {self._number}"

    def _metadata(self, token):
        rng = self._rng
        if rng.random() < 0.1 and self.memory.tokens:
            token = rng.choice(self.memory.tokens)[1]
        if rng.random() < 0.1:
            damaged = self._mutator.damage(token.encode()).decode("ascii", "replace")
            token = "".join(each for each in damaged if " " <= each <= "~")
        metadata = [("authorization", f"Bearer {token}")] if token else []
        match rng.randrange(30):
            case 0:
                metadata = []
            case 1:
                metadata += metadata
            case 2:
                wrong = ("", "Bearer", "Basic x", "Bearer  ", "~")
                metadata = [("authorization", rng.choice(wrong))]
            case 3:
                metadata.append(("accept-language", rng.choice(("de", "*", ",;q=", "x" * 3000))))
            case 4:
                metadata.append(("x-more-bin", rng.randbytes(50)))
        return metadata


class Fuzzer:
    """Sends requests to a server, some at a time, and checks its answers."""

    def __init__(self, address, seed):
        self.requests = Requests(seed)
        self.codes = collections.Counter()
        self.faults = []
        self._rng = seeded("fuzz timeouts", seed)
        self._channels = [
            grpc.aio.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
            for _ in range(4)
        ]

    async def run(self, total, seconds=None, progress=lambda done: None):
        """Send requests; return how many. Stops at the first faults."""
        end = None if seconds is None else time.monotonic() + seconds
        left = total

        async def caller(number):
            nonlocal left
            while left and not self.faults and (end is None or time.monotonic() < end):
                left -= 1
                await self._call(self._channels[number % len(self._channels)])
                if left % 1000 == 0:
                    progress(total - left)

        await asyncio.gather(*(caller(number) for number in range(CONCURRENT)))
        return total - left

    async def _call(self, channel):
        method, data, metadata = self.requests.next()
        rpc = method.path.rpartition("/")[2]
        timeout = TIMEOUT
        if rpc in _WAITING:
            timeout = _WAIT
        if self._rng.random() < 0.01:
            timeout = 0.002
        kind = channel.unary_stream if method.streams else channel.unary_unary
        call = kind(method.path, None, method.response.FromString)(
            data, metadata=metadata, timeout=timeout
        )
        token = next((value[7:] for key, value in metadata if key == "authorization"), "")
        try:
            if method.streams:
                async for response in call:
                    self.requests.memory.learn(response, token)
                    # A stream of a match that goes on ends only with the match.
                    if rpc in ("WatchMatch", "WatchMatches"):
                        call.cancel()
                        break
            else:
                self.requests.memory.learn(await call, token)
            code = grpc.StatusCode.OK
        except grpc.aio.AioRpcError as error:
            code = error.code()
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED
        late = code == grpc.StatusCode.DEADLINE_EXCEEDED and timeout >= TIMEOUT
        if code in FAULTS or late:
            self.faults.append((method.path, code, data, metadata))
        self.codes[rpc, code.name] += 1

    async def close(self):
        for channel in self._channels:
            await channel.close()


class FuzzedServer:
    """`croupier serve` in a process of its own, whose memory and log can be read."""

    def __init__(self, folder, small_caches=False):
        program = "tests.fuzz.small_caches" if small_caches else "cli"
        self._log = Path(folder, "log")
        token_file = Path(folder, "operator")
        token_file.write_text(OPERATOR_TOKEN + "\n")
        self._arguments = [
            *(sys.executable, "-m", program, "serve", "--listen", "127.0.0.1:0"),
            *("--metrics-port", "0", "--allow-seeds", "--data", str(Path(folder, "data"))),
            *("--operator-token-file", str(token_file)),
        ]
        self._process = None

    async def start(self):
        """Start the server, and return its address."""
        with open(self._log, "wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._arguments, stdout=asyncio.subprocess.PIPE, stderr=log
            )
        said = (await self._process.stdout.readline()).decode()
        if not said.startswith("croupier serves on "):
            sys.exit(said + self._log.read_text())
        return said.split()[-1]

    def memory(self):
        """Its memory in MiB; 0 if it has stopped."""
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return 0
        return pages * resource.getpagesize() / 2**20

    async def stop(self):
        """Stop the server, and return its exit status and the errors in its log."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        status = await asyncio.wait_for(self._process.wait(), TIMEOUT)
        lines = self._log.read_text().splitlines()
        return status, [line for line in lines if "ERROR" in line or "Traceback" in line]


async def fuzz(total, seed, seconds=None, small_caches=False, say=print):
    """Fuzz a server; return what is wrong, and how often each method gave each code."""
    wrong = []
    growth = MAX_GROWTH_WITH_SMALL_CACHES if small_caches else MAX_GROWTH
    with tempfile.TemporaryDirectory() as folder:
        server = FuzzedServer(folder, small_caches)
        fuzzer = Fuzzer(await server.start(), seed)
        settled = told = 0.0

        def progress(done):
            nonlocal settled, told
            if not settled and done >= min(total // 10, 100_000):
                settled = server.memory()
            if done % 50_000 == 0 and done != told:
                told = done
                say(f"{done} requests, {server.memory():.0f} MiB, {len(fuzzer.codes)} outcomes")

        done = await fuzzer.run(total, seconds, progress)
        grown = server.memory() - (settled or server.memory())
        await fuzzer.close()
        status, errors = await server.stop()
    wrong += [f"{path}: {code}, {data.hex()} {sent}" for path, code, data, sent in fuzzer.faults]
    wrong += errors
    if status:
        wrong.append(f"the server ended with status {status}")
    if grown > growth:
        wrong.append(f"the memory of the server has grown by {grown:.0f} MiB")
    say(f"{done} requests, memory {grown:+.0f} MiB after the first tenth")
    return wrong, fuzzer.codes


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    parser.add_argument(
        "--small-caches", action="store_true", help="so that memory which grows is a leak"
    )
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    wrong, codes = asyncio.run(
        fuzz(options.requests, options.seed, options.seconds, options.small_caches)
    )
    for (method, code), count in sorted(codes.items()):
        print(f"{method:20} {code:20} {count}")
    took = time.monotonic() - began
    print(f"{sum(codes.values())} requests in {took:.0f} s: {len(wrong)} faults")
    for each in wrong:
        print(each[:2000])
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
