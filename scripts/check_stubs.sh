#!/bin/sh
# Compares each .pyi of a compiled module with the module itself. What needs nghttp2 may not be built.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

modules="$(find engine ai lab service -name '*.pyx' |
    while read -r source; do test ! -e "${source%.pyx}.pyi" ||
        { case "$source" in service/http2/*) ! ls "${source%.pyx}".*.so >/dev/null 2>&1 ;; *) false ;; esac; } ||
         echo "${source%.pyx}"; done |
    sort | tr / .)"
# Every cdef class is a disjoint base, so a mark on each of them would tell a reader nothing.
python -m mypy.stubtest --concise --ignore-disjoint-bases --allowlist scripts/stubs_allowlist.txt $modules
