"""The course of a match: its log, played again by the engine, with clocks worked out anew."""

import hashlib

import wire
from croupier.v1 import clock_pb2, game_pb2
from engine.game import SPECTATOR
from engine.match import Match
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.store.chain import SALT_BYTES, first_digest
from tests.simulation import endings

TAKEBACK, PAUSE = game_pb2.OFFER_KIND_TAKEBACK, game_pb2.OFFER_KIND_PAUSE
WEEK = 7 * 24 * 3600 * 1000  # Milliseconds.
MOST_OFFERS = 100


def courses(stored):
    """The course at each version, the entry that has made it, if one has, and its events.

    It is one object, which goes on.
    """
    course = Course(stored.header)
    yield course, None, () if course.match is None else tuple(course.match.events)
    for entry in stored.entries:
        yield course, entry, course.add(entry)


def course_of(stored, versions=None):
    """The course after so many versions, or after all."""
    course = Course(stored.header)
    for entry in stored.entries[:versions]:
        course.add(entry)
    return course


def etag_at(stored, version):
    """What tells a version from any other of its number; None if the log does not have it."""
    if version > len(stored.entries):
        return None
    digest = stored.entries[version - 1].digest if version else first_digest(stored.header)
    return hashlib.blake2b(digest, digest_size=8, key=stored.header.secret).hexdigest()


