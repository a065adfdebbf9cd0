#!/bin/sh
# Adds to a folder with the wheels, the sdists and the chart of a release what strangers verify them by: a bill of materials
# of each distribution, the statements on vulnerabilities (VEX), and SHA256SUMS over all files. `make release`
# calls it. Needs PyPI, for cyclonedx-py and for what the distributions depend on.
set -eu
cd "$(dirname "$0")/.."
folder="$1"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
pip="$work/tools/bin/pip --disable-pip-version-check -q"

"${PYTHON:-python3}" -m venv "$work/tools"
$pip install -c constraints.txt cyclonedx-bom

# The materials of a distribution are what pip installs with it, at the versions that the tests run with.
describe() {
    name="$1" project="$2" extras="$3"
    python="$work/$name/bin/python"
    "$work/tools/bin/python" -m venv --without-pip "$work/$name"
    # First from the folder alone: PyPI may have other files of these names.
    $pip --python "$python" install --no-index --no-deps --find-links "$folder" "$name==$version" "croupier==$version"
    $pip --python "$python" install -c constraints.txt "$name$extras"
    "$work/tools/bin/cyclonedx-py" environment --pyproject "$project/pyproject.toml" --output-reproducible \
        -o "$folder/$name-$version.cdx.json" "$python"
}
describe croupier clients/python ''
describe croupier-server . '[jwt,postgres,webhooks]' # As the image has it.

cp deploy/croupier.openvex.json "$folder/"
rm -f "$folder/SHA256SUMS" "$folder/SHA256SUMS.minisig"
(cd "$folder" && sha256sum -- *) >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" "$folder/"
echo "Described the release $version in $folder. Sign it: minisign -Sm $folder/SHA256SUMS"
