#!/bin/sh
# Copies the sources to a new folder. A special build there leaves the build of the checkout as it is.
set -eu
cd "$(dirname "$0")/.."

rm -rf "$1" build/sdist
mkdir -p "$1"
.venv/bin/python setup.py -q sdist --formats=tar -d build/sdist
tar -xf build/sdist/*.tar --strip-components=1 -C "$1"
# The sdist leaves out these links to its own folders.
ln -s ../../croupier ../../proto "$1/clients/python/"
