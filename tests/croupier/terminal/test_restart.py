"""Two players in the terminal go on after their server restarts, at any kind of decision."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from croupier.client import Client, Seat
from croupier.terminal.saved import SavedSeat, SavedSeats
from croupier.v1 import game_pb2
from service import wire
from tests.croupier.terminal.terminals import Terminal, terminal
from tests.support.long_form import LONG_FORM
from tests.support.replicas import Replica
from tests.support.waiting import wait_until

ROWS = 200  # So that nothing stops at the end of a screen.
# The short form has two kinds of decisions of one game: one stop in order and one kill.
GAMES = wire.hosted_games() if LONG_FORM else ["castle_rampage"]
KINDS = 100 if LONG_FORM else 2
MATCHES = 10  # In which each kind must have had its restart.
PROMPT, OVER = "> ", "Rematch? (y or n) "


class Table:
    """A match of two terminals, whose server restarts."""

    def __init__(
        self, server: Replica, sessions: Sequence[Terminal], taken: Sequence[SavedSeat]
    ) -> None:
        self.server = server
        self.sessions = sessions
        self.taken = sorted(taken, key=lambda seat: seat.seat)
        self.asked = [False, False]  # Whether a player has been asked for the decision they owe.
        self.waits = [False, False]  # Whether a player has decided nothing since the restart.
        self.clients: list[Client] = []
        self.connect()

    def connect(self) -> None:
        """Connects this test anew."""
        self.disconnect()
        self.clients = [Client(self.server.address) for _ in self.taken]
        self.seats = [
            Seat(client, saved.match, saved.token)
            for client, saved in zip(self.clients, self.taken, strict=True)
        ]

    def disconnect(self) -> None:
        for client in self.clients:
            client.close()

    def play(self, rng: random.Random, done: set[str]) -> set[str]:
        """Plays until all is done; returns the kinds of decisions that have had no restart."""
        missed: set[str] = set()
        while not (views := self.views())[0].HasField("result"):
            owing = [seat for seat in views[0].deciders if views[seat].legal_actions]
            for seat in owing:
                if len(views[seat].legal_actions) == 1:  # The client plays it by itself.
                    if seat not in self.wait_for_change(seat, views[seat]).deciders:
                        self.waits[seat] = False
                    break
            else:
                for seat in owing:
                    self.wait_until_asked(seat)
                seat = rng.choice(owing)
                kind = kind_of(views[seat])
                typed = f"#{rng.randint(1, len(views[seat].legal_actions))}"
                if len(done) == KINDS and not any(self.waits):
                    return set()
                if kind in done or any(self.waits):
                    missed.add(kind)
                    self.sessions[seat].type(typed)
                else:
                    done.add(kind)
                    self.restart(len(done), lambda s=seat, t=typed: self.sessions[s].type(t))
                self.asked[seat] = False
                assert self.wait_for_change(seat, views[seat]).version > views[seat].version
                self.waits[seat] = False
        for session in self.sessions:
            lines = session.read(OVER)
            assert any(line.startswith("result: ") for line in lines), lines
        return missed - done

    def views(self) -> list[game_pb2.View]:
        """Returns what both players know of the same version."""
        while True:
            views = [seat.view() for seat in self.seats]
            if views[0].version == views[1].version:
                return views

    def wait_until_asked(self, seat: int) -> None:
        """Returns when a player who has a choice is asked for it."""
        if not self.asked[seat]:
            lines = self.sessions[seat].read(PROMPT)
            assert lines[-1] == PROMPT, lines
            self.asked[seat] = True

    def wait_for_change(self, seat: int, view: game_pb2.View) -> game_pb2.View:
        """Returns the next view of a player."""
        return self.seats[seat].view(wait_for_version=view.version + 1)

    def restart(self, number: int, decide: Callable[[], None]) -> None:
        """Restarts the server; a player decides when it is back or, at times, while it is away."""
        if number % 2:
            self.server.end_well()
        else:
            self.server.kill()
        if while_away := number % 4 > 1:
            decide()
        self.server.start()
        self.server.ready()
        self.waits = [True, True]
        if not while_away:
            decide()
        self.connect()


@contextmanager
def table(server: Replica, game: str, seed: int, state: Path) -> Iterator[Table]:
    with ExitStack() as stack:
        words = (game, "--invite", "--seed", str(seed))
        host = stack.enter_context(terminal(server.address, *words, state=state, rows=ROWS))
        lines = host.read("--join ", "decides", "has joined. ", PROMPT, "waiting for your friend")
        [invitation] = [line.split()[-1] for line in lines if "--join " in line]
        words = ("--join", invitation, "--yes")
        guest = stack.enter_context(terminal(server.address, *words, state=state, rows=ROWS))
        wait_until(lambda: len(SavedSeats().read()) == 2)
        match = Table(server, (host, guest), SavedSeats().read())
        stack.callback(match.disconnect)
        yield match


def kind_of(view: game_pb2.View) -> str:
    """Names the kind of decision: who decides, in which phase, with which kinds of actions."""
    state = getattr(view, str(view.WhichOneof("game")))
    phases = state.DESCRIPTOR.fields_by_name["phase"].enum_type.values_by_number
    actions = (getattr(each, str(each.WhichOneof("game"))) for each in view.legal_actions)
    names = sorted({str(action.WhichOneof("action")) for action in actions})
    phase = phases[state.phase].name.rpartition("PHASE_")[2].lower()
    return f"{list(view.deciders)} {phase}: {', '.join(names)}"


@pytest.mark.parametrize("game", GAMES)
def test_players_go_on_after_a_restart(
    game: str,
    replicas: Callable[..., Replica],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed = random.randrange(1000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), "--allow-seeds")
    server.ready()
    done: set[str] = set()  # The kinds of decisions that have had a restart.
    for number in range(MATCHES):
        state = tmp_path / str(number)
        monkeypatch.setenv("XDG_STATE_HOME", str(state))
        with table(server, game, seed + number, state) as match:
            if not match.play(rng, done):
                break
    else:
        raise AssertionError("some kinds of decisions have had no restart")
    assert len(done) >= 2
