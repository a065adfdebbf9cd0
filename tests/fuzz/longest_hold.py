"""Measures for how long single requests hold the event loop of a server.

    python -m tests.fuzz.longest_hold --requests 20000 --entries 20000

A server in this process is sent the fuzzer's requests, and then the largest legal ones, over gRPC
and as JSON: rulesets, views, and calls about a match of very many entries that is not in memory.
Printed is, by method and protocol, the longest time of the processor that a step of a call took,
from when the event loop turned to it until it waited for something or ended.
"""

import argparse
import asyncio
import contextlib
import tempfile
import threading
from pathlib import Path

import grpc
import uvloop

from croupier.v1 import game_pb2, hint_pb2, match_pb2
from engine import games
from engine.position import Position
from service import wire
from service.admission.budgets import Budget
from service.api.authentication import Tokens
from service.api.calls import Calls
from service.gateway.listener import WebOptions
from service.hosting.creation import new_header
from service.hosting.match_state import MatchState
from service.hosting.seats import Caller
from service.running.process import settle
from service.running.server import Options, Server
from service.store import Entry, EntryKind, MatchStatus, SqliteStore
from tests.fuzz.requests import METHODS, Fuzzer
from tests.fuzz.targets import hosted_rulesets
from tests.games.castle_rampage import read_card_list
from tests.games.castle_rampage.layout import SPY
from tests.support.play import random_joint, seeded
from tests.support.web import Failed, WebClient

KEY = bytes(range(32))
NAME = "a" * 26
# A deck with which a seat that plays a Spy draws it again.
SPIES = "Knight*20:gate=20:castle=20 Spy*3"
PLAY_SPY = 3, SPY  # As the kind and the card of an action have it.
UNLIMITED = "[budgets.person]\n{0}\n[budgets.address]\n{0}\n"
TIMEOUT = 600.0


class Holds:
    """The longest steps so far."""

    def __init__(self):
        self.longest = {}  # By method and protocol: the seconds, and of which request.
        self.what = "fuzz"

    def charge(self, calls, call):
        """Takes the place of `Calls._charge`."""

        def held(seconds):
            key = call.method.rpartition("/")[2], call.protocol
            if seconds > self.longest.get(key, (0.0, ""))[0]:
                self.longest[key] = seconds, self.what

        return held


def long_match(count):
    """A match of so many entries, which is over."""
    game = games()["castle_rampage"]({"cards": read_card_list(SPIES)})
    header = new_header(wire.write_ruleset(game), (0, 0), 5, False, None, None, "", 1)
    state = MatchState.begin(header._replace(match_id=NAME))
    while not state.over and state.version < count - 1:
        seat = state.deciders[0]
        legal = state.dealt().legal(seat)
        spies = [each for each in legal if (each >> 35, each >> 30 & 31) == PLAY_SPY]
        action = wire.serialize_action(state.game, (spies or legal)[-1])
        request_id = f"request-{state.version}"
        state = state.after(Entry(EntryKind.ACTION, seat, 1, action, state.version, request_id))
    return state if state.over else state.after(Entry(EntryKind.RESIGNATION, 0, 1))


async def store_match(directory, state):
    """Writes a match to a log, with a snapshot of its middle."""
    store = SqliteStore(directory)
    await store.open()
    await store.create(state.header, MatchStatus(over=False))
    adding = []
    for version, entry in enumerate(state.entries):
        over = version + 1 == state.version
        adding.append(store.append(NAME, version, entry, MatchStatus(over=over)))
        if len(adding) == 4000:
            assert all(await asyncio.gather(*adding))
            adding.clear()
    assert all(await asyncio.gather(*adding))
    await store.close()


def largest_views():
    """A view of each hosted ruleset, the largest of a random match."""
    for game in hosted_rulesets():
        rng = seeded("largest view", game.id)
        position, largest = Position.deal(game, rng.getrandbits(60)), None
        while not position.over:
            seat = position.deciders[0]
            view = game_pb2.View(seat=seat, deciders=position.deciders)
            view.ruleset.CopyFrom(wire.write_ruleset(game))
            view.MergeFromString(wire.write_view(game, position.view(seat)))
            view.MergeFromString(wire.write_legal_actions(game, position.legal(seat)))
            if largest is None or view.ByteSize() > largest.ByteSize():
                largest = view
            position.apply(random_joint(position, rng), rng.getrandbits(60))
        yield largest


