"""Identification: whom a call is counted for, and who can pass for somebody else."""

import hashlib
import ipaddress

import pytest

from service.admission.callers_file import Callers, Key
from service.admission.identification import MAX_PLAYER_ID, Identification
from service.common.call import Call, Kind, Principal
from wire.errors import Refusal

STUDIO, PLAIN = "the studio's key", "another key"
KEYS = {
    hashlib.sha256(STUDIO.encode()).hexdigest(): Key("studio", True, {}),
    hashlib.sha256(PLAIN.encode()).hexdigest(): Key("plain", False, {}),
}
PROXY = ipaddress.ip_network("10.1.0.0/16")
CALLERS = Callers(keys=KEYS, trusted_proxies=(PROXY,), loopback_is_limited=True)
PEER = "ipv4:192.0.2.1:40000"
SEAT = ("authorization", "Bearer seat")


def seat_of(authorization):
    return "one/0" if authorization == SEAT[1] else None


def identify(*metadata, peer=PEER, callers=CALLERS):
    identification = Identification(callers, None)
    identification.seat_of = seat_of
    return identification.identify(Call("", "grpc", metadata, peer))


def address(name):
    return Principal(Kind.ADDRESS, name)


def test_a_caller_that_nobody_knows_is_its_address():
    assert identify() == (address("192.0.2.1"), (address("192.0.2.1"),))


def test_a_seat_uses_its_own_budget_and_that_of_its_address():
    seat = Principal(Kind.SEAT, "one/0")
    assert identify(SEAT) == (seat, (seat, address("192.0.2.1")))


def test_a_token_that_is_no_seats_leaves_the_address():
    assert identify(("authorization", "Bearer made up"))[0] == address("192.0.2.1")


def test_a_key_comes_before_seat_and_address():
    key = Principal(Kind.KEY, "studio")
    assert identify(SEAT, ("x-api-key", STUDIO)) == (key, (key,))


def test_a_front_end_names_its_players_if_it_may():
    player, key = Principal(Kind.PLAYER, "studio/ann"), Principal(Kind.KEY, "studio")
    assert identify(("x-api-key", STUDIO), ("x-player-id", "ann")) == (player, (player, key))
    plain = Principal(Kind.KEY, "plain")
    assert identify(("x-api-key", PLAIN), ("x-player-id", "ann")) == (plain, (plain,))
    # Without a key nobody is believed.
    assert identify(("x-player-id", "ann"))[0] == address("192.0.2.1")


@pytest.mark.parametrize("sent", ["", "guessed", STUDIO.upper(), next(iter(KEYS))])
def test_a_wrong_key_is_refused(sent):
    with pytest.raises(Refusal, match="knows no such API key"):
        identify(("x-api-key", sent))


def test_a_name_that_is_too_long_is_refused():
    with pytest.raises(Refusal, match="x-player-id"):
        identify(("x-api-key", STUDIO), ("x-player-id", "a" * (MAX_PLAYER_ID + 1)))


@pytest.mark.parametrize(
    ("forwarded", "origin"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("203.0.113.9, 198.51.100.7", "198.51.100.7"),  # The first one is made up.
        ("198.51.100.7, 10.1.2.3", "198.51.100.7"),  # Two proxies.
        ("198.51.100.7:1234", "198.51.100.7"),
        ("[2001:db8::1]:1234", "2001:db8::/64"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("", "10.1.0.1"),
        ("unknown", "10.1.0.1"),
        ("10.1.2.3", "10.1.2.3"),
    ],
)
def test_a_trusted_proxy_says_where_a_call_comes_from(forwarded, origin):
    header = ("x-forwarded-for", forwarded)
    assert identify(header, peer="ipv4:10.1.0.1:555")[0] == address(origin)


def test_others_are_not_believed():
    assert identify(("x-forwarded-for", "198.51.100.7"))[0] == address("192.0.2.1")


def test_addresses_of_one_household_are_one():
    for peer in ("ipv6:%5B2001:db8::1%5D:1", "ipv6:[2001:db8::ffff:2]:2"):
        assert identify(peer=peer)[0] == address("2001:db8::/64")
    assert identify(peer="ipv6:%5B2001:db8:0:1::1%5D:1")[0] == address("2001:db8:0:1::/64")


@pytest.mark.parametrize(
    "peer", ["ipv4:127.0.0.1:1", "ipv4:127.0.0.9:1", "ipv6:%5B::1%5D:1", "unix:"]
)
def test_callers_of_this_machine_have_no_limits_without_a_callers_file(peer):
    principal, payers = identify(SEAT, peer=peer, callers=Callers())
    assert principal == Principal(Kind.SEAT, "one/0")
    assert payers == ()
    assert identify(SEAT, peer=peer)[1] != ()
    assert identify(SEAT, callers=Callers())[1] != ()


def test_a_call_can_be_restricted_to_keys():
    identification = Identification(CALLERS._replace(require_key=frozenset({"create_match"})), None)
    identification.check_restriction("hint_without_match", address("192.0.2.1"))
    for kind in (Kind.KEY, Kind.PLAYER, Kind.SUBJECT):
        identification.check_restriction("create_match", Principal(kind, "x"))
    for kind in (Kind.SEAT, Kind.ADDRESS):
        with pytest.raises(Refusal, match="x-api-key"):
            identification.check_restriction("create_match", Principal(kind, "x"))
