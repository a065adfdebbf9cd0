"""A reader of the operator's feed, which goes on through the deaths of its servers."""

import itertools
import threading

from croupier.client import Client, CroupierError, Operator
from tests.support.waiting import waiting_for


class FeedReader:
    """Follows the feed in a thread, at one server after the other, from one cursor."""

    def __init__(self, addresses, token):
        self._operators = [Operator(Client(address), token) for address in addresses]
        self._stopped = False
        self._changed = threading.Condition()
        self.told = {}  # The newest version of each match, by name.
        self.wrong = []  # Updates that should not have come.
        self.updates = self.resumed = 0
        self._begun = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        # A match that ends before is not told of.
        self._begun.wait()

    def _read(self):
        cursor = ""
        for operator in itertools.cycle(self._operators):
            self.resumed += 1
            seen = {}
            try:
                for response in operator.watch_matches(cursor, patience=1.0):
                    with self._changed:
                        for update in response.updates:
                            self._note(update, seen)
                        self._changed.notify()
                    if not cursor:
                        seen = {}  # What changed while the running matches were listed comes again.
                    cursor = response.cursor or cursor
                    if cursor:
                        self._begun.set()
                    if self._stopped:
                        return
            except CroupierError as error:
                # Any other reason than that a server is away.
                if error.reason not in ("", "SHUTTING_DOWN", "STORE_UNAVAILABLE"):
                    with self._changed:
                        self.wrong.append(error)
                        self._changed.notify()
                    self._begun.set()
                    return
            except ValueError:
                assert self._stopped  # The channel was closed.
            if self._stopped:
                return

    def _note(self, update, seen):
        name, version = update.name, update.version
        if version <= seen.get(name, -1) or version < self.told.get(name, 0):
            self.wrong.append((name, seen.get(name), self.told.get(name), version))
        seen[name] = self.told[name] = version
        self.updates += 1

    def wait_updates(self, count):
        """Returns when `count` more updates have come."""
        with self._changed:
            until = self.updates + count
            self._changed.wait_for(lambda: self.updates >= until or self.wrong)

    def check(self, operator):
        """Returns when it has been told of every match as the log has it; nothing more may come."""
        wanted = {match.name: match.version for match in operator.matches()}

        def differ():
            names = self.told.keys() | wanted.keys()
            both = {name: (self.told.get(name), wanted.get(name)) for name in names}
            return {name: versions for name, versions in both.items() if len({*versions}) > 1}

        with self._changed, waiting_for(lambda: f"told and in the log: {differ()}"):
            self._changed.wait_for(lambda: self.wrong or not differ())
        assert not self.wrong, self.wrong
        print(f"{len(wanted)} matches, {self.updates} updates, {self.resumed} streams")

    def close(self):
        """Stops reading."""
        self._stopped = True
        for operator in self._operators:
            operator.client.close()
