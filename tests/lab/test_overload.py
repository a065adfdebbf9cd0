"""The attacks of the overload test, for a moment: the attacker is refused, the others are answered.

How long the others wait is for `make overload` to measure.
"""

import asyncio
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest

from cli import load_players
from lab.overload import attacks
from lab.overload import others as others_module
from lab.overload.attacks import ATTACKS, attack
from lab.overload.others import SUBMIT, Others
from lab.overload.places import places, write_callers_file
from service.admission.budgets import Budget
from service.admission.callers_file import DEFAULT_ADDRESS
from service.gateway.listener import WebOptions
from tests.support.long_form import LONG_FORM
from tests.support.waiting import FOREVER

SECONDS = 0.3  # An attack is repeated, for twice as long, until it has been refused.
# Of the budgets: attacker, others and server share a process here, so it attacks slowly. The others
# have the budgets of an address, too, and need more of them than one key.
SHARES = {"key": 0.1, "address": 0.4}
WATCHERS = 200
THINK_SECONDS = 0.3
MEASURED_SECONDS = 0.1
SEED = 20261123

# What the attacker is refused for, one of these at least; nothing where its calls cost the others
# too little to refuse.
REFUSED = {
    "nothing": set(),
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
    "unread_responses": set(),
    "unsent_requests": set(),
    "partial_requests": set(),
    "unread_reviews": set(),
    "unknown_methods": {"calls_per_second"},
    "feeds": {"calls_per_second"},
    "reflections": {"RESOURCE_EXHAUSTED"},
    "wide_requests": {"calls_per_second"},
    "compressed_requests": set(),
    "bad_hosts": set(),  # They count by address: see below.
    "pipelined_requests": set(),
    "bombs": {"429"},
    "aborted_uploads": set(),
    "upgrades": {"429"},
    "held_back": {"429"},
    "waiting_views": set(),
}


ALL = [
    *((name, "key") for name in ATTACKS),
    *((name, "address") for name in ("calls", "bot_matches", "bad_hosts")),
]
# Calls, searches, a stream, a connection without a client of gRPC, and the door for browsers.
BY_KEY = ("endless_hints", "reflections", "unread_streams", "wide_requests", "held_back")
FEW = [("bot_matches", "address"), ("bad_hosts", "address"), *((name, "key") for name in BY_KEY)]


@pytest.fixture
def addresses(servers, tmp_path, by):
    path = tmp_path / "callers.toml"
    write_callers_file(path, by, SHARES[by])
    # However much time calls take on a busy machine, the first calls of an attack must be answered,
    # and all calls of others by their address.
    limit = DEFAULT_ADDRESS[Budget.PROCESSOR] if by == "key" else '"unlimited"'
    whole = f"{Budget.PROCESSOR} = {limit}"
    path.write_text(re.sub(rf"^{Budget.PROCESSOR} = \d.*$", whole, path.read_text(), flags=re.M))
    server, address = servers.start(callers_file=path, search_threads=2, web=WebOptions(port=0))
    yield address, urlsplit(server.web_url).netloc
    servers.stop(server)


def test_every_attack_is_expected_to_be_refused_or_not():
    assert set(REFUSED) == set(ATTACKS)


@pytest.mark.parametrize(("name", "by"), ALL if LONG_FORM else FEW)
def test_the_attacker_is_refused_and_the_others_play_on(name, addresses, by, monkeypatch):
    monkeypatch.setattr(attacks, "WATCHERS", WATCHERS)
    monkeypatch.setattr(others_module, "THINK_SECONDS", THINK_SECONDS)
    monkeypatch.setattr(load_players, "CALL_SECONDS", FOREVER)
    attacker, others_place = places(by)
    address, web = addresses

    refused = {"429"} if (name, by) == ("bad_hosts", "address") else REFUSED[name]
    refused = refused and refused | {Budget.PROCESSOR}

    async def attacked():
        others = Others(others_place, SEED)
        outcomes, failed = Counter(), Counter()
        seconds = SECONDS

        async def play_until(reached):
            played = 0
            while not (played and reached()):
                for kind, found in (await others.measure(MEASURED_SECONDS)).items():
                    played += len(found.taken) if kind == SUBMIT else 0
                    failed[kind] += found.failed

        await others.start(address)
        try:
            await play_until(lambda: True)
            while not outcomes or (refused and not refused & set(outcomes)):
                attacking = asyncio.create_task(
                    asyncio.to_thread(attack, name, address, attacker, seconds, web)
                )
                await play_until(attacking.done)
                outcomes.update(await attacking)
                seconds *= 2
        finally:
            await others.close()
        return outcomes, failed

    outcomes, failed = asyncio.run(attacked())
    # A client of grpcio that cannot send its next request says INTERNAL itself.
    errors = {"UNKNOWN", "500"} if name == "reflections" else {"INTERNAL", "UNKNOWN", "500"}
    assert not errors & set(outcomes), outcomes
    assert not failed.total(), failed
