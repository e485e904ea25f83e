# PgBouncer as Debian has it, for deploy/compose/many.yaml.
FROM debian:trixie-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --no-install-recommends -y pgbouncer postgresql-client \
    && rm -rf /var/lib/apt/lists/*
COPY deploy/compose/pgbouncer.ini /etc/pgbouncer/pgbouncer.ini
COPY --chmod=0755 deploy/compose/pgbouncer.sh /usr/local/bin/start
USER postgres
EXPOSE 6432
HEALTHCHECK --interval=10s --timeout=5s CMD ["pg_isready", "-q", "-h", "localhost", "-p", "6432"]
ENTRYPOINT ["/usr/local/bin/start"]
