# The service in one container: web process and worker as two users, the agent's commands as a third.
# docs/how-to/image.md tells how it is built and run.
ARG BASE_IMAGE=debian:12-slim

FROM ${BASE_IMAGE} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv ca-certificates
WORKDIR /src
# Dependencies first: they stay as they are while the service changes.
COPY pyproject.toml constraints.txt ./
RUN python3 -m venv /opt/fixwright \
    && python3 -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
        > /tmp/requirements.txt \
    && /opt/fixwright/bin/pip install --no-cache-dir --no-compile -c constraints.txt -r /tmp/requirements.txt
COPY deploy/image/slim.py deploy/image/
COPY README.md LICENSE ./
COPY app app
COPY domain domain
COPY evals evals
COPY harness harness
COPY providers providers
COPY store store
COPY worker worker
# What is really imported is compiled once: both processes and each agent start in a third of the time.
RUN /opt/fixwright/bin/pip install --no-cache-dir --no-compile --no-deps . \
    && python3 deploy/image/slim.py /opt/fixwright \
    && cd / && LITELLM_LOCAL_MODEL_COST_MAP=True /opt/fixwright/bin/python -c "import app.serve, app.work, app.cli, harness.agent.conversation, harness.agent.child"

FROM ${BASE_IMAGE}
ARG TOOLCHAINS="python node"
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv git bubblewrap tini ca-certificates \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/*
COPY constraints.txt deploy/image/toolchains /tmp/
RUN apt-get update \
    && sh /tmp/toolchains /opt/tools "$(sed -n 's/^pytest==/==/p' /tmp/constraints.txt)" ${TOOLCHAINS} \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/* /tmp/toolchains /tmp/constraints.txt
RUN groupadd --gid 8400 fixwright \
    && useradd --uid 8401 --user-group --groups fixwright --no-create-home --shell /usr/sbin/nologin web \
    && useradd --uid 8402 --user-group --groups fixwright --no-create-home --shell /usr/sbin/nologin worker \
    && useradd --uid 8403 --user-group --no-create-home --shell /usr/sbin/nologin agent
COPY --from=build /opt/fixwright /opt/fixwright
COPY deploy/image/entrypoint deploy/image/fixwright-as /usr/local/bin/
WORKDIR /srv/fixwright
COPY deploy/image/Procfile ./
ARG VERSION=""
ARG REVISION=""
ENV PATH=/opt/fixwright/bin:$PATH \
    FIXWRIGHT_DATA_DIR=/data \
    FIXWRIGHT_HOST=0.0.0.0 \
    FIXWRIGHT_SANDBOX_TOOLS=/opt/tools \
    FIXWRIGHT_SANDBOX_UID=8403 \
    PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="fixwright" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version=${VERSION} \
    org.opencontainers.image.revision=${REVISION}
VOLUME /data
EXPOSE 8400
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
    CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8400/healthz', timeout=2)"]
# tini reaps what sandboxes leave behind, also where it is not the first process.
ENTRYPOINT ["tini", "-s", "--", "entrypoint"]
CMD ["honcho", "start"]
