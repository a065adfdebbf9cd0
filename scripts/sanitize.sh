#!/bin/sh
# Runs the tests of compiled code under the address and undefined-behaviour sanitizers. Arguments go
# to pytest.
set -eu
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"

scripts/copy_sources.sh build/sanitize
cd build/sanitize
CROUPIER_SANITIZE=1 "$python" setup.py -q build_proto --inplace build_ext --inplace
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
    "$python" -m pytest --capture=no tests/engine tests/service/wire/test_wire.py \
    tests/ai/test_search.py tests/ai/test_endings.py "$@"
