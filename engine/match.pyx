"""A hosted match, which draws its chance from a secret and holds back simultaneous decisions."""

import hashlib

from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memset

from engine.chance cimport Rng, rng_seed
from engine.events cimport EventLog, read_log
from engine.faults cimport raise_fault
from engine.game cimport (
    CARD_TYPES, MAX_PLACES, SEATS, STATE_BYTES, Action, Cards, Game, State,
)
from engine.integers cimport uint8_t
from engine.position cimport Position

from engine.errors import ActionError, RulesFault

TAPE_BYTES = 136           # One block of SHAKE-256. A longer tape begins with the same bytes.


cdef bint shows(Game game, const State* before, const State* after) except -1:
    # Whether a card that was at a hidden place, as a seat names them, is at none any more. A game
    # that names none may have shown anything.
    cdef Cards[MAX_PLACES] was, now
    cdef int seat, card, place, places = len(game.hidden_places), gone
    if not places:
        return True
    for seat in range(SEATS):
        memset(was, 0, sizeof(was))
        memset(now, 0, sizeof(now))
        game.hidden(before, seat, was)
        game.hidden(after, seat, now)
        try:
            raise_fault()
        except RulesFault:
            return True            # An action that the rules allow is worth more.
        for card in range(CARD_TYPES):
            gone = 0
            for place in range(places):
                gone += was[place][card] - now[place][card]
            if gone > 0:
                return True
    return False


cdef class Match:
    """A position with a version, secret chance and simultaneous decisions that are held back.

    SHAKE-256 expands all chance from `secret` (32 bytes), domain-separated by the match's id and
    the version, and it is drawn without modulo bias. So a match is a function of its ruleset, id,
    secret and actions, and nobody can compute hidden cards from the cards that they see.
    """

    cdef readonly Game game
    cdef readonly bytes secret
    cdef readonly str match_id
    cdef readonly Position position
    cdef readonly int version
    cdef readonly list since      # By seat: see `apply`.
    cdef readonly dict held       # The held actions, by seat.
    cdef readonly list events     # Those of the deal; empty in a match that was copied or loaded.
    # Whether what was applied last has drawn chance, or told a seat more than its own decision.
    cdef readonly bint revealed

    def __init__(
        self, Game game not None, bytes secret not None, str match_id="", int version=0,
        Position start=None
    ):
        """Deals at this version and keeps the events of the deal. `secret` has 32 bytes.

        Instead of dealing, a match that is played on from a position, `start`, draws the order that
        no seat has seen anew.
        """
        if len(secret) != 32:
            raise ValueError("the secret of a match has 32 bytes")
        self.game = game
        self.secret = secret
        self.match_id = match_id
        self.position = Position(game) if start is None else start
        self.version = version
        self.since = [version, version]
        self.held = {}
        self.events = self.draw(None, version, start is None)

    cdef list draw(self, joint, int version, bint deals=False):
        # Deals, begins to play on, or applies a joint action, on a copy. If the tape runs out, this
        # starts again with a longer one, whose first draws are the same. The first tape is empty,
        # because most decisions draw nothing. If it raises an error, the match is as it was.
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
            if deals:
                self.game.deal(&after.state, &rng, &log)
            elif joint is None:
                self.game.shuffle_unseen(&after.state, &rng)
            else:
                for seat in range(SEATS):
                    both[seat] = joint.get(seat, 0)
                self.game.apply(&after.state, both, &rng, &log)
            raise_fault()
            if not rng.tape_ran_out:
                break
            if source is None:
                domain = b"croupier/chance/v1\0" + self.match_id.encode() + b"\0"
                source = hashlib.shake_256(domain + version.to_bytes(8, "big") + self.secret)
            tape = source.digest(8 * len(tape) or TAPE_BYTES)
        events = read_log(self.game.event_kinds, &log)
        self.revealed = (
            source is not None
            or any([event.tells(seat) for event in events for seat in range(SEATS)])
            or shows(self.game, &self.position.state, &after.state))
        self.position = after
        return events

    @property
    def secret_hash(self):
        """The SHA-256 of the secret, published before the first action."""
        return hashlib.sha256(self.secret).digest()

    @property
    def deciders(self):
        """The seats that owe a decision, ascending; empty when the match is over."""
        owed = self.position.deciders
        return tuple([seat for seat in owed if seat not in self.held]) if self.held else owed

    @property
    def over(self):
        """Whether the match is over."""
        return self.position.over

    @property
    def scores(self):
        """The scores of both seats, from 0 to 1 with a sum of 1; None before the end."""
        return self.position.scores

    def legal(self, int seat):
        """The legal actions of a seat, ascending; empty if it owes no decision."""
        return () if seat in self.held else self.position.legal(seat)

    def view(self, int viewer):
        """The view of seat 0, seat 1 or SPECTATOR. It does not show a decision that is held."""
        return self.position.view(viewer)

    def apply(self, int seat, action):
        """Applies one seat's action and returns the events.

        Raises ActionError if the action is not legal now, and RulesFault if the rules fail. The
        match is then as it was. If the other seat decides at the same time and has not decided yet,
        the match holds the action and nothing happens yet. `since[seat]` is the version since which
        the seat's view has not changed, so an action sent for any version from there on answers the
        present view.
        """
        if seat in self.held:
            raise ActionError("seat", f"seat {seat} has decided already")
        self.position.check(seat, action)
        joint = {**self.held, seat: action}
        if len(joint) < len(self.position.deciders):
            self.version += 1
            self.held = joint
            self.revealed = False
            self.since[seat] = self.version
            return []
        events = self.draw(joint, self.version + 1)
        self.version += 1
        self.held = {}
        self.since = [self.version, self.version]
        return events

    def copy(self):
        """An independent copy."""
        cdef Match other = Match.__new__(Match)
        other.game = self.game
        other.secret = self.secret
        other.match_id = self.match_id
        other.position = self.position  # Shared, because `draw` replaces it and never changes it.
        other.version = self.version
        other.since = list(self.since)
        other.held = dict(self.held)
        other.events = []
        return other

    def __bytes__(self):
        """The whole match without its game, for `from_bytes`."""
        head = [self.version, *self.since, *[self.held.get(seat, 0) for seat in range(SEATS)]]
        return (b"".join(n.to_bytes(8, "big") for n in head) + self.secret + bytes(self.position)
                + self.match_id.encode())

    @staticmethod
    def from_bytes(Game game not None, bytes data not None):
        """The match that `bytes()` turned into `data`, which is trusted."""
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
