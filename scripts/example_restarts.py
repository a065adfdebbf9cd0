"""A server that restarts while a client of examples/ waits for the other player.

The client joins seat 0 of a match, and this module plays seat 1. At each kind of decision that seat
1 makes while the client waits, the server is stopped in order or killed, in turn, and started
again.
"""

import json
import random
import subprocess
import threading
import time
import uuid
from collections.abc import Sequence
from itertools import cycle
from typing import NamedTuple

from example_clients import FailedError, Server, command_of

from croupier.client import INVITED, OPEN, Client, Seat
from croupier.v1 import game_pb2, match_pb2

ANSWER_SECONDS = 5  # From when the server is back until the client has answered.
MATCH_SECONDS = 300


class Restarted(NamedTuple):
    """What a match with restarts came to."""

    ending: object
    kinds: Sequence[str]  # Of decisions, each with a restart before it.
    slowest: float  # Seconds from when the server was back until the client had answered.


def play_with_restarts(
    language: str, game: str, server: Server, seed: int, limit: int | None
) -> Restarted:
    """Plays a match; with a `limit`, seat 1 resigns after so many restarts."""
    with Client(server.address) as client:
        request = match_pb2.CreateMatchRequest(
            ruleset=client.game(game).default_ruleset,
            seats=(INVITED, OPEN),
            seed=seed,
            hint_policy=game_pb2.HINT_POLICY_ALLOWED,
            request_id=str(uuid.uuid4()),
        )
        created = client.persist(client.match_stub.CreateMatch, request)
    command = [*command_of(language), "--server", server.address, "--game", game]
    command += [
        "--seed",
        str(seed),
        "--name",
        language,
        "--join",
        created.invitations[0].invitation,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as example:
        watchdog = threading.Timer(MATCH_SECONDS, example.kill)
        watchdog.start()
        try:
            return _Table(server, example, created, limit).play(random.Random(seed), language)
        finally:
            watchdog.cancel()
            example.kill()


class _Table:
    # A match between a client and this script.

    def __init__(
        self,
        server: Server,
        example: subprocess.Popen[str],
        created: match_pb2.CreateMatchResponse,
        limit: int | None,
    ) -> None:
        self._server = server
        self._example = example
        self._created = created
        self._limit = limit
        self._lines: list[str] = []
        self._kinds: list[str] = []
        self._deaths = cycle((server.stop, server.kill))
        self._back: float | None = None  # Since when the server is back, until the client answers.
        self._slowest = 0.0

    def play(self, rng: random.Random, language: str) -> Restarted:
        """Plays to the end."""
        seat = self._connect()
        view = seat.view()
        moved = False  # Whether the client has made the last decision.
        while not view.HasField("result"):
            if list(view.deciders) != [1]:
                newer = seat.view(wait_for_version=view.version + 1)
                if moved := newer.version > view.version:
                    self._answered()
                elif self._example.poll() is not None:
                    raise self._failure("the client has left")
                view = newer
                continue
            kind = kind_of(view)
            if kind not in self._kinds:
                if len(self._kinds) == self._limit:
                    view = seat.resign()
                    break
                if moved:  # It waits only when it has got the answer to its own decision.
                    self._read(f" at version {view.version - 1},")
                self._kinds.append(kind)
                next(self._deaths)()
                self._server.start()
                self._back = time.monotonic()
                seat.client.close()
                seat = self._connect()
            view = seat.submit(rng.choice(view.legal_actions), view.version)
            moved = False
        seat.client.close()
        self._read('"decisions":')  # How it ended.
        self._answered()
        if self._example.wait():
            raise self._failure("the client has failed")
        if view.players[0].display_name != language:
            raise self._failure(f"the client has another name: {view.players}")
        outcome = json.loads(self._lines[-1])
        if outcome["resumes"] < len(self._kinds):
            raise self._failure(f"{len(self._kinds)} restarts, and the client has missed some")
        ending = outcome["scores"], outcome["reason"], outcome["decisions"], tuple(self._kinds)
        return Restarted(ending, self._kinds, self._slowest)

    def _connect(self) -> Seat:
        # Anew after each restart, so that the answer of the client alone is measured.
        created = self._created
        return Seat(Client(self._server.address), created.name, created.seat_tokens[0].token)

    def _answered(self) -> None:
        if self._back is None:
            return
        took, self._back = time.monotonic() - self._back, None
        self._slowest = max(self._slowest, took)
        if took > ANSWER_SECONDS:
            raise self._failure(f"the client answered {took:.1f} s after {self._kinds[-1]}")

    def _read(self, text: str) -> None:
        # Reads what the client prints until a line has the text.
        assert self._example.stdout
        for line in self._example.stdout:
            self._lines.append(line)
            if text in line:
                return
        raise self._failure("the client has ended too early")

    def _failure(self, text: str) -> FailedError:
        self._example.kill()
        assert self._example.stdout
        self._lines += self._example.stdout
        return FailedError(f"{text}\n{''.join(self._lines[-10:])}")


def kind_of(view: game_pb2.View) -> str:
    """Names the kind of decision: who decides, in which phase, with which kinds of actions."""
    state = getattr(view, str(view.WhichOneof("game")))
    phases = state.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_number
    actions = (getattr(each, str(each.WhichOneof("game"))) for each in view.legal_actions)
    names = sorted({str(action.WhichOneof("action")) for action in actions})
    phase = phases[state.phase].name.rpartition("PHASE_")[2].lower()
    return f"{list(view.deciders)} {phase}: {', '.join(names)}"
