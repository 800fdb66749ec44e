# The image of the server, the worker and the migrations. The command of the container selects one of them.
# For traces: --build-arg EXTRAS="-r requirements-otel.txt".
FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv
ARG EXTRAS=""
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
COPY requirements.txt requirements-otel.txt requirements-previews.txt ./
RUN python3 -m venv /venv && /venv/bin/pip install --no-deps --require-hashes --only-binary :all: \
    -r requirements.txt -r requirements-previews.txt $EXTRAS
# The assets of the console. Node stays in this stage.
COPY requirements-assets.txt ./
RUN python3 -m venv /node && /node/bin/pip install --no-deps --require-hashes --only-binary :all: -r requirements-assets.txt
COPY deploy/console_assets.py deploy/
COPY app/console/assets app/console/assets
RUN /node/bin/python deploy/console_assets.py --required

FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap ca-certificates git python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home galley \
    && install -d -o galley -g galley -m 0750 /data
ENV PATH=/venv/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=8000 INSTANCE_DIR=/data LOG_FORMAT=json
WORKDIR /galley
COPY --from=build /venv /venv
COPY LICENSE config.py gunicorn.conf.py wsgi.py ./
COPY migrations migrations
COPY app app
COPY --from=build /build/app/console/static app/console/static
RUN python -m compileall -q .
USER galley
VOLUME /data
EXPOSE 8000
# The server and the worker drain for 25 s and exit within 30 s: `docker stop -t 35`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=2)"]
CMD ["gunicorn", "wsgi:app"]
