"""Players who play matches to their ends while the servers that host them die.

Each repeats a call until it is answered, as the client does. What was answered must be in the
record of the match, and no other decision of theirs.
"""

import itertools
import random
import threading
from collections import Counter

import wire
from croupier.client import HINT_POLICIES, OPEN, Client, Seat, bot
from tests.support.play import note_on_failure
from tests.support.waiting import FOREVER, waiting_for

BOT_SHARE = 0.25  # Of the matches that are against a bot.
HINT_SHARE = 0.02  # Of the decisions that come from a hint.


class Road:
    """Matches through one address, some at a time, each seat on a connection of its own.

    Without a number of matches, they follow one another until `close`.
    """

    def __init__(self, seed, address, ca, matches, at_once, bots=BOT_SHARE):
        self.figures = Counter()
        self.repeated = Counter()  # By the name of the status.
        self.records = []
        self._seed = seed
        self._address = address
        self._ca = ca
        self._bots = bots
        self._numbers = itertools.count() if matches is None else iter(range(matches))
        self._changed = threading.Condition()
        self._failures = []
        self._playing = dict.fromkeys(range(at_once))  # The match at each table.
        for table in range(at_once):
            threading.Thread(target=self._play_on, args=(table,), daemon=True).start()

    @property
    def over(self):
        """Whether all matches have ended, or one has failed."""
        with self._changed:
            return bool(self._failures) or not self._playing

    def close(self):
        """Begins no more matches."""
        with self._changed:
            self._numbers = iter(())

    def finish(self):
        """Waits until all matches have ended; raises the first failure."""
        with self._changed, waiting_for(lambda: f"the ends of matches, by table: {self._playing}"):
            self._changed.wait_for(lambda: self._failures or not self._playing)
        if self._failures:
            raise self._failures[0]

    def wait_actions(self, count, timeout=None):
        """Waits until `count` more actions have been answered, at most `timeout` seconds."""
        with self._changed, waiting_for(lambda: f"actions in matches, by table: {self._playing}"):
            until = self.figures["actions"] + count
            self._changed.wait_for(
                lambda: self._failures or self.figures["actions"] >= until, timeout
            )

    def count(self, what):
        with self._changed:
            self.figures[what] += 1
            self._changed.notify_all()

    def _play_on(self, table):
        while True:
            with self._changed:
                number = None if self._failures else next(self._numbers, None)
                if number is None:
                    del self._playing[table]
                    self._changed.notify_all()
                    return
                self._playing[table] = number
            try:
                with note_on_failure(seed=self._seed, match=number):
                    self._play(random.Random(f"{self._seed}/{number}"), number)
                self.count("matches")
            # `finish` raises it in the thread of the test.
            except BaseException as error:
                self._failures.append(error)

    def _play(self, rng, number):
        games = list(wire.hosted_games())
        game = games[number % len(games)]
        against_bot = rng.random() < self._bots
        with (
            Client(self._address, ca=self._ca, timeout=FOREVER, patience=FOREVER) as first,
            Client(self._address, ca=self._ca, timeout=FOREVER, patience=FOREVER) as second,
        ):
            seats = (OPEN, bot("beginner") if against_bot else OPEN)
            match = first.create_match(game, seats, hint_policy=HINT_POLICIES["allowed"])
            players = [Player(self, match.seats[0], rng.random(), streams=True)]
            if not against_bot:
                seat = Seat(second, match.name, match.seats[1].token)
                # Some clients cannot hold a stream.
                players.append(Player(self, seat, rng.random(), streams=rng.random() < 0.7))
            others = [threading.Thread(target=player.run) for player in players[1:]]
            for other in others:
                other.start()
            players[0].run()
            for other in others:
                other.join()
            for player in players:
                if player.failure:
                    raise player.failure
            records = [player.seat.record() for player in players]
            assert all(record == records[0] for record in records)
            assert records[0].result == players[0].result
            decided = {
                entry.version: (entry.action.seat, entry.action.action)
                for entry in records[0].entries
                if entry.HasField("action") and entry.action.seat < len(players)
            }
            assert decided == {
                version: (seat, action)
                for seat, player in enumerate(players)
                for version, action in player.answered.items()
            }
            with self._changed:
                self.records.append(records[0])
                for client in (first, second):
                    self.repeated.update(client.tally.read())


class Player:
    """Plays one seat at random."""

    def __init__(self, road, seat, seed, streams):
        self.seat = seat
        self.result = None
        self.failure = None
        self.answered = {}  # The actions, by the version that each has made.
        self._road = road
        self._rng = random.Random(seed)
        self._streams = streams

    def run(self):
        """Plays to the end, and keeps a failure."""
        try:
            if self._streams:
                self._follow()
            else:
                self._ask()
        except BaseException as error:
            self.failure = error
            # The other seat would wait for ever.
            self.seat.resign()

    def _follow(self):
        versions = []
        for response in self.seat.watch():
            versions.append(response.version)
            if response.view.HasField("result"):
                self.result = response.view.result
            elif response.version == self.seat.version and response.view.legal_actions:
                self._decide(response.view)
        assert versions == list(range(len(versions)))
        assert self.result is not None

    def _ask(self):
        view = self.seat.view()
        while not view.HasField("result"):
            if view.legal_actions:
                view = self._decide(view)
            else:
                view = self.seat.view(wait_for_version=view.version + 1)
        self.result = view.result

    def _decide(self, view):
        action = self._rng.choice(view.legal_actions)
        if self._rng.random() < HINT_SHARE:
            action = self.seat.suggest(iterations=50).action
            self._road.count("hints")
        view = self.seat.submit(action, view.version)
        self.answered[view.version] = action
        self._road.count("actions")
        return view
