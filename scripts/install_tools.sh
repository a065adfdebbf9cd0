#!/bin/sh
# Installs the packages for tests, checks and measurements into .venv; and nghttp2 for the door that is
# built on it, from Debian's packages where that is possible. Its tests skip where it is not.
set -eu
cd "$(dirname "$0")/.."

.venv/bin/python scripts/list_requirements.py dependency-groups.dev \
    project.optional-dependencies.openspiel project.optional-dependencies.otel project.optional-dependencies.plot |
    .venv/bin/python -m pip --disable-pip-version-check -q install -c constraints.txt -r /dev/stdin

if ! ls service/http2/session.*.so >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    if apt-get -qq update && apt-get -qq install -y --no-install-recommends libnghttp2-dev >/dev/null; then
        .venv/bin/python setup.py -q build_ext --inplace
    else
        echo 'Could not install libnghttp2-dev: --grpc nghttp2 is not built.' >&2
    fi
fi
