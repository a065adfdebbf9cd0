#!/bin/sh
# Checks the format and the style of the schemas, and that clients of the newest version of the
# schema in CHANGELOG.md still work: the schemas are compared with those of the commit that added
# its heading, so this needs the history but neither a tag nor a network.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
PATH="$root/.venv/bin:$PATH"
schemas=croupier/v1/schemas.binpb

buf format -d --exit-code
python setup.py -q build_proto --build-lib build/stubs
buf lint "build/stubs/$schemas" --config buf.yaml --path croupier

version="$(sed -n 's/^### Schema \([0-9.]*\)$/\1/p' CHANGELOG.md | head -1)"
added="$(git log --format=%H -S"### Schema $version" -- CHANGELOG.md 2>/dev/null | tail -1)"
if [ -z "$version" ] || [ -z "$added" ]; then
    echo "No commit has version '$version' of the schema in CHANGELOG.md: compatibility not checked."
elif [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    echo "The history is cut off: compatibility with version $version not checked."
else
    rm -rf build/released
    mkdir -p build/released
    git archive "$added" proto setup.py | tar -x -C build/released
    (cd build/released && python setup.py -q build_proto --build-lib stubs)
    buf breaking "build/stubs/$schemas" --against "build/released/stubs/$schemas" \
        --config buf.yaml --path croupier
    echo "The schemas are compatible with version $version."
fi
