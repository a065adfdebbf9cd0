#!/bin/sh
# Installs the packages for tests, checks and measurements into .venv.
set -eu
cd "$(dirname "$0")/.."

.venv/bin/python scripts/list_requirements.py dependency-groups.dev \
    project.optional-dependencies.mcp project.optional-dependencies.openspiel project.optional-dependencies.otel \
    project.optional-dependencies.pettingzoo project.optional-dependencies.plot |
    .venv/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt -r /dev/stdin
