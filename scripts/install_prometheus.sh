#!/bin/sh
# Unpacks Prometheus, promtool, Alertmanager and libfaketime from Debian's packages into
# build/prometheus, unless the first are installed. Nothing is installed, so no daemon starts. Prints
# the folder of the programs.
set -eu
cd "$(dirname "$0")/.."

if command -v prometheus >/dev/null && command -v prometheus-alertmanager >/dev/null; then
    dirname "$(command -v prometheus)"
    exit 0
fi
folder=$PWD/build/prometheus
if [ ! -x "$folder/usr/bin/prometheus-alertmanager" ] || [ ! -d "$folder/usr/share/doc/libfaketime" ]; then
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        echo "prometheus and prometheus-alertmanager are missing, and only Debian's are fetched: install them" >&2
        exit 1
    fi
    mkdir -p "$folder"
    cd "$folder"
    # The lists of packages may be missing, or older than the packages.
    set -- prometheus prometheus-alertmanager libfaketime
    apt-get -qq download "$@" 2>/dev/null || { apt-get -qq update && apt-get -qq download "$@"; } >&2
    for package in *.deb; do dpkg-deb -x "$package" .; done
    rm -- *.deb
fi
echo "$folder/usr/bin"