class Course:
    """A match after some of its entries."""

    def __init__(self, header):
        begun = MatchState.begin(header)
        self.header, self.game, self._start = header, begun.game, begun.start
        self.version, self.time = 0, header.created
        self.joined, self.hashes, self.entropy = set(), {}, {}
        self.generations = [0, 0]  # Of the tokens of its seats.
        self.decided = set()  # The seats that have, also where it was taken back.
        # By seat: the names of the API key and of the player.
        self.names = list(zip(header.key_names, header.display_names, strict=True))
        self.match = None
        self.over = False
        self.early = None  # The reason and the scores of an end that the rules did not bring.
        self.late = []  # The seats that have lost by their time.
        self.played = [0, 0]  # Default actions in a row.
        control = clock_pb2.TimeControl.FromString(header.time_control)
        self.control = control if header.time_control else None
        limit = control.per_match.ToMilliseconds() if control.HasField("per_match") else None
        self.left = [limit, limit]
        self.since = [header.created, header.created]
        self._known = [None, None]
        self.offer = None  # The seat, the kind and the version of the one that is open.
        self.asked, self.offers = set(), [0, 0]
        self.paused, self.takebacks = None, 0
        # By seat: the version, the match and since when each seat had owed a decision before its
        # last one, if that can be taken back; how many each has made since, and how long its first
        # took.
        self._back = [None, None]
        self._happened = ()
        open_seats = [seat for seat in (0, 1) if not header.bots[seat]]
        self._contributors = open_seats if header.entropy_from_seats else []
        if not header.invited and not self._contributors:
            self._deal(header.secret)
            self._known = list(self.match.since)

    def _deal(self, secret):
        version = self.version - sum(self.generations)
        self.match = Match(self.game, secret, self.header.chance_id, version, self._start)

    @property
    def deciders(self):
        """The seats that owe a decision."""
        waits = self.over or self.match is None or self.paused is not None
        return () if waits else self.match.deciders

    @property
    def pause_end(self):
        """When a pause is over."""
        return None if self.paused is None else self.paused + WEEK

    def may_offer(self, seat, kind):
        """Whether a seat may offer something now."""
        busy = self.over or self.match is None or self.paused is not None or self.offer is not None
        busy = busy or kind in self.header.forbidden_offers
        if busy or (seat, kind) in self.asked or self.offers[seat] >= MOST_OFFERS:
            return False
        return self.control is not None if kind == PAUSE else self._back[seat] is not None

    def back_to(self, seat):
        """The version to which the takeback of a seat leads."""
        return self._back[seat][0]

    def seed_of_bot(self, seat):
        """By which a bot searches now, which follows from the secret."""
        what = f"croupier/bot/v1\0{self.header.chance_id}\0{self.match.since[seat]}\0{seat}\0"
        drawn = hashlib.shake_256(what.encode() + self.header.secret).digest(32)
        return int.from_bytes(drawn, "big") % 2**64

    def owed(self, contributed):
        """The seats that have not contributed something yet."""
        return [seat for seat in self._contributors if seat not in contributed]

    def result(self):
        """How it has ended."""
        if self.early is not None:
            reason, scores = self.early
            return game_pb2.MatchResult(scores=scores, reason=reason)
        ending = wire.write_ending(self.match.view(SPECTATOR), self._happened)
        reason = game_pb2.END_REASON_RULES
        return game_pb2.MatchResult(scores=self.match.scores, reason=reason, ending=ending)

    def clocked(self):
        """The seats whose clocks run."""
        if self.control is None:
            return []
        return [seat for seat in self.deciders if not self.header.bots[seat]]

    def deadline(self, seat):
        """When the time of a seat is up."""
        limits = []
        if self.control.HasField("per_decision"):
            limits.append(self.control.per_decision.ToMilliseconds())
        if self.left[seat] is not None:
            limits.append(self.left[seat])
        return self.since[seat] + min(limits)

    def wrong(self, entry):
        """What is wrong with the next entry, in a word."""
        version = self.version + 1
        deadlines = {seat: self.deadline(seat) for seat in self.clocked()}
        first = min(deadlines.values(), default=None)
        if self.over:
            return f"version {version} comes after the end"
        if entry.kind == EntryKind.EXPIRY:
            if first is None or entry.at < first or deadlines.get(entry.seat) != first:
                return f"version {version} says that a time is up which is not"
        elif first is not None and entry.at >= first:
            return f"version {version} was made {entry.at - first} ms after a time was up"
        if self.paused is not None and (entry.at >= self.pause_end) != (
            entry.kind == EntryKind.RESUME and entry.action != b""
        ):
            return f"version {version} comes though a pause is over, or ends it too early"
        if entry.kind == EntryKind.RESUME and self.paused is None:
            return f"version {version} ends a pause in a match that goes on"
        if entry.kind == EntryKind.OFFER:
            kind, agreed = entry.action
            if not self.may_offer(entry.seat, kind) or agreed != bool(
                self.header.bots[1 - entry.seat]
            ):
                return f"version {version} is an offer that seat {entry.seat} may not make"
            if entry.expected_version != (self.back_to(entry.seat) if kind == TAKEBACK else 0):
                return f"version {version} offers to go back to another version"
        if entry.kind == EntryKind.ANSWER:
            kind, agreed = entry.action
            if (
                self.offer is None
                or kind != self.offer[1]
                or (agreed and self.offer[0] == entry.seat)
            ):
                return f"version {version} answers what nobody has offered"
            back = self.back_to(self.offer[0]) if agreed and kind == TAKEBACK else 0
            if entry.expected_version != back:
                return f"version {version} goes back to another version"
        if entry.kind == EntryKind.ACTION and entry.seat not in self.deciders:
            return f"version {version} is a decision of seat {entry.seat}, which owed none"
        hashed = self.hashes.get(entry.seat) == hashlib.sha256(entry.action).digest()
        if entry.kind == EntryKind.ENTROPY and not hashed:
            return f"version {version} has not the entropy that seat {entry.seat} has hashed"
        return ""

    def add(self, entry):
        """Plays an entry; returns the events of the engine."""
        header, events = self.header, ()
        self.early = self.early or endings.result_after(self, entry)
        if self.early is not None and self.early[0] == game_pb2.END_REASON_TIME:
            self.late = [seat for seat, score in enumerate(self.early[1]) if score < 1]
        self.version += 1
        self.time = entry.at
        if entry.kind == EntryKind.TOKEN:
            self.generations[entry.seat] += 1
        elif entry.kind == EntryKind.JOIN:
            self.joined.add(entry.seat)
            self.names[entry.seat] = entry.names[SALT_BYTES:].decode().partition("\0")[::2]
            if self.joined == set(header.invited) and not self._contributors:
                events = self._begin(header.secret)
        elif entry.kind == EntryKind.ENTROPY_HASH:
            self.hashes[entry.seat] = entry.action
        elif entry.kind == EntryKind.ENTROPY:
            self.entropy[entry.seat] = entry.action
            if set(self.entropy) == set(self._contributors):
                mixed = hashlib.shake_256(b"croupier/entropy/v1\0" + header.secret)
                for seat, data in sorted(self.entropy.items()):
                    mixed.update(bytes([seat, len(data)]) + data)
                events = self._begin(mixed.digest(32))
        elif entry.kind in (EntryKind.ACTION, EntryKind.EXPIRY) and entry.action:
            number = wire.parse_action(self.game, entry.action)
            self.decided.add(entry.seat)
            here = self.version - 1, self.match.copy(), list(self.since), [0, 0], [None, None]
            took = entry.at - self.since[entry.seat]
            if self.left[entry.seat] is not None:
                used = entry.at - self.since[entry.seat]
                increment = self.control.increment.ToMilliseconds()
                self.left[entry.seat] = max(0, self.left[entry.seat] - used) + increment
            events = list(self.match.apply(entry.seat, number))
            self.offer, self.asked = None, set()
            if self.match.revealed or self.match.over or entry.kind == EntryKind.EXPIRY:
                self._back = [None, None]
            else:
                self._back[entry.seat] = here
                for back in filter(None, self._back):
                    back[3][entry.seat] += 1
                    if back[4][entry.seat] is None:
                        back[4][entry.seat] = took
            self._restart()
            default = entry.kind == EntryKind.EXPIRY
            self.played[entry.seat] = self.played[entry.seat] + 1 if default else 0
        elif entry.kind == EntryKind.OFFER:
            self.offer = entry.seat, entry.action[0], self.version
            self.asked.add(self.offer[:2])
            self.offers[entry.seat] += 1
            if entry.action[1]:
                self._come_about(entry)
        elif entry.kind == EntryKind.ANSWER:
            if entry.action[1]:
                self._come_about(entry)
            self.offer = None
        elif entry.kind == EntryKind.RESUME:
            self.since = [since + self.time - self.paused for since in self.since]
            self.paused, self._back = None, [None, None]
        if self.early is not None:
            self._back = [None, None]
        ended = self.match is not None and self.match.over
        self.over = self.over or self.early is not None or ended
        self._happened = events
        return events

    def _come_about(self, entry):
        (seat, kind, _), self.offer = self.offer, None
        if kind == PAUSE:
            self.paused = self.time
            return
        _, match, since, made, took = self._back[seat]
        # What was used stays used, and no increment is kept.
        for each in (0, 1):
            owed = each in match.deciders
            spent = (took[each] if made[each] else self.time - since[each]) if owed else 0
            if self.left[each] is not None:
                owes = each in self.match.deciders
                now = max(0, self.left[each] - (self.time - self.since[each] if owes else 0))
                increment = self.control.increment.ToMilliseconds()
                self.left[each] = max(0, now - increment * made[each]) + spent
            self.since[each] = self.time - spent
        self.match = match.copy()
        self._known = list(match.since)
        self._back = [None, None]
        self.takebacks += 1

    def _begin(self, secret):
        self._deal(secret)
        self._restart()
        return list(self.match.events)

    def _restart(self):
        for seat in (0, 1):
            if self.match.since[seat] != self._known[seat]:
                self._known[seat] = self.match.since[seat]
                self.since[seat] = self.time
