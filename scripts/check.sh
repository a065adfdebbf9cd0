#!/bin/sh
# Runs every linter and type checker, each of which must pass. Changes nothing.
set -eux
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"

ruff format --check .
ruff check .
mypy
scripts/check_stubs.sh
cython-lint $(find engine wire games ai lab -name '*.pyx' -o -name '*.pxd')
python scripts/check_layers.py
python scripts/count_code.py --check
scripts/check_schemas.sh
python scripts/write_options.py --check
python scripts/check_docs.py
scripts/web.sh check
