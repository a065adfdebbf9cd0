"""The attacks of a siege, for a moment: the attacker is refused, and the others are answered.

How long the others wait is for `make siege` to measure.
"""

import asyncio
from urllib.parse import urlsplit

import pytest

from lab.siege import attacks
from lab.siege import others as others_module
from lab.siege.attacks import ATTACKS, attack
from lab.siege.others import BOT, HINT, SUBMIT, Others
from lab.siege.places import places, write_callers_file
from service.gateway.listener import WebOptions

SECONDS = 1.0
# Of the budgets: attacker, others and server share a process here, so it attacks slowly. The others
# have the budgets of an address, too, and need more of them than one key.
SHARES = {"key": 0.1, "address": 0.4}
WATCHERS = 200
THINK_SECONDS = 0.6
SEED = 20261123

# What the attacker is refused for, one of these at least; nothing where its calls cost the others
# too little to refuse.
REFUSED = {
    "self_playing_matches": {"live_matches", "matches_per_hour"},
    "long_hints": set(),
    "endless_hints": set(),
    "many_hints": {"searches_per_second", "calls_per_second"},
    "large_beliefs": {"searches_per_second"},
    "bot_matches": {"live_matches", "matches_per_hour"},
    "large_creations": {"live_matches", "matches_per_hour", "ruleset_bytes_per_hour"},
    "silent_connections": set(),
    "stream_resets": set(),
    "watchers": {"streams", "calls_per_second"},
    "calls": {"calls_per_second"},
    "health_watchers": {"RESOURCE_EXHAUSTED"},
    "unread_streams": set(),
    "reflections": {"RESOURCE_EXHAUSTED"},
    "wide_requests": {"calls_per_second"},
    "compressed_requests": set(),
    "bad_hosts": set(),  # They count by address: see below.
    "pipelined_requests": set(),
    "bombs": {"429"},
    "aborted_uploads": set(),
    "upgrades": {"429"},
}


@pytest.fixture
def addresses(servers, tmp_path, by):
    path = tmp_path / "callers.toml"
    write_callers_file(path, by, SHARES[by])
    server, address = servers.start(callers_file=path, search_threads=2, web=WebOptions(port=0))
    yield address, urlsplit(server.web_url).netloc
    servers.stop(server)


def test_every_attack_is_expected_to_be_refused_or_not():
    assert set(REFUSED) == set(ATTACKS)


@pytest.mark.parametrize(
    ("name", "by"),
    [
        *((name, "key") for name in ATTACKS),
        *((name, "address") for name in ("calls", "bot_matches", "bad_hosts")),
    ],
)
def test_the_attacker_is_refused_and_the_others_play_on(name, addresses, by, monkeypatch):
    monkeypatch.setattr(attacks, "WATCHERS", WATCHERS)
    monkeypatch.setattr(others_module, "THINK_SECONDS", THINK_SECONDS)
    attacker, others_place = places(by)
    address, web = addresses

    async def besiege():
        others = Others(others_place, SEED)
        await others.start(address)
        try:
            attacking = asyncio.to_thread(attack, name, address, attacker, SECONDS, web)
            measuring = asyncio.create_task(others.measure(2 * SECONDS))
            return await attacking, await measuring
        finally:
            await others.close()

    outcomes, found = asyncio.run(besiege())
    refused = {"429"} if (name, by) == ("bad_hosts", "address") else REFUSED[name]
    if refused:
        assert (refused | {"processor_milliseconds_per_second"}) & set(outcomes), outcomes
    # A client of grpcio that cannot send its next request says INTERNAL itself.
    errors = {"UNKNOWN", "500"} if name == "reflections" else {"INTERNAL", "UNKNOWN", "500"}
    assert not errors & set(outcomes), outcomes
    for kind in (SUBMIT, BOT, HINT):
        assert found[kind].failed == 0, (kind, found[kind])
    assert found[SUBMIT].taken
