#!/bin/sh
# Builds the sdists and the wheels of the client and of the server in the folder that is named (default:
# dist). Equal sources give equal files, in whatever folder they are built: all times in them are
# SOURCE_DATE_EPOCH, which is the date of the last commit unless it is set. PYTHON is an interpreter with
# the packages that build. What `make build` has compiled is not compiled again. SHORT=1 leaves out the
# wheel of the server.
set -eu
cd "$(dirname "$0")/.."
python="${PYTHON:-.venv/bin/python}"

# Outside of git, in an unpacked sdist, PKG-INFO has the date of the sdist.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y PKG-INFO)}"
export SOURCE_DATE_EPOCH
wheel=--wheel
"$python" -m build -q --no-isolation --sdist $wheel --outdir "${1:-dist}" clients/python
[ -z "${SHORT:-}" ] || wheel=
"$python" -m build -q --no-isolation --sdist $wheel --outdir "${1:-dist}" .
