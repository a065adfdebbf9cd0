#!/bin/bash
# Runs the tests that reach compiled code under the address and undefined-behaviour sanitizers, in
# parts, and prints how long each took. Arguments name the parts; without arguments it runs all.
# First it checks that the sanitizers report faults that are planted for them.
set -eu
export PYTEST_TIMEOUT=0  # Their long forms take longer than any test.
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"

declare -A tests=(
    [engine]="tests/engine/test_game.py tests/engine/test_views.py tests/engine/test_playout.py"
    [samplers]="tests/engine/test_sampler.py"
    [hostile]="tests/engine/test_hostile_views.py tests/fuzz/test_decoders.py"
    [facts]="tests/games/test_facts.py"
    [wire]="tests/wire tests/service/hosting/test_snapshots.py"
    [search]="tests/ai"
)
parts=(engine samplers hostile facts wire search)
[ $# -eq 0 ] || parts=("$@")


scripts/copy_sources.sh build/sanitize
cd build/sanitize
export BUILD_SANITIZE=1
"$python" setup.py -q build_proto --inplace build_ext --inplace
echo "The build took $SECONDS seconds."

LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export LD_PRELOAD
# Python frees little of what it allocates when it ends, so leaks are not looked for.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc

# Each planted fault must end the program, with a report that names its line.
for fault in 'write_past_stack(9)' 'read_past_heap(5)' 'read_freed()' 'shift(40)'; do
    if "$python" -c "from tests.planted import faults; faults.$fault" 2>report ||
        ! grep -q 'faults\.pyx' report; then
        echo "The sanitizers did not report $fault:"
        cat report
        exit 1
    fi
done
echo "The sanitizers report the planted faults."

failed=()
for part in "${parts[@]}"; do
    SECONDS=0
    # A report goes to standard error, which must not be captured, and ends the process.
    "$python" -m pytest --capture=no -n "${JOBS:-auto}" --dist worksteal \
        -o faulthandler_timeout=0 ${tests[$part]} || failed+=("$part")
    echo "$part took $SECONDS seconds."
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
