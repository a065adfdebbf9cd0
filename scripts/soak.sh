#!/bin/sh
# Runs the long form of the tests that repeat something: random matches, samplers after long
# matches, snapshots, cancelled searches, endings, small games and crashes; and the cases
# that `make test` leaves out. Arguments go to each run of pytest.
set -eux
export PYTEST_TIMEOUT=0  # Their long forms take longer than any test.
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

TEST_LONG=1 python -m pytest -n "${JOBS:-auto}" $(grep -lr long_form tests --include='test_*.py') "$@"
TEST_PLAY_STYLES=300 python -m pytest -o faulthandler_timeout=0 -n "${JOBS:-auto}" \
    tests/engine/test_sampler.py -k has_worlds "$@"
TEST_MATCHES=2000 TEST_SNAPSHOTS=1000 python -m pytest -o faulthandler_timeout=0 \
    -n "${JOBS:-auto}" tests/engine/test_game.py tests/service/hosting/test_snapshots.py "$@"
TEST_SOAK=10000 python -m pytest tests/service/searching/test_analysis.py -k leave_nothing "$@"
TEST_ENDINGS=300 python -m pytest tests/ai/test_endings.py -k naive_solver "$@"
TEST_CFR=100 python -m pytest -n "${JOBS:-auto}" tests/ai/test_cfr.py -k "gains or linear" "$@"
TEST_REPLAYS=50 python -m pytest -s -o faulthandler_timeout=0 tests/service/test_replays.py "$@"
TEST_KILLS=200 python -m pytest -s -o faulthandler_timeout=0 tests/service/test_crashes.py "$@"
TEST_FAULTS=60 python -m pytest tests/service/store/test_recovery.py "$@"
