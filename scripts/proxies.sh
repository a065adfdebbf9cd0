#!/bin/sh
# Plays many matches through nginx, HAProxy and Envoy while the servers behind them are killed and
# stopped. CROUPIER_PROXY_MATCHES sets how many through each. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."

scripts/install_proxies.sh
CROUPIER_PROXY_MATCHES="${CROUPIER_PROXY_MATCHES:-200}" .venv/bin/python -m pytest -s -rs \
    -o faulthandler_timeout=0 tests/service/test_proxies.py "$@"
