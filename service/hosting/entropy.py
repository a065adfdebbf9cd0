"""The entropy of the seats: what they contribute to the chance of a match before it is dealt.

The server has published the hash of its secret; the open seats publish hashes too, and when all are
there, they show what they have hashed. So nobody chooses his share when he knows those of others.
"""

import hashlib
from collections.abc import Mapping, Sequence

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import EntropyOwed
from service.errors import Refusal, invalid_field
from service.store import Entry, EntryKind

CONTRIBUTIONS = (EntryKind.ENTROPY_HASH, EntryKind.ENTROPY)

_DOMAIN = b"croupier/entropy/v1\0"


class Contributions:
    """What the open seats of a match have contributed. It never changes: `after` makes the next."""

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
    def owed(self) -> EntropyOwed:
        """What is missing."""
        hashes = [seat for seat in self._seats if seat not in self._hashes]
        entropy = [seat for seat in self._seats if seat not in self._entropy]
        return EntropyOwed(hash_seats=hashes, entropy_seats=entropy)

    def after(self, entry: Entry) -> "Contributions":
        """With one more; raises Refusal if it is not owed now."""
        seat, owed = entry.seat, self.owed
        if entry.kind == EntryKind.ENTROPY_HASH:
            if seat not in owed.hash_seats:
                raise not_owed(f"seat {seat} owes no hash of entropy")
            return Contributions(self._seats, {**self._hashes, seat: entry.action}, self._entropy)
        if owed.hash_seats:
            raise not_owed("the hashes of all open seats come first")
        if seat not in owed.entropy_seats:
            raise not_owed(f"seat {seat} owes no entropy")
        if hashlib.sha256(entry.action).digest() != self._hashes[seat]:
            raise invalid_field("entropy", "must have the hash that the seat has contributed")
        return Contributions(self._seats, self._hashes, {**self._entropy, seat: entry.action})

    def mixed_into(self, secret: bytes) -> bytes:
        """The 32 bytes from which all chance of the match is drawn in place of its secret."""
        mixed = hashlib.shake_256(_DOMAIN + secret)
        for seat, entropy in sorted(self._entropy.items()):
            mixed.update(bytes([seat, len(entropy)]) + entropy)
        return mixed.digest(32)


def not_owed(why: str) -> Refusal:
    """A contribution that a seat cannot make now."""
    return Refusal(ErrorReason.ERROR_REASON_ENTROPY_NOT_OWED, why)
