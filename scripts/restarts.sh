#!/bin/sh
# Stops servers in order while clients play: 20 times on each store, and two replicas in turn behind
# each proxy, under 64 players. TEST_STOPS and TEST_PLAYERS set other numbers. Arguments go to
# pytest.
set -eu
export PYTEST_TIMEOUT=0  # Their long forms take longer than any test.
cd "$(dirname "$0")/.."

scripts/install_proxies.sh
TEST_STOPS="${TEST_STOPS:-20}" TEST_PLAYERS="${TEST_PLAYERS:-64}" \
    .venv/bin/python -m pytest -s -rs -o faulthandler_timeout=0 tests/service/test_restarts.py "$@"
