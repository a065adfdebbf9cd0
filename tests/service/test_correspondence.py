"""Matches by correspondence: each player looks once a day, and the server ends between the days.

The long form has more matches, ends the server each night, and tells how many days matches take:

    TEST_LONG=1 TEST_SEED=1 .venv/bin/pytest -s tests/service/test_correspondence.py
"""

import itertools
import operator
import os
import statistics
from collections import Counter

import wire
from ai.strengths import STRENGTHS
from croupier.client import Client
from croupier.seats import waits
from croupier.v1.clock_pb2 import TimeControl
from lab.players import BotPlayer
from service.hosting.creation import secret_of_seed
from service.hosting.records import verify
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.random_matches import begin, foretold, is_told
from tests.support.serving import as_bytes

SEED = int(os.environ.get("TEST_SEED", "1"))
MATCHES = 5 if LONG_FORM else 1  # Of each game.
NIGHTS = 1000 if LONG_FORM else 3  # After so many days at most the server ends.
LONGEST = 200  # Days.
PACE = TimeControl(per_decision={"seconds": 24 * 3600})
HAND = 5  # Cards of Skystones, which are picked one after the other.


def one_decision(script):
    """What a client sends at once that knows of no decisions ahead."""
    return script[:1]


def as_clients(script):
    """What the clients of this repository send at once: of Skystones, a hand."""
    picks = itertools.takewhile(lambda each: each.skystones.HasField("pick_card"), script[:HAND])
    return list(picks) or one_decision(script)


class Friend:
    """A player with a script, who makes all decisions that are owed at each look."""

    def __init__(self, seat, script, send):
        self._seat, self._send = seat, send
        self._left = list(script)
        self._decided = None  # The version of its last decision.
        # Of each look that owed something: that version, the one that it saw, what it decided, and
        # whether nothing else was legal.
        self.looks = []

    def look(self):
        """Returns whether the match is over."""
        view, asked = self._seat.view(), 0
        while view.legal_actions and not waits(view):
            assert not view.HasField("decisions_ahead"), "decisions that were sent are dropped"
            sent = self._send(self._left)
            # Whoever is asked twice has another answer by now.
            assert sent[0] in view.legal_actions
            if not asked:
                forced = len(view.legal_actions) == 1
                self.looks.append((self._decided, view.version, sent[0], forced))
            asked += 1
            self._decided = view.version
            del self._left[: len(sent)]
            view = self._seat.submit(sent[0], view.version, then=sent[1:])
        return view.HasField("result")


class Table:
    """A match of two friends."""

    def __init__(self, client, game, seed, scripts, send):
        self.game, self.send = game, send
        self._match = client.create_match(game, seed=seed, time_control=PACE)
        self._scripts = scripts
        seats = self._match.seats
        self._friends = [Friend(seats[each], scripts[each], send) for each in (0, 1)]
        self.days, self.over = 0, False

    def day(self):
        """Lets both look, one after the other."""
        self.days += 1
        for friend in self._friends:
            self.over = friend.look()

    def needless(self):
        """Counts the looks that a player could do without, by what was decided.

        They showed nothing but what is the seat's own, or left it no choice. Checks first that each
        decision was made once, and in order.
        """
        state = verify(self._match.spectator.record())
        counts = Counter()
        for seat, friend in enumerate(self._friends):
            made = [entry.action for entry in state.entries if entry.seat == seat]
            assert made == [as_bytes(action) for action in self._scripts[seat]]
            for decided, seen, action, forced in friend.looks:
                kind = getattr(action, self.game).WhichOneof("action")
                if forced:
                    counts[f"{kind} alone is legal"] += 1
                elif decided is not None and not is_told(state, seat, decided, seen):
                    counts[f"{kind} without news"] += 1
        return counts


def script(game, seed):
    """What both seats decide in a match of beginners."""
    rng = seeded(seed, game)
    player = BotPlayer(STRENGTHS["beginner"])

    def choose(state, seat):
        legal = state.match.legal(seat)
        if len(legal) == 1:
            return legal[0]
        return player.choose(state.match.view(seat), legal, rng.getrandbits(256)).action

    secret = secret_of_seed(seed)
    state = begin(game, time_control=PACE, secret=secret, chance_id="")
    return foretold(state, rng, choose)[0]


def test_friends_who_look_once_a_day_come_to_the_end(replicas, tmp_path):
    print(f"TEST_SEED={SEED}")
    games = list(wire.hosted_games())
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), "--allow-seeds")
    server.ready()
    with Client(server.address) as client:
        tables = [
            [Table(client, game, seed, scripts, send) for send in (one_decision, as_clients)]
            for game in games
            for seed in range(SEED, SEED + MATCHES)
            for scripts in [script(game, seed)]
        ]
        for night in range(LONGEST):
            left = [table for pair in tables for table in pair if not table.over]
            if not left:
                break
            for table in left:
                table.day()
            if night < NIGHTS:
                (server.kill if night % 2 else server.end)()
                server.start()
                server.ready()
        assert not left
        for game in games:
            sides = zip(*(pair for pair in tables if pair[0].game == game), strict=True)
            without, ahead = (
                ([each.days for each in side], sum((each.needless() for each in side), Counter()))
                for side in sides
            )
            # Only the cards of a hand need no answer between them.
            fewer = operator.lt if game == "skystones" else operator.eq
            assert all(map(fewer, ahead[0], without[0]))
            for name, (days, needless) in (("without", without), ("with", ahead)):
                print(f"{game} {name} decisions ahead: {statistics.median(days)} days", end=" ")
                print(f"({min(days)} to {max(days)}); needless looks: {dict(needless)}")
    server.end_well()
