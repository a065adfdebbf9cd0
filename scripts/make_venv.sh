#!/bin/sh
# Creates .venv with the packages that build Croupier. First checks that this machine has a suitable
# Python, gcc and the C headers. PYTHON names the interpreter for .venv.
set -eu
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"

fail() {
    echo "$1" >&2
    exit 1
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail 'Croupier needs Python 3.11 or newer: install it and run, for example, make PYTHON=python3.11'
"$python" -c 'import ensurepip' ||
    fail 'Python has no venv: install the package python3-venv'
command -v gcc >/dev/null ||
    fail 'no C compiler: install the package gcc'
headers="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
echo '#include <Python.h>' | gcc -E -x c -I"$headers" - >/dev/null 2>&1 ||
    fail 'no C headers: install the packages python3-dev and libc6-dev'

echo 'Installing the packages that build Croupier into .venv. This takes a minute.'
rm -rf -- *.egg-info clients/python/*.egg-info  # An old one would hide a changed name.
"$python" -m venv --clear .venv
scripts/install_packages.sh build-system.requires
