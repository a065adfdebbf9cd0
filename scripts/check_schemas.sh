#!/bin/sh
# Checks the format and the style of the schemas, and their compatibility with clients of the last
# release, which is the last tag.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
PATH="$root/.venv/bin:$PATH"

buf format -d --exit-code
python setup.py -q build_proto --build-lib build/stubs --image build/croupier.binpb
buf lint build/croupier.binpb --config buf.yaml --path croupier

last_tag="$(git describe --tags --abbrev=0 2>/dev/null || true)"
if [ -n "$last_tag" ]; then
    rm -rf build/last
    mkdir -p build/last
    git archive "$last_tag" | tar -x -C build/last
    (cd build/last && python setup.py -q build_proto --image "$root/build/last.binpb")
    buf breaking build/croupier.binpb --against build/last.binpb --config buf.yaml --path croupier
fi