def largest_requests(state):
    """The largest legal requests: what each is, its service, method and request, and its token."""
    tokens = Tokens(KEY)
    token = tokens.make(Caller(NAME, 0))
    name = f"matches/{NAME}"
    for game in hosted_rulesets():
        ruleset = wire.write_ruleset(game)
        create = match_pb2.CreateMatchRequest(ruleset=ruleset)
        yield f"{game.id}, whole ruleset", "matches", "CreateMatch", create, ""
    for view in largest_views():
        every = list(view.legal_actions) * 2048
        search = hint_pb2.Search(view=view, limits={"iterations": 1}, belief_worlds=1)
        search.include_actions.extend(every[:2048])
        search.exclude_actions.extend(every[1:2049])
        request = hint_pb2.SuggestActionRequest(search=search)
        yield "largest view, all actions", "hints", "SuggestAction", request, ""
    first = state.entry(1)
    repeated = match_pb2.SubmitActionRequest(
        name=name,
        expected_version=first.expected_version,
        action=game_pb2.MatchAction.FromString(first.action),
        request_id=first.request_id,
    )
    owner = tokens.make(Caller(NAME, first.seat))
    what = f"match of {state.version} entries"
    yield what, "matches", "GetView", match_pb2.GetViewRequest(name=name), token
    yield f"{what}, repeated", "matches", "SubmitAction", repeated, owner
    yield what, "matches", "WatchMatch", match_pb2.WatchMatchRequest(name=name), token
    yield what, "matches", "GetRecord", match_pb2.GetRecordRequest(name=name), token
    yield what, "matches", "Rematch", match_pb2.RematchRequest(name=name), token


def send_largest(server, address, holds, state):
    """Sends the largest requests over gRPC and as JSON."""
    paths = {method.path.rpartition("/")[2]: method for method in METHODS}
    limit = (("grpc.max_receive_message_length", -1),)
    web = WebClient(server.web_url, "json")
    with grpc.insecure_channel(address, limit) as channel:
        for what, service, rpc, request, token in largest_requests(state):
            holds.what = what
            server.matches._cache.drop(NAME)
            method = paths[rpc]
            make = channel.unary_stream if method.streams else channel.unary_unary
            metadata = [("authorization", f"Bearer {token}")] if token else []
            with contextlib.suppress(grpc.RpcError):
                answer = make(method.path, type(request).SerializeToString, None)(
                    request, metadata=metadata, timeout=TIMEOUT
                )
                for _ in answer if method.streams else ():
                    pass
            server.matches._cache.drop(NAME)
            with contextlib.suppress(Failed):
                call = getattr(getattr(web, service), rpc)
                if not method.streams:
                    call(request, metadata=metadata, timeout=TIMEOUT)
                else:
                    for _ in call(request, metadata=metadata, timeout=TIMEOUT):
                        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=20_000, help="of the fuzzer")
    parser.add_argument("--entries", type=int, default=20_000, help="of the long match")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    holds = Holds()
    Calls._charge = lambda calls, call: holds.charge(calls, call)
    with tempfile.TemporaryDirectory() as folder:
        state = long_match(chosen.entries)
        asyncio.run(store_match(Path(folder, "data"), state))
        key, callers = Path(folder, "key"), Path(folder, "callers.toml")
        key.write_bytes(KEY)
        budgets = "\n".join(f'{each} = "unlimited"' for each in Budget)
        callers.write_text(UNLIMITED.format(budgets))
        options = Options(
            port=0,
            store="sqlite",
            data=Path(folder, "data"),
            token_key_file=key,
            callers_file=callers,
            allow_seeds=True,
            web=WebOptions(port=0),
            search_processes=1,
        )
        loop = uvloop.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()

        def run(work):
            return asyncio.run_coroutine_threadsafe(work, loop).result(TIMEOUT)

        async def start():
            server = Server(options)
            address = await server.start()
            settle()
            return server, address

        server, address = run(start())
        try:
            asyncio.run(fuzz(address, chosen))
            send_largest(server, address, holds, state)
        finally:
            run(server.stop(1.0))
    for (method, protocol), (seconds, what) in sorted(
        holds.longest.items(), key=lambda each: -each[1][0]
    ):
        print(f"{1000 * seconds:8.2f} ms  {method:18}{protocol:9}{what}")


async def fuzz(address, chosen):
    """Sends the fuzzer's requests."""
    fuzzer = Fuzzer(address, chosen.seed)
    await fuzzer.run(chosen.requests)
    await fuzzer.close()
    assert not fuzzer.faults, fuzzer.faults[0]


if __name__ == "__main__":
    main()
