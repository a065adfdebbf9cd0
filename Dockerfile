# The builder compiles; the image that runs has neither compiler nor sources.
FROM python:3.11-slim AS builder
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Tools and dependencies before the sources, which change more often.
COPY constraints.txt ./
RUN python -m venv /tools \
    && /tools/bin/pip install --no-cache-dir -c constraints.txt \
        setuptools cython grpcio-tools protovalidate
COPY . .
RUN PYTHON_FOR_WEB=/tools/bin/python scripts/web.sh build
RUN /tools/bin/pip wheel --no-build-isolation --no-deps -w /wheels ./clients/python .
RUN python -m venv /opt/croupier \
    && /opt/croupier/bin/pip install --no-cache-dir -c constraints.txt \
        /wheels/croupier_client-*.whl "$(echo /wheels/croupier-*.whl)[jwt,postgres]"

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin croupier \
    && install -d -o croupier -g croupier /data
COPY --from=builder /opt/croupier /opt/croupier
# Log lines leave at once. gRPC would print one for each stranger who does not speak TLS.
ENV PATH=/opt/croupier/bin:$PATH PYTHONUNBUFFERED=1 GRPC_VERBOSITY=ERROR
USER 10001
WORKDIR /data
VOLUME /data
# gRPC, browsers, metrics.
EXPOSE 50051 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["croupier", "health", "--server", "127.0.0.1:50051"]
ENTRYPOINT ["croupier"]
CMD ["serve", "--listen", "0.0.0.0:50051", "--web", "0.0.0.0:8080", "--metrics-port", "9464", "--data", "/data"]
