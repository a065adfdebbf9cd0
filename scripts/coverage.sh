#!/bin/sh
# Measures which lines the tests reach, in a build of its own: those of Python with coverage.py, those
# of Cython with gcov, which costs little. Prints the lines that were not reached and the totals.
# Arguments go to pytest. Processes that a test kills do not count.
set -eu
export PYTEST_TIMEOUT=0  # Their long forms take longer than any test.
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"
began=$(date +%s)

scripts/copy_sources.sh build/coverage
cd build/coverage
BUILD_COVERAGE=1 "$python" setup.py -q build_proto --inplace build_ext --inplace
echo "The build took $(($(date +%s) - began)) seconds."
status=0
nice -n 19 "$python" -m coverage run -m pytest -n "${JOBS:-auto}" --dist worksteal \
    -o faulthandler_timeout=0 "$@" || status=$?
"$python" -m coverage combine -q
"$python" -m coverage report --skip-covered --show-missing
"$python" scripts/count_lines.py build/inplace
echo "make coverage took $(($(date +%s) - began)) seconds."
exit "$status"
