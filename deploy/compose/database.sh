#!/bin/sh
# Starts the ledger's database, and makes it the first time.
set -eu
password_file=${DATABASE_PASSWORD_FILE:-/run/secrets/database_password}
[ -s "$password_file" ] || { echo "database: the password file is empty; run deploy/secrets.sh" >&2; exit 1; }

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Made aside and moved when it is whole, so that a first start that is cut off begins anew.
  rm -rf "$PGDATA.making"
  initdb --pgdata="$PGDATA.making" --username=postgres --auth-local=peer \
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --data-checksums
  echo "host infranoise infranoise all scram-sha-256" >>"$PGDATA.making/pg_hba.conf"
  postgres --single -D "$PGDATA.making" postgres >/dev/null <<END
CREATE ROLE infranoise LOGIN PASSWORD '$(cat "$password_file")';
CREATE DATABASE infranoise OWNER infranoise;
END
  mv "$PGDATA.making" "$PGDATA"
fi
exec postgres -D "$PGDATA" -c unix_socket_directories=/tmp -c listen_addresses='*' -c max_connections=50
