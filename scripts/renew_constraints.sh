#!/bin/sh
# Pins the newest versions that pyproject.toml allows in constraints.txt.
set -eu
cd "$(dirname "$0")/.."

rm -rf build/constraints
"${PYTHON:-python3}" -m venv build/constraints
requirements="$(.venv/bin/python scripts/list_requirements.py build-system.requires dependency-groups.dev \
    dependency-groups.deploy dependency-groups.docs dependency-groups.release)"
echo "$requirements" |
    build/constraints/bin/pip install -q -r /dev/stdin ./clients/python '.[jwt,mcp,openspiel,otel,pettingzoo,postgres,webhooks]'
{
    sed -n '/^#/p' constraints.txt
    build/constraints/bin/pip freeze --all --exclude pip --exclude croupier --exclude croupier-server
} >build/constraints.txt
mv build/constraints.txt constraints.txt
