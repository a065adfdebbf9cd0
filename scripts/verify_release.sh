#!/bin/sh
# Verifies a release without a network: who signed it, the hash of each file, and that this checkout gives the
# same packages. Run it in a checkout of the release's tag, after `make tools web`.
#
#   scripts/verify_release.sh FOLDER [KEY [BUILT]]
#
# FOLDER has all files of the release. KEY is the public key of the maintainers (default: deploy/release.pub).
# BUILT has packages that you have built of this commit; by default this builds those that need no compiler.
# Needs minisign. Exit status: 0 if all holds, else 1, after a line that names the file.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { echo 'usage: scripts/verify_release.sh FOLDER [KEY [BUILT]]' >&2; exit 2; }
folder="$1" key="${2:-deploy/release.pub}" built="${3:-}"
sums="$folder/SHA256SUMS"

fail() {
    echo "verify_release: $*" >&2
    exit 1
}

[ -r "$key" ] || fail "there is no public key $key"
minisign -Vm "$sums" -p "$key" || fail "$sums is not what the owner of $key signed"

wrong="$(cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS 2>&1)" || fail "$wrong"
for name in $(ls -A "$folder"); do
    case "$name" in
    SHA256SUMS | SHA256SUMS.minisig | provenance.intoto.jsonl) ;; # These cannot be in SHA256SUMS.
    *) cut -c 67- "$sums" | grep -Fqx -- "$name" || fail "$name is not in SHA256SUMS" ;;
    esac
done
echo "All $(wc -l <"$sums") files have the hashes in it."

if [ -z "$built" ]; then
    built="$(mktemp -d)"
    trap 'rm -rf "$built"' EXIT
    SHORT=1 scripts/build_packages.sh "$built" >/dev/null
    scripts/build_chart.sh "$built"
    "${PYTHON:-python3}" scripts/pack_unity.py "$built"
    python3 scripts/pack_godot.py "$built"
fi
for path in "$built"/*; do
    name="${path##*/}"
    cmp -s "$path" "$folder/$name" || fail "$name differs from what this checkout gives"
    echo "Built again, with equal bytes: $name"
done
for path in "$folder"/*.whl "$folder"/*.tar.gz; do
    [ -e "$built/${path##*/}" ] || echo "NOT BUILT AGAIN: ${path##*/}"
done
