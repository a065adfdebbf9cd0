#!/bin/sh
# Checks the format and the style of the schemas, and that clients of what was released still work: the
# schemas are compared with those of the last tag v*, and with those of the newest version of the schema in
# CHANGELOG.md, which are those of the commit that added its heading. This needs the history, but no network.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
PATH="$root/.venv/bin:$PATH"
schemas=croupier/v1/schemas/full.binpb

buf format -d --exit-code
python setup.py -q build_proto --build-lib build/stubs
buf lint "build/stubs/$schemas" --config buf.yaml --path croupier

# Compares with the schemas of a commit. protoc compiles them, since buf would fetch what they import.
compare() {
    rm -rf build/released
    mkdir -p build/released
    git archive "$1" proto | tar -x -C build/released
    (cd build/released && python "$root/setup.py" -q build_proto --build-lib stubs)
    buf breaking "build/stubs/$schemas" --against "build/released/stubs/$schemas" \
        --config buf.yaml --path croupier
    echo "The schemas are compatible with $2."
}

if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" != false ]; then
    echo "There is no history, or it is cut off: compatibility not checked."
    exit 0
fi
if tag="$(git describe --tags --match 'v*' --abbrev=0 2>/dev/null)"; then
    compare "$tag" "the last tag, $tag"
else
    echo "There is no tag v* yet to compare the schemas with."
fi
version="$(sed -n 's/^### Schema \([0-9.]*\)$/\1/p' CHANGELOG.md | head -1)"
added="$(git log --format=%H -S"### Schema $version" -- CHANGELOG.md | tail -1)"
if [ -n "$version" ] && [ -n "$added" ]; then
    compare "$added" "version $version"
else
    echo "No commit has version '$version' of the schema in CHANGELOG.md: compatibility with it not checked."
fi
