#!/bin/sh
# Runs Connect's conformance suite, which needs Go, against the gateway. Arguments are passed on to it.
set -eu
cd "$(dirname "$0")/.."

VERSION=v1.0.7
SUITE=connectrpc.com/conformance
FOLDER=$PWD/build/conformance

if [ ! -x "$FOLDER/bin/connectconformance" ]; then
    GOBIN=$FOLDER/bin go install "$SUITE/cmd/connectconformance@$VERSION"
fi
SOURCES=$(cd /tmp && go mod download -json "$SUITE@$VERSION" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p')
.venv/bin/python -m grpc_tools.protoc -I"$SOURCES/proto" --include_imports \
    --descriptor_set_out="$FOLDER/suite.binpb" \
    connectrpc/conformance/v1/service.proto connectrpc/conformance/v1/server_compat.proto
exec "$FOLDER/bin/connectconformance" --mode server --conf tests/conformance/config.yaml "$@" \
    -- .venv/bin/python -m tests.conformance "$FOLDER/suite.binpb"
