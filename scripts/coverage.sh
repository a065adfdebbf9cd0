#!/bin/sh
# Measures which lines the tests cover, Cython included, in a traced build. Arguments go to pytest.
# Traced searches are a hundred times slower, so a test that waits for one can fail. The script reports
# the coverage even then, and exits with the status of the tests.
set -eu
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"

scripts/copy_sources.sh build/coverage
cd build/coverage
export CROUPIER_COVERAGE=1
"$python" setup.py -q build_proto --inplace build_ext --inplace
status=0
nice -n 19 "$python" -m coverage run -m pytest -n "${JOBS:-auto}" --dist worksteal \
    -o faulthandler_timeout=0 "$@" || status=$?
"$python" -m coverage combine -q
"$python" -m coverage report --skip-covered
"$python" -m coverage report --include='*.pyx' |
    awk 'END { if ($1 != "TOTAL" || $2 == 0) { print "no line of Cython was traced"; exit 1 } }'
exit "$status"
