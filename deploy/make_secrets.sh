#!/bin/sh
# Makes what compose.yaml reads as secrets: passwords, the configuration that names them, and a
# certificate that is good for a trial. Existing files stay as they are, so put your own first.
#
#   deploy/make_secrets.sh DIRECTORY HOSTNAME
set -eu
if [ $# != 2 ]; then
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
if [ "$(id -u)" != 0 ]; then
    echo "make_secrets.sh: run this as root: each file goes to the user of the container that reads it" >&2
    exit 1
fi
umask 077
mkdir -p "$1"
cd "$1"
chmod 711 .

word() { openssl rand -hex 32; }

[ -e postgres-password ] || word >postgres-password
[ -e grafana-password ] || word >grafana-password
[ -e operator-token ] || word >operator-token
[ -e croupier.toml ] || cat >croupier.toml <<TOML
store = "postgresql://croupier:$(cat postgres-password)@postgres/croupier"
operator-token-file = "/run/secrets/operator-token"
callers-file = "/run/secrets/callers.toml"
TOML
# Envoy is the only caller, and says for whom it calls.
[ -e callers.toml ] || cat >callers.toml <<TOML
trusted_proxies = ["10.0.0.0/24"]
TOML
[ -e tls.key ] || [ -e tls.crt ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 \
    -subj "/CN=$2" -addext "subjectAltName=DNS:$2" -keyout tls.key -out tls.crt 2>/dev/null

[ -e tls.key ] && [ -e tls.crt ] || { echo "make_secrets.sh: $1 has only one of tls.key and tls.crt" >&2; exit 1; }
chmod 400 -- *
# The users of the images: croupier, postgres, grafana, envoy.
chown 10001:10001 croupier.toml callers.toml operator-token
chown 999:999 postgres-password
chown 472:0 grafana-password
chown 101:101 tls.crt tls.key
