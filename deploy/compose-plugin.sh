#!/usr/bin/env bash
# Makes `docker compose` (version 2 or newer) work on a Debian machine, as root.
#
# Where the machine's own Debian has version 2, plain apt installs it. Debian 12 has 1.29, which
# knows neither `docker compose` nor today's compose files: there the one package is taken from
# Debian 13, out of the sources that the machine is set to already, and its only file that matters
# is put where the engine's client looks for plug-ins. Nothing of the machine's apt is changed.
#
# Usage: deploy/compose-plugin.sh
set -euo pipefail

plugins=/usr/local/lib/docker/cli-plugins

say() { printf 'compose-plugin: %s\n' "$*"; }

if docker compose version >/dev/null 2>&1; then
  say "$(docker compose version) is here already"
  exit 0
fi
[[ $EUID == 0 ]] || { say "installing needs root; run this as root"; exit 1; }

candidate() { apt-cache "$@" policy docker-compose | awk '$1 == "Candidate:" { print $2 }'; }

if dpkg --compare-versions "$(candidate)" ge 2 2>/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends docker-compose
  say "installed $(docker compose version)"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{sources,lists/partial,archives/partial}
# apt drops its rights while it downloads.
chmod -R a+rX "$work"

codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
[[ $codename == bookworm ]] ||
  { say "no docker-compose 2 in this machine's sources, and it is not Debian 12: install it by hand"; exit 1; }
shopt -s nullglob
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
  [[ -f $file ]] || continue
  # Sources that know no release (a language's, a tool's) have no say in this.
  grep -qw bookworm "$file" || continue
  sed 's/\bbookworm\b/trixie/g' "$file" >"$work/sources/${file##*/}"
done

newer=(
  -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources"
  -o Dir::State::lists="$work/lists" -o Dir::Cache::archives="$work/archives"
  -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
)
apt-get "${newer[@]}" -qq update >"$work/log" 2>&1 || true
(cd "$work" && apt-get "${newer[@]}" -qq download docker-compose >>"$work/log" 2>&1) || true
packages=("$work"/docker-compose_2*.deb)
((${#packages[@]})) || { tail -n 5 "$work/log" >&2; say "Debian 13's docker-compose could not be fetched"; exit 1; }

dpkg-deb --extract "${packages[0]}" "$work/root"
binary=$(find "$work/root" -type f -name docker-compose -perm -u+x -size +1M -print -quit)
install -D --mode 755 "$binary" "$plugins/docker-compose"
say "installed $(docker compose version) in $plugins"
