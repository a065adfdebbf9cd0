# The builder compiles; the image that runs has neither compiler nor package manager of Python, nor sources
# of what was compiled. docs/image.md says how to build and run it, and what takes the room.
ARG PYTHON=python:3.11-slim

FROM ${PYTHON} AS builder
# Whoever builds behind a proxy with a certificate of its own mounts only this file.
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN apt-get update \
    && apt-get install -y --no-install-recommends binutils gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Tools and dependencies before the sources, which change more often.
COPY constraints.txt pyproject.toml ./
COPY scripts/list_requirements.py scripts/
RUN python -m venv /tools \
    && /tools/bin/pip install -q -c constraints.txt build cyclonedx-bom $(python scripts/list_requirements.py build-system.requires)
COPY . .
RUN PYTHON_FOR_WEB=/tools/bin/python scripts/web.sh build
# Equal sources give equal wheels: `make image` gives the date of the last commit.
ARG SOURCE_DATE_EPOCH=315532800
RUN for project in clients/python .; do \
        SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH /tools/bin/python -m build --no-isolation --wheel -o /wheels $project; \
    done
RUN python -m venv --without-pip /opt/croupier \
    && /tools/bin/pip --python /opt/croupier/bin/python install -q --no-compile -c constraints.txt \
        /wheels/croupier-*.whl "$(echo /wheels/croupier_server-*.whl)[jwt,otel,postgres,webhooks]"
# The bill of materials, before the parts that no program reads are left out.
RUN install -d /opt/croupier/share \
    && /tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
        -o /opt/croupier/share/sbom.cdx.json /opt/croupier/bin/python \
    && find /opt/croupier '(' -name '*.c' -o -name '*.h' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.pyi' \
        -o -name '*.pyx' ')' -type f -delete \
    && find /opt/croupier -name '*.so' -exec strip --strip-unneeded {} +
COPY deploy/healthcheck /opt/croupier/bin/

FROM ${PYTHON}
RUN groupadd --gid 10001 croupier \
    && useradd --uid 10001 --gid croupier --no-create-home --home-dir /data --shell /usr/sbin/nologin croupier \
    && install -d -o croupier -g croupier /data \
    && find / -xdev -depth '(' -path '*/python3*/ensurepip' -o -path '*/site-packages/*' -o -path '*/dist-packages/*' \
        -o -path '*/python-wheels' -o -path '/usr/*bin/pip*' ')' -exec rm -rf {} +
COPY --from=builder /opt/croupier /opt/croupier
# Log lines leave at once.
ENV PATH=/opt/croupier/bin:$PATH PYTHONUNBUFFERED=1 \
    CROUPIER_LISTEN=0.0.0.0:50051 CROUPIER_WEB=0.0.0.0:8080 CROUPIER_METRICS_HOST=0.0.0.0 \
    CROUPIER_METRICS_PORT=9464 CROUPIER_DATA=/data
# A start writes the byte code of the modules that it imports. On a read-only root no later start could, and
# each would compile them again.
RUN cd / && bash -c 'set -e; coproc croupier serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --metrics-port 0 --store memory; \
        server=$COPROC_PID; read -r line <&"${COPROC[0]}"; echo "$line"; kill "$server"; wait "$server"' \
    && python -c 'import asyncpg, jwt, opentelemetry.exporter.otlp.proto.http.trace_exporter, service.store.postgresql'
USER 10001:10001
WORKDIR /data
VOLUME /data
# gRPC, browsers, metrics.
EXPOSE 50051 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["healthcheck"]
ENTRYPOINT ["croupier"]
CMD ["serve"]

# Last, since they change with each commit.
ARG VERSION=
ARG REVISION=
ARG SOURCE=
ARG CREATED=
LABEL org.opencontainers.image.title="Croupier" \
    org.opencontainers.image.description="A gRPC server for card games with hidden information" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION" \
    org.opencontainers.image.source="$SOURCE" \
    org.opencontainers.image.created="$CREATED"
