"""A hosted match: its chance comes from a secret, and simultaneous decisions are held back."""

import hashlib

from cpython.bytes cimport PyBytes_AS_STRING

from engine.chance cimport Rng, rng_seed
from engine.events cimport EventLog, read_log
from engine.game cimport SEATS, STATE_BYTES, Action, Game
from engine.integers cimport uint8_t
from engine.position cimport Position

from engine.errors import ActionError

TAPE_BYTES = 136           # What SHAKE-256 gives at a time; a longer tape begins with the same.


cdef class Match:
    """A position that is hosted: secret chance, simultaneous decisions held back, versions.

    All chance is expanded from `secret` (32 bytes) by SHAKE-256, domain-separated by the match's id
    and the version, and drawn without modulo bias, so a match is a function of its ruleset, id,
    secret and actions, and nobody can compute cards from cards.
    """

    cdef readonly Game game
    cdef readonly bytes secret
    cdef readonly str match_id
    cdef readonly Position position
    cdef readonly int version
    cdef readonly list since      # By seat.
    cdef readonly dict held       # Action by seat.
    cdef readonly list events

    def __init__(
        self, Game game not None, bytes secret not None, str match_id="", int version=0
    ):
        """Deals, at a version; `events` then holds what happened. `secret` has 32 bytes."""
        if len(secret) != 32:
            raise ValueError("the secret of a match has 32 bytes")
        self.game = game
        self.secret = secret
        self.match_id = match_id
        self.position = Position(game)
        self.version = version
        self.since = [version, version]
        self.held = {}
        self.events = self.draw(None)

    cdef list draw(self, joint):
        # Deals, or applies a joint action, on a copy; a tape that ran out is made longer, which
        # changes nothing of what was drawn from it before. Most decisions draw nothing at all.
        cdef Position after
        cdef Rng rng
        cdef EventLog log
        cdef Action both[SEATS]
        cdef bytes tape = b""
        source = None
        while True:
            after = self.position.copy()
            rng_seed(&rng, 0)
            rng.tape = <const uint8_t*> PyBytes_AS_STRING(tape)
            rng.tape_left = len(tape)
            log.used = 0
            log.overflowed = False
            if joint is None:
                self.game.deal(&after.state, &rng, &log)
            else:
                for seat in range(SEATS):
                    both[seat] = joint.get(seat, 0)
                self.game.apply(&after.state, both, &rng, &log)
            if not rng.tape_ran_out:
                break
            if source is None:
                domain = b"croupier/chance/v1\0" + self.match_id.encode() + b"\0"
                source = hashlib.shake_256(domain + self.version.to_bytes(8, "big") + self.secret)
            tape = source.digest(8 * len(tape) or TAPE_BYTES)
        events = read_log(self.game.event_kinds, &log)
        self.position = after
        return events

    @property
    def secret_hash(self):
        """SHA-256 of the secret, to be published before the first action."""
        return hashlib.sha256(self.secret).digest()

    @property
    def deciders(self):
        """The seats that owe a decision, ascending; none when it is over."""
        owed = self.position.deciders
        return tuple([seat for seat in owed if seat not in self.held]) if self.held else owed

    @property
    def over(self):
        """Whether it is over."""
        return self.position.over

    @property
    def scores(self):
        """The score of each seat when it is over, 0 to 1, adding up to 1; None before."""
        return self.position.scores

    def legal(self, int seat):
        """The legal actions of a seat that owes a decision, ascending."""
        return () if seat in self.held else self.position.legal(seat)

    def view(self, int viewer):
        """What seat 0 or 1, or SPECTATOR, knows. A decision that is held back does not show."""
        return self.position.view(viewer)

    def apply(self, int seat, action):
        """Applies one seat's action and returns what happened; raises ActionError, unchanged.

        Where the other seat decides at the same time and has not, the action is held and nothing
        happens yet. `since[seat]` is the version from which the seat's view has been as it is: an
        answer to any version from there on is an answer to what the seat sees now.
        """
        if seat in self.held:
            raise ActionError("seat", f"seat {seat} has decided already")
        self.position.check(seat, action)
        joint = {**self.held, seat: action}
        self.version += 1
        if len(joint) < len(self.position.deciders):
            self.held = joint
            self.since[seat] = self.version
            return []
        events = self.draw(joint)
        self.held = {}
        self.since = [self.version, self.version]
        return events

    def copy(self):
        """A copy that goes its own way."""
        cdef Match other = Match.__new__(Match)
        other.game = self.game
        other.secret = self.secret
        other.match_id = self.match_id
        other.position = self.position  # Never changed: a decision puts another in its place.
        other.version = self.version
        other.since = list(self.since)
        other.held = dict(self.held)
        other.events = []
        return other

    def __bytes__(self):
        """The whole match but for its game: for `from_bytes`."""
        head = [self.version, *self.since, *[self.held.get(seat, 0) for seat in range(SEATS)]]
        return (b"".join(n.to_bytes(8, "big") for n in head) + self.secret + bytes(self.position)
                + self.match_id.encode())

    @staticmethod
    def from_bytes(Game game not None, bytes data not None):
        """A match out of what `bytes()` made of one; trusted."""
        cdef Match match = Match.__new__(Match)
        head = [int.from_bytes(data[8 * i:8 * i + 8], "big") for i in range(5)]
        match.game = game
        match.version = head[0]
        match.since = head[1:3]
        match.held = {seat: action for seat, action in enumerate(head[3:5]) if action}
        match.secret = data[40:72]
        match.position = Position.from_bytes(game, data[72:72 + STATE_BYTES])
        match.match_id = data[72 + STATE_BYTES:].decode()
        match.events = []
        return match

    def __eq__(self, other):
        return isinstance(other, Match) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))
