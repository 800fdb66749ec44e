# The image of the server and of the worker; which of the two a container is, its command says.
FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /venv
COPY requirements.txt .
RUN /venv/bin/pip install --require-hashes -r requirements.txt

FROM python:3.13-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home galley \
    && install -d -o galley -g galley -m 0750 /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    HOST=0.0.0.0 PORT=8000 INSTANCE_DIR=/data LOG_FORMAT=json
WORKDIR /galley
COPY --from=build /venv /venv
COPY . .
USER galley
VOLUME /data
EXPOSE 8000
# Longer than the server's own drain of 25 seconds must the stop time-out be: `docker stop -t 30`.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD \
    ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=2)"]
CMD ["gunicorn", "wsgi:app"]
