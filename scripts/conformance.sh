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
# The deadline of the suite's client and that of the server pass together. Where the head of the
# error arrives just before, the client gives up reading the body, and the suite calls it cut short.
# Our own tests see a deadline pass with a client that has none.
exec "$FOLDER/bin/connectconformance" --mode server --conf tests/conformance/config.yaml \
    --known-flaky "Timeouts/HTTPVersion:1/Protocol:PROTOCOL_CONNECT/**/unary" "$@" \
    -- .venv/bin/python -m tests.conformance "$FOLDER/suite.binpb"
