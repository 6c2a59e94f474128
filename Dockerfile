# A first version: web process and worker in one container, as the Procfile says.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv git bubblewrap tini ca-certificates \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /srv/fixwright
COPY pyproject.toml constraints.txt README.md LICENSE Procfile ./
COPY app app
COPY domain domain
COPY evals evals
COPY harness harness
COPY providers providers
COPY store store
COPY worker worker
RUN python3 -m venv /opt/fixwright \
    && /opt/fixwright/bin/pip install --no-cache-dir -c constraints.txt . \
    && python3 -m venv /opt/tools \
    && /opt/tools/bin/pip install --no-cache-dir "pytest$(sed -n 's/^pytest==/==/p' constraints.txt)"
ENV PATH=/opt/fixwright/bin:$PATH \
    FIXWRIGHT_DATA_DIR=/data \
    FIXWRIGHT_HOST=0.0.0.0 \
    FIXWRIGHT_SANDBOX_TOOLS=/opt/tools \
    PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8400
# The first process must reap what sandboxes leave behind.
ENTRYPOINT ["tini", "--"]
CMD ["honcho", "start"]
