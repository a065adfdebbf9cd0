"""Matches through real proxies with TLS, whose servers are killed and stopped all the time."""

import os
import random
import time

import pytest

from tests.support.certificates import Authority
from tests.support.proxies import PROXIES, TlsProxy, missing
from tests.support.road import Road

MATCHES = int(os.environ.get("CROUPIER_PROXY_MATCHES", "8"))
SEED = os.environ.get("CROUPIER_SEED", "1")
AT_ONCE = min(MATCHES, 8)
SECONDS = 2.0  # Between two servers that end.


@pytest.fixture(params=PROXIES)
def proxy_name(request):
    how = missing(request.param)
    if how:
        pytest.skip(f"{request.param} is not installed: {how}")
    return request.param


def end_one(number, pair, road):
    """Kills a server, or shuts it down, and starts it again."""
    victim = pair[number // 2 % 2]
    if number % 2:
        assert victim.end() == 0
        road.count("servers stopped")
    else:
        victim.kill()
        road.count("servers killed")
    victim.start()
    victim.ready()


def test_no_match_fails_for_its_player_while_servers_die(proxy_name, replicas, postgres, tmp_path):
    store = ("--store", postgres.url(postgres.new_schema()))
    pair = [replicas(*store), replicas(*store)]
    for replica in pair:
        replica.ready()
    authority = Authority(tmp_path, "authority")
    addresses = [replica.address for replica in pair]
    rng = random.Random(SEED)
    began = time.monotonic()
    with TlsProxy(proxy_name, tmp_path, addresses, *authority.issue()) as proxy:
        road = Road(SEED, proxy.address, authority.cert, MATCHES, AT_ONCE)
        number = 0
        while not road.over:
            road.wait_actions(rng.randint(20, 200), SECONDS)
            end_one(number, pair, road)
            number += 1
        road.finish()
    assert road.figures["matches"] == MATCHES
    assert road.repeated, "the servers were not in use when they ended"
    figures = ", ".join(f"{count} {what}" for what, count in sorted(road.figures.items()))
    repeated = ", ".join(f"{count} {status}" for status, count in road.repeated.most_common())
    print(f"{proxy_name}, {time.monotonic() - began:.0f} s: {figures}")
    print(f"{proxy_name}, repeated calls and resumed streams by status: {repeated}")
