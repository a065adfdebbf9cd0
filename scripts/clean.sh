#!/bin/sh
# Removes everything that was built.
set -eu
cd "$(dirname "$0")/.."

rm -rf .venv build dist buf *.egg-info .coverage .*_cache
rm -rf service/gateway/static web/node_modules web/src/gen
rm -rf examples/frontend/.venv examples/schemas examples/go/bin examples/go/croupier examples/*/target
rm -rf clients/typescript/dist clients/typescript/src/gen clients/*/node_modules examples/*/node_modules examples/*/dist
rm -rf clients/godot/.godot
find clients/godot -name '*.uid' -delete
rm -rf clients/python/build clients/python/dist clients/python/*.egg-info
rm -rf croupier/v1/*_pb2* croupier/v1/schemas
find engine wire games ai lab '(' -name '*.c' -o -name '*.so' ')' -delete
find adapters ai cli croupier engine games lab scripts service tests wire -name __pycache__ -prune -exec rm -rf {} +
