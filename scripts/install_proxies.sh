#!/bin/sh
# Installs nginx and HAProxy from Debian's packages where that is possible. The tests skip a proxy
# that is not there, and say so. Envoy comes with the packages for tests.
set -eu
PATH="$PATH:/usr/sbin"

missing=
command -v nginx >/dev/null || missing="$missing nginx-light"
command -v haproxy >/dev/null || missing="$missing haproxy"
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "Not installed, which takes apt-get and root:$missing" >&2
    exit 0
fi
apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing >/dev/null ||
    echo "Could not install:$missing" >&2
