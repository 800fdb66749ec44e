"""How gunicorn serves: gevent workers, bounded input, a drain of 25 seconds.

Runs before the workers patch the standard library, so it imports nothing that binds names of `ssl` or `socket`.
"""

import os
import shutil
import tempfile
from pathlib import Path

from dotenv import load_dotenv

load_dotenv(Path(__file__).with_name(".env"))

_host = os.environ.get("HOST") or "127.0.0.1"
_port = os.environ.get("PORT") or "8000"
bind = f"[{_host}]:{_port}" if ":" in _host else f"{_host}:{_port}"
workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
worker_class = "gevent"
worker_connections = 1000
preload_app = False
# A file that is touched every second should not touch a disk.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (gunicorn makes a private file)

timeout = 30
graceful_timeout = 25
# For gevent workers this is also how long a client may take to send its header.
keepalive = 10
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 8190
# Who the client is, `TRUSTED_HOPS` says; gunicorn itself believes no forwarding header.
forwarded_allow_ips = ""

# The application logs requests itself, with their ids.
accesslog = None
errorlog = "-"
loglevel = (os.environ.get("LOG_LEVEL") or "info").lower()
# Its default path is shared by every gunicorn of a user, and nothing here uses it.
control_socket_disable = True

# Workers count metrics in files of one folder, so that any of them can answer for all.
_metrics = None if "PROMETHEUS_MULTIPROC_DIR" in os.environ else tempfile.mkdtemp(prefix="galley-metrics-")
if _metrics:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = _metrics


def post_worker_init(worker: object) -> None:
    """Let open streams know when their worker is told to end, so that they end with a word instead of being cut."""
    from app.http import streaming

    streaming.draining = lambda: not getattr(worker, "alive", True)


def on_exit(_server: object) -> None:
    """Take the metrics folder away that was made above."""
    if _metrics:
        shutil.rmtree(_metrics, ignore_errors=True)
