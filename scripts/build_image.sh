#!/bin/sh
# Builds the image croupier:VERSION, also named croupier:latest, and writes its bill of materials to
# build/image/sbom.cdx.json. Takes Docker if its engine answers, else buildah, else podman. Arguments go to
# the build. IMAGE_SOURCE is the address of the sources for the label; by default that of the git remote.
set -eu
cd "$(dirname "$0")/.."

version="$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)"
revision="$(git rev-parse HEAD 2>/dev/null || true)"
[ -z "$(git status --porcelain 2>/dev/null)" ] || revision="$revision-dirty"
source="${IMAGE_SOURCE:-$(git remote get-url origin 2>/dev/null || true)}"
epoch="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y PKG-INFO)}"
sbom=/opt/croupier/share/sbom.cdx.json

set -- -t "croupier:$version" -t croupier:latest \
    --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --build-arg "SOURCE=$source" \
    --build-arg "CREATED=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" \
    --build-arg "SOURCE_DATE_EPOCH=$epoch" "$@" .
mkdir -p build/image
if docker info >/dev/null 2>&1; then
    docker build "$@"
    docker run --rm --network none --entrypoint cat croupier:latest "$sbom" >build/image/sbom.cdx.json
elif command -v buildah >/dev/null; then
    # The format of OCI has no health check.
    buildah bud --format docker "$@"
    container="$(buildah from --pull-never localhost/croupier:latest)"
    cp "$(buildah mount "$container")$sbom" build/image/
    buildah rm "$container" >/dev/null
elif command -v podman >/dev/null; then
    podman build --format docker "$@"
    podman run --rm --network none --entrypoint cat croupier:latest "$sbom" >build/image/sbom.cdx.json
else
    echo 'There is neither a Docker engine nor buildah nor podman: apt-get install buildah' >&2
    exit 1
fi
echo "Built croupier:$version. Its bill of materials is build/image/sbom.cdx.json."
