#!/bin/sh
# Installs the headers of nghttp2, which the server of gRPC is built on, from Debian's packages if they are missing and
# that is possible. Without them the build leaves it out, and gRPC is served by grpcio.
set -eu
[ "${BUILD_NGHTTP2:-1}" != 0 ] || exit 0
echo '#include <nghttp2/nghttp2.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1 && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo 'Installing libnghttp2-dev.'
    apt-get -qq update && apt-get -qq install -y --no-install-recommends libnghttp2-dev >/dev/null && exit 0
fi
echo 'Could not install libnghttp2-dev: gRPC is served by grpcio, for twice the processor time.' >&2
