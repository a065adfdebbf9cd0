#!/bin/sh
# Fuzzes the decoders of the engine and of messages, then a server over the wire. Arguments go to
# tests/fuzz/__main__.py: --share 0.1 takes a tenth of the ten million executions, --seed repeats a run.
# Inputs that cause a fault are written to build/faults.
set -eu
cd "$(dirname "$0")/.."
python="$PWD/.venv/bin/python"
began=$(date +%s)

if "$python" -c 'import atheris' 2>/dev/null; then
    scripts/copy_sources.sh build/fuzz
    (cd build/fuzz && BUILD_FUZZ=1 "$python" setup.py -q build_proto --inplace build_ext --inplace)
    echo "The traced build took $(($(date +%s) - began)) seconds."
else
    echo "There is no atheris for this Python: nothing is guided by coverage."
fi
status=0
nice -n 19 "$python" -m tests.fuzz "$@" || status=$?
echo "make fuzz took $(($(date +%s) - began)) seconds."
exit "$status"
