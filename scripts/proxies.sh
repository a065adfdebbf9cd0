#!/bin/sh
# Plays many matches through nginx, HAProxy and Envoy while the servers behind them are killed and
# stopped. TEST_PROXY_MATCHES sets how many through each. Arguments go to pytest.
set -eu
export PYTEST_TIMEOUT=0  # Their long forms take longer than any test.
cd "$(dirname "$0")/.."

scripts/install_proxies.sh
TEST_PROXY_MATCHES="${TEST_PROXY_MATCHES:-200}" .venv/bin/python -m pytest -s -rs \
    -o faulthandler_timeout=0 tests/service/test_proxies.py "$@"
