#!/bin/sh
# Runs one policy of this task in /app: run.sh lean|heavy|adaptive|mixed
# These are policies, not models: scripts whose every step is known beforehand.
policies="${INFRANOISE_ROOT}/policy"

run() { exec python3 -I -S "$policies/$1.py"; }

case "$1" in
  # exec, so that a kill by the kernel is seen as this command's own end (137).
  lean | heavy) run "$1" ;;
  # heavy as a child that may be killed; then the lean way.
  adaptive) (run heavy) || run lean ;;
  mixed) run "$(python3 -I -S "$policies/mixed.py")" ;;
  *) echo "run.sh: no policy '$1'; there are lean, heavy, adaptive, mixed" >&2; exit 64 ;;
esac
