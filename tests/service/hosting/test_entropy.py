"""Entropy from the seats: when each seat owes it, and its effect on the chance of the match."""

import hashlib

import pytest

import wire
from croupier.client import Client, CroupierError, bot
from engine.match import Match
from service.hosting.entries import EntryKind
from service.store import Entry
from tests.support.random_matches import begin
from tests.support.serving import ruleset_of


@pytest.fixture
def address(shared_server):
    return shared_server[1]


def refusal(call, *arguments, **more):
    with pytest.raises(CroupierError) as caught:
        call(*arguments, **more)
    return caught.value.reason


def hash_of(data):
    return hashlib.sha256(data).digest()


def test_no_entropy_is_accepted_before_all_hashes(address):
    with Client(address) as client:
        match = client.create_match("skystones", entropy_from_seats=True)
        zero, one = match.seats[0], match.seats[1]
        share, other = b"a" * 32, b"b" * 32
        assert refusal(zero._contribute, entropy=share) == "ENTROPY_NOT_OWED"
        first = zero._contribute(entropy_hash=hash_of(share))
        assert first.entropy_owed.hash_seats == [1]
        assert zero._contribute(entropy_hash=hash_of(share)) == first
        assert refusal(zero._contribute, entropy_hash=hash_of(other)) == "ENTROPY_NOT_OWED"
        assert refusal(zero._contribute, entropy=share) == "ENTROPY_NOT_OWED"
        # Before the deal there is nothing to see, to decide or to analyze.
        assert first.WhichOneof("game") is None
        assert not first.deciders and not first.legal_actions
        assert refusal(zero.suggest, iterations=5) == "NOT_TO_DECIDE"
        assert refusal(zero.record) == "MATCH_NOT_OVER"
        one._contribute(entropy_hash=hash_of(other))
        assert refusal(zero._contribute, entropy=other) == "INVALID_FIELD"
        shown = zero._contribute(entropy=share)
        assert shown.entropy_owed.entropy_seats == [1]
        assert zero._contribute(entropy=share) == shown
        dealt = one._contribute(entropy=other)
        assert dealt.WhichOneof("game") == "skystones"
        assert one._contribute(entropy=other) == one.view()
        assert refusal(one._contribute, entropy=share) == "ENTROPY_NOT_OWED"


def test_entropy_requests_that_are_refused(shared_server):
    with Client(shared_server[1]) as client:
        for more in ({"seed": 1}, {"seats": (bot("random"), bot("random"))}):
            refused = refusal(client.create_match, "skystones", entropy_from_seats=True, **more)
            assert refused == "INVALID_FIELD"
        plain = client.create_match("skystones")
        assert refusal(plain.seats[0]._contribute, entropy_hash=bytes(32)) == "ENTROPY_NOT_OWED"
        for wrong in (
            {"entropy_hash": bytes(31)},
            {"entropy": bytes(15)},
            {"entropy": bytes(65)},
            {},
        ):
            assert refusal(plain.seats[0]._contribute, **wrong) == "INVALID_FIELD"


def test_the_chance_is_drawn_as_the_documentation_says():
    secret, shares = bytes(range(32)), (b"x" * 16, b"y" * 64)
    state = begin("skystones", secret=secret, created=0, entropy_from_seats=True)
    for seat, share in enumerate(shares):
        state = state.after(Entry(EntryKind.ENTROPY_HASH, seat, 0, hash_of(share)))
    for seat, share in enumerate(shares):
        state = state.after(Entry(EntryKind.ENTROPY, seat, 0, share))
    mixed = b"croupier/entropy/v1\0" + secret
    for seat, share in enumerate(shares):
        mixed += bytes([seat, len(share)]) + share
    game = wire.read_ruleset(ruleset_of("skystones"), "ruleset")
    assert state.match == Match(game, hashlib.shake_256(mixed).digest(32), "one", 4)
    assert state.match.version == state.version == 4
    assert state.match.position != Match(game, state.match.secret, "one").position
