#!/bin/sh
# Compares each .pyi of a compiled module with the module itself.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

modules="$(find engine wire games ai lab -name '*.pyx' |
    while read -r source; do test ! -e "${source%.pyx}.pyi" || echo "${source%.pyx}"; done |
    sort | tr / .)"
# Every cdef class is a disjoint base, so a mark on each of them would tell a reader nothing.
python -m mypy.stubtest --concise --ignore-disjoint-bases --allowlist scripts/stubs_allowlist.txt $modules
