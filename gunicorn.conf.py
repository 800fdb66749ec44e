"""How gunicorn serves: gevent workers, bounded input, a drain of 25 seconds.

Runs before the workers patch the standard library, so it imports nothing that binds names of `ssl`, or of `socket`.
"""

import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from dotenv import load_dotenv

DESCRIPTORS = 8192

load_dotenv(Path(__file__).with_name(".env"))

_host = os.environ.get("HOST") or "127.0.0.1"
_port = os.environ.get("PORT") or "8000"
bind = f"[{_host}]:{_port}" if ":" in _host else f"{_host}:{_port}"
workers = int(os.environ.get("WEB_CONCURRENCY") or 2)
worker_class = "gevent"
# A thousand streams, and room for everybody else beside them.
worker_connections = 2000
preload_app = False
# Each stream has a descriptor on either side; what many systems give at first is less than that.
_descriptors, _most = resource.getrlimit(resource.RLIMIT_NOFILE)
if 0 <= _descriptors < DESCRIPTORS:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS if _most < 0 else min(DESCRIPTORS, _most), _most))
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


# How long whoever is about to connect has to get in once a worker is told to end.
LAST_CONNECTIONS_S = 0.5


def when_ready(server: Any) -> None:
    """Refuse connections until a worker can answer: a proxy takes them to another node, and none waits for a start."""
    if sys.platform == "linux" and not server.systemd:
        for listener in server.LISTENERS:
            listener.sock.shutdown(socket.SHUT_RD)


def post_worker_init(worker: Any) -> None:
    """Take connections from now on, and see to it that the worker's end cuts nobody off."""
    for listener in worker.sockets:
        listener.listen(worker.cfg.backlog)
    _drain_at_the_end(worker)


def _drain_at_the_end(worker: Any) -> None:
    """On SIGTERM say so to streams and to /readyz, take in whoever is connecting, and only then close the door."""
    import gevent

    from app.core.listening import take_no_more
    from app.http import streaming

    begun: list[int] = []

    def close_the_door(number: int, frame: object) -> None:
        for listener in worker.sockets:
            take_no_more(listener)
        gevent.sleep(LAST_CONNECTIONS_S)
        worker.handle_exit(number, frame)

    def begin(number: int, frame: object) -> None:
        begun.append(number)
        gevent.spawn(close_the_door, number, frame)

    streaming.draining = lambda: bool(begun) or not worker.alive
    signal.signal(signal.SIGTERM, begin)


def child_exit(_server: object, worker: Any) -> None:
    """Forget the gauges of a worker that is gone; its counts stay."""
    if _metrics:
        for left in Path(_metrics).glob(f"gauge_live*_{worker.pid}.db"):
            left.unlink(missing_ok=True)


def on_exit(_server: object) -> None:
    """Take the metrics folder away that was made above."""
    if _metrics:
        shutil.rmtree(_metrics, ignore_errors=True)
