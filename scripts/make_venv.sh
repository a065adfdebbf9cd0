#!/bin/sh
# Makes .venv with what builds Croupier, after checking that this machine has what that needs.
# PYTHON is the interpreter to make it with.
set -eu
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"

fail() {
    echo "$1" >&2
    exit 1
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail 'Croupier needs Python 3.11 or newer: install one and run make PYTHON=python3.11'
"$python" -c 'import ensurepip' ||
    fail 'Python has no venv: install the package python3-venv'
command -v gcc >/dev/null ||
    fail 'no C compiler: install the package gcc'
headers="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
echo '#include <Python.h>' | gcc -E -x c -I"$headers" - >/dev/null 2>&1 ||
    fail 'no C headers: install the packages python3-dev and libc6-dev'

echo 'Installing what Croupier needs into .venv; this takes a minute.'
"$python" -m venv --clear .venv
.venv/bin/python scripts/list_requirements.py build-system.requires |
    .venv/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt -r /dev/stdin
