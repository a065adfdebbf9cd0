"""A front end of two keys, whose players call the servers of one log, each client the next one."""

import datetime
import hashlib

from croupier.client import INVITED, Client, open_seat
from tests.support.manual_clock import ManualClock
from tests.support.refusals import refused

KEYS = {"studio": "key-of-the-studio", "other": "key-of-another"}
OPERATOR = "operator-" * 5
GAME = "skystones"  # Of a match, if another does as well.


class House:
    """Servers of one log, and clients, each of the next server."""

    def __init__(self, servers, stores, start):
        self.servers, self.stores, self.clock = servers, stores, ManualClock()
        digests = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
        # How long a call takes is a matter of the machine.
        free = 'processor_milliseconds_per_second = "unlimited"\n'
        callers = "".join(
            f'[keys.{name}]\nsha256 = "{digest}"\nnames_players = true\n'
            f"[keys.{name}.budgets]\n{free}"
            for name, digest in digests.items()
        )
        callers += "".join(f"[budgets.{each}]\n{free}" for each in ("person", "address"))
        options = {"callers": callers, "operator": OPERATOR, "search_threads": 1}
        started = [start(store, self.clock, **options)[1] for store in stores]
        self._addresses = [each.address for each in started]
        self._clients = []

    def client(self, player="", key="studio"):
        """A client of the next server: of a key and its player, or of nobody."""
        address = self._addresses[len(self._clients) % len(self._addresses)]
        self._clients.append(Client(address, api_key=KEYS.get(key, ""), player=player, patience=0))
        return self._clients[-1]

    def pass_time(self, milliseconds):
        """Lets the clock of all servers go on; returns what it shows then."""
        self.servers.loop.call_soon_threadsafe(self.clock.advance, milliseconds)
        self.servers.run(self._turn())
        return datetime.datetime.fromtimestamp(self.clock.now() / 1000, datetime.UTC)

    async def _turn(self):
        pass

    def close(self):
        """Ends the clients."""
        for each in self._clients:
            each.close()


def refusal(call, *arguments, **fields):
    """The reason for which a call is refused."""
    return refused(call, *arguments, **fields).reason


def two(house, game=GAME, **fields):
    """The seats of two accounts, each with a client of its own, and their spectator."""
    ann, bob = house.client("ann"), house.client("bob")
    match = ann.create_match(game, (open_seat("Ann"), INVITED), **fields)
    joined = bob.join(match.invitations[1], display_name="Bob")
    return [match.seats[0], joined.seats[1]], joined.spectator


def decide(seats, seat=None):
    """Lets a seat decide that must; returns which."""
    deciders = seats[0].view().deciders
    seat = deciders[0] if seat is None else seat
    seats[seat].submit(seats[seat].view().legal_actions[0])
    return seat


def names(listed):
    """The names in a list, in its order."""
    return [each.name for each in listed]
