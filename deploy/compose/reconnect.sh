#!/bin/sh
# Patroni calls it when a server begins or its role changes: have both PgBouncer drop what leads to a former primary, and
# what they repeat of it to every client (in_hot_standby). Twice, for HAProxy looks every two seconds who is the primary.
# One that is away forgets by that.
export PGUSER="${PGUSER:-pooler}" PGPORT="${PGPORT:-6432}" PGPASSWORD="$POOLER_PASSWORD" PGCONNECT_TIMEOUT=3
for pause in 0 5; do
  sleep "$pause"
  for pooler in ${POOLERS:-pgbouncer1 pgbouncer2}; do
    psql -qX -h "$pooler" -d pgbouncer -c RECONNECT || echo "$pooler was not told" >&2
  done
done
