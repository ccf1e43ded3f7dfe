#!/bin/sh
# Starts the queue, or asks after it (`queue healthy`). The password comes from a file, and is on no
# command line: the configuration goes in by standard input.
set -eu
password=$(cat "${QUEUE_PASSWORD_FILE:-/run/secrets/queue_password}")
[ -n "$password" ] || { echo "queue: the password file is empty; run deploy/secrets.sh" >&2; exit 1; }

if [ "${1:-}" = healthy ]; then
  [ "$(REDISCLI_AUTH=$password redis-cli ping)" = PONG ]
  exit
fi
exec redis-server - <<END
$(cat /etc/infranoise/queue.conf)
maxmemory ${QUEUE_MEMORY:-256mb}
requirepass $password
END
