#!/usr/bin/env bash
# Makes a local base image for machines that can reach a Debian mirror but no image registry.
#
# A Debian 12 root (debootstrap, minbase) is imported as an image and tagged with the two names
# that the bundled tasks build on, each only where that name is still free. Into /usr/local goes
# this machine's own CPython (3.12 or newer); without one the image gets Debian's python3.
# The image says what it is: label infranoise.standin=true.
#
# Usage: deploy/base-image.sh [MIRROR]      as root, with a running Docker engine
# Python: the `python3` on the PATH is the one that is copied; override with PYTHON=/path/to/python
set -euo pipefail

mirror=${1:-} # without one: debootstrap's own
python=${PYTHON:-python3}
# The last two are what docker-compose.yml builds on.
names=(python:3.12-slim debian:bookworm-slim python:3.12.11-slim-bookworm debian:bookworm-20250630-slim)

say() { printf 'base-image: %s\n' "$*"; }

missing=()
for name in "${names[@]}"; do
  if docker image inspect "$name" >/dev/null 2>&1; then say "$name is here already"; else missing+=("$name"); fi
done
((${#missing[@]})) || exit 0

standin=$(docker image ls --quiet --filter label=infranoise.standin=true infranoise/base:bookworm)
if [[ -n $standin ]]; then
  for name in "${missing[@]}"; do docker tag "$standin" "$name"; say "tagged the existing stand-in as $name"; done
  exit 0
fi

[[ $EUID == 0 ]] || { say "debootstrap needs root; run this as root"; exit 1; }
command -v debootstrap >/dev/null || { say "debootstrap is missing: apt-get install debootstrap"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

# Shared libraries that CPython's extension modules load; harmless where Debian's python3 is used.
packages=ca-certificates,netbase,tzdata,zlib1g,libssl3,libffi8,libsqlite3-0,libexpat1,libreadline8
packages+=,libbz2-1.0,liblzma5,libncursesw6,libuuid1

prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [[ $version =~ ^3\.(1[2-9]|[2-9][0-9])$ && -x $prefix/bin/python$version ]]; then
  source=copy
else
  source=debian
  packages+=,python3,python3-pip,python3-venv
fi

say "making a Debian 12 root from ${mirror:-the usual mirror} (about a minute)"
if ! debootstrap --variant=minbase --include="$packages" bookworm "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1; then
  tail -n 20 "$work/log" >&2
  say "debootstrap failed; its last lines are above"
  exit 1
fi

# Certificate authorities that this machine trusts on top of Debian's: a build or a verifier in
# the image must be able to reach what the machine itself can reach.
environment=(--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin')
shopt -s nullglob
authorities=(/usr/local/share/ca-certificates/*.crt)
if ((${#authorities[@]})); then
  cp "${authorities[@]}" "$root/usr/local/share/ca-certificates/"
  chroot "$root" update-ca-certificates >/dev/null 2>&1
  bundle=/etc/ssl/certs/ca-certificates.crt
  environment+=(--change "ENV SSL_CERT_FILE=$bundle PIP_CERT=$bundle REQUESTS_CA_BUNDLE=$bundle UV_NATIVE_TLS=1")
  say "added ${#authorities[@]} certificate authorities of this machine"
fi

if [[ $source == copy ]]; then
  say "copying CPython $version from $prefix"
  (
    cd "$prefix"
    shared=(lib/libpython"$version"*.so* lib/libpython3.so)
    tar --create --exclude=__pycache__ --exclude="lib/python$version/test" \
      --exclude="lib/python$version/idlelib" --exclude="lib/python$version/site-packages" \
      --exclude="lib/python$version/config-*" --exclude='*.a' \
      "lib/python$version" "include/python$version" "bin/python$version" "${shared[@]}"
  ) | tar --extract --no-same-owner --directory "$root/usr/local"
  mkdir -p "$root/usr/local/lib/python$version/site-packages"
  ln -sf "python$version" "$root/usr/local/bin/python3"
  chroot "$root" ldconfig
  chroot "$root" /usr/local/bin/python3 -m ensurepip >/dev/null 2>&1
  ln -sf pip3 "$root/usr/local/bin/pip"
  ln -sf python3 "$root/usr/local/bin/python"
else
  say "no CPython 3.12 or newer at $prefix: taking Debian's python3"
  ln -sf /usr/bin/python3 "$root/usr/local/bin/python"
fi
chroot "$root" python3 -c 'import bz2, ctypes, lzma, sqlite3, ssl, zlib; import sys; print("base-image: python", sys.version.split()[0], "works in the image")'

rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb \
  "$root"/usr/share/{doc,man,info,locale}/* "$root"/var/log/*

say "importing"
tar --create --directory "$root" --numeric-owner . |
  docker import --change 'LABEL infranoise.standin=true' --change 'CMD ["python3"]' \
    "${environment[@]}" - infranoise/base:bookworm >/dev/null
for name in "${missing[@]}"; do docker tag infranoise/base:bookworm "$name"; say "tagged $name"; done
say "done: $(docker image inspect --format '{{.Size}}' infranoise/base:bookworm | numfmt --to=si) bytes"
