#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml reads, as files, each once: what is there stays. There
# are no default passwords: without these files nothing starts.
#
# Usage: deploy/secrets.sh [FOLDER]        (deploy/secrets unless given, or INFRANOISE_SECRETS)
#
# | file | what |
# |---|---|
# | queue_password, database_password | random, 192 bits each |
# | broker_url, store | the addresses of queue and ledger, with those passwords |
# | flower_auth | user:password that Flower asks for |
# | pip_conf, apt_conf | this machine's package settings (mirror, proxy); for builds, in no image |
set -euo pipefail
umask 077
folder=${1:-${INFRANOISE_SECRETS:-$(dirname "$0")/secrets}}
mkdir -p "$folder"
chmod 700 "$folder"
cd "$folder"

# Readable to all below a folder that only its owner enters: the services are other users.
keep() {
  local name=$1
  if [[ -e $name ]]; then cat >/dev/null; return; fi
  cat >"$name.new"
  chmod 444 "$name.new"
  mv "$name.new" "$name"
  printf 'secrets: made %s\n' "$folder/$name"
}
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

pip_settings() {
  python3 -m pip config list 2>/dev/null |
    sed -nE "s/^(global|install|:env:)\.(index-url|extra-index-url|trusted-host|proxy)='(.*)'$/\2 = \3/p" |
    grep -v file: || true
}
apt_settings() {
  command -v apt-config >/dev/null || return 0
  apt-config dump | grep -iE '^Acquire::https?::Proxy ' || true
}

random | keep queue_password
random | keep database_password
printf 'redis://:%s@queue:6379/0' "$(cat queue_password)" | keep broker_url
printf 'postgresql://infranoise:%s@database:5432/infranoise' "$(cat database_password)" | keep store
printf 'infranoise:%s' "$(random)" | keep flower_auth
{ echo '[global]'; pip_settings; } | keep pip_conf
{ echo '// package settings of the machine that builds'; apt_settings; } | keep apt_conf
