#!/bin/sh
# Builds the Helm chart in a folder: as croupier-VERSION.tgz, and in an archive of OCI, for a registry. Equal
# sources give equal files, whose times are SOURCE_DATE_EPOCH (default: the date of the last commit).
set -eu
cd "$(dirname "$0")/.."
folder="$(realpath "$1")"
version="$(sed -n 's/^version: //p' deploy/helm/croupier/Chart.yaml)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"

pack() { # A tar of a folder's entries.
    tar --create --dereference --sort=name --format=ustar --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" --directory "$@"
}
add() { # Adds a blob; prints what refers to it.
    hash="$(sha256sum "$1" | cut -c -64)"
    cp "$1" "$work/oci/blobs/sha256/$hash"
    printf '{"mediaType":"%s","digest":"sha256:%s","size":%d' "$2" "$hash" "$(stat -c %s "$1")"
}

chart="$folder/croupier-$version.tgz"
pack deploy/helm --exclude=.helmignore croupier | gzip --no-name --best >"$chart"

mkdir -p "$work/oci/blobs/sha256"
# Helm's configuration of a chart is its Chart.yaml as JSON.
sed '/^#/d; s/"//g; s/\(.*\): \(.*\)/"\1":"\2"/; $!s/$/,/; 1s/^/{/; $s/$/}/' deploy/helm/croupier/Chart.yaml >"$work/config"
config="$(add "$work/config" application/vnd.cncf.helm.config.v1+json)"
layer="$(add "$chart" application/vnd.cncf.helm.chart.content.v1.tar+gzip)"
type=application/vnd.oci.image.manifest.v1+json
printf '{"schemaVersion":2,"mediaType":"%s","config":%s},"layers":[%s}]}' $type "$config" "$layer" >"$work/manifest"
printf '{"schemaVersion":2,"manifests":[%s,"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}' \
    "$(add "$work/manifest" $type)" "$version" >"$work/oci/index.json"
echo '{"imageLayoutVersion":"1.0.0"}' >"$work/oci/oci-layout"
pack "$work/oci" . >"$folder/croupier-chart-$version.oci.tar"
