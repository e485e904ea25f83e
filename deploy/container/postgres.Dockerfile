# PostgreSQL 18 with pgvector under Patroni, for deploy/compose/many.yaml.
FROM pgvector/pgvector:0.8.1-pg18-trixie
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --no-install-recommends -y python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/patroni \
    && /opt/patroni/bin/pip install --no-cache-dir "patroni[etcd3]==4.1.5" "psycopg[binary]==3.3.9" \
    && install -d -o postgres -g postgres -m 0700 /data
COPY deploy/compose/patroni.yaml /etc/patroni.yaml
COPY --chmod=0755 deploy/compose/bootstrap.sh deploy/compose/reconnect.sh /usr/local/bin/
USER postgres
VOLUME /data
EXPOSE 5432 8008
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/opt/patroni/bin/python", "-c", \
  "import urllib.request as r; r.urlopen('http://localhost:8008/health', timeout=4)"]
ENTRYPOINT ["/opt/patroni/bin/patroni", "/etc/patroni.yaml"]
