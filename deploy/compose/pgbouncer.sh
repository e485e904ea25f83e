#!/bin/sh
# Give PgBouncer the one password it keeps, that of the user who reads those of the platform's roles.
set -eu
umask 077
printf '"pooler" "%s"\n' "$POOLER_PASSWORD" > /tmp/userlist.txt
exec pgbouncer /etc/pgbouncer/pgbouncer.ini
