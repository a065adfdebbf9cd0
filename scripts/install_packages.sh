#!/bin/sh
# Installs into .venv what pyproject.toml lists under each of these names, as constraints.txt pins it:
#
#   scripts/install_packages.sh dependency-groups.docs project.optional-dependencies.mcp
set -eu
cd "$(dirname "$0")/.."

# First into a variable: a pipe would hide that the list could not be read.
requirements="$(.venv/bin/python scripts/list_requirements.py "$@")"
echo "$requirements" |
    .venv/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt -r /dev/stdin
