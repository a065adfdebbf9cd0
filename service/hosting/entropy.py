"""Entropy from the seats: what they contribute to the chance of a match before it is dealt.

This is a commit-and-reveal protocol. The server has published the hash of its secret; the open
seats publish hashes too, and when all hashes are there, each seat reveals what it has hashed. So no
seat can choose its contribution in knowledge of the others'.
"""

import hashlib
from collections.abc import Mapping, Sequence

from croupier.v1 import game_pb2
from croupier.v1.error_pb2 import ErrorReason
from service.store import Entry
from wire.errors import Refusal, invalid_field

_DOMAIN = b"croupier/entropy/v1\0"


class Contributions:
    """The contributions of the open seats of a match. An object never changes."""

    def __init__(
        self,
        seats: Sequence[int],
        hashes: Mapping[int, bytes] | None = None,
        entropy: Mapping[int, bytes] | None = None,
    ) -> None:
        self._seats = seats
        self._hashes = dict(hashes or {})
        self._entropy = dict(entropy or {})

    @property
    def complete(self) -> bool:
        """Whether the match can be dealt."""
        return len(self._entropy) == len(self._seats)

    @property
    def owed(self) -> game_pb2.EntropyOwed:
        """What is missing."""
        hashes = [seat for seat in self._seats if seat not in self._hashes]
        entropy = [seat for seat in self._seats if seat not in self._entropy]
        return game_pb2.EntropyOwed(hash_seats=hashes, entropy_seats=entropy)

    def after_hash(self, entry: Entry) -> "Contributions":
        """With the hash of a seat; raises Refusal unless the seat owes it."""
        if entry.seat not in self.owed.hash_seats:
            raise not_owed(f"seat {entry.seat} owes no hash of entropy")
        hashes = {**self._hashes, entry.seat: entry.action}
        return Contributions(self._seats, hashes, self._entropy)

    def after_entropy(self, entry: Entry) -> "Contributions":
        """With the entropy of a seat; raises Refusal unless it is owed and fits its hash."""
        seat, owed = entry.seat, self.owed
        if owed.hash_seats:
            raise not_owed("the hashes of all open seats come first")
        if seat not in owed.entropy_seats:
            raise not_owed(f"seat {seat} owes no entropy")
        if hashlib.sha256(entry.action).digest() != self._hashes[seat]:
            raise invalid_field(
                "entropy", "HASH_MISMATCH", "must have the hash that the seat has contributed"
            )
        return Contributions(self._seats, self._hashes, {**self._entropy, seat: entry.action})

    def mixed_into(self, secret: bytes) -> bytes:
        """The 32 bytes from which all chance of the match is drawn in place of its secret."""
        mixed = hashlib.shake_256(_DOMAIN + secret)
        for seat, entropy in sorted(self._entropy.items()):
            mixed.update(bytes([seat, len(entropy)]) + entropy)
        return mixed.digest(32)


def not_owed(why: str) -> Refusal:
    """The refusal of a contribution that a seat cannot make now."""
    return Refusal(ErrorReason.ERROR_REASON_ENTROPY_NOT_OWED, why)
