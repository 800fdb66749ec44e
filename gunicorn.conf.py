"""Configuration of gunicorn: gevent workers, bounded input, a drain of 25 seconds.

gunicorn reads this file before the workers patch the standard library. It imports no module that binds names of `ssl`
or `socket`.
"""

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dotenv import load_dotenv

from app.core.limits import InputLimits
from app.core.temporary_folders import remove_leftovers
from app.settings.server import read_server_variables

DESCRIPTORS = 8192

load_dotenv(Path(__file__).with_name(".env"))

_variables = read_server_variables(os.environ)
_host, _port = _variables["server"]["host"], _variables["server"]["port"]
bind = f"[{_host}]:{_port}" if ":" in _host else f"{_host}:{_port}"
workers = _variables["server"]["web_concurrency"]
worker_class = "app.http.gunicorn_worker.GalleyWorker"
# 1,000 streams and as many other connections.
worker_connections = 2000
preload_app = False
# A stream uses a descriptor on each side. The default soft limit of many systems is lower.
_descriptors, _hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
if 0 <= _descriptors < DESCRIPTORS:
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (DESCRIPTORS if _hard_limit < 0 else min(DESCRIPTORS, _hard_limit), _hard_limit)
    )
# gunicorn updates this file every second, so it is in memory.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (gunicorn makes a private file)

timeout = 30
graceful_timeout = 25
# gevent workers also apply this timeout to the header of a request.
keepalive = InputLimits.header_timeout_s
# The parser in C if it is installed. The worker class limits the request line and the headers for both parsers.
http_parser = "auto"
limit_request_line = 0
limit_request_fields = 64
limit_request_field_size = InputLimits.header_bytes
# `TRUSTED_HOPS` decides the client address. gunicorn evaluates no forwarding header.
forwarded_allow_ips = ""

# The application logs requests, with their ids.
accesslog = None
errorlog = "-"
logger_class = "app.observability.gunicorn_logger.RedactingLogger"
loglevel = _variables["log"]["level"].lower()
# All gunicorn processes of a user share the default path, and no code uses the socket.
control_socket_disable = True

OLD_S = 60.0


def _make_metrics_folder() -> str:
    """Return a new folder. Delete those of killed servers, whose locks no process holds."""
    for lock_file in Path(tempfile.gettempdir()).glob("galley-metrics-*/lock"):
        with contextlib.suppress(OSError), lock_file.open() as lock:
            if time.time() - lock_file.stat().st_mtime > OLD_S:  # A younger one may not be locked yet.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock_file.parent, ignore_errors=True)
    folder = tempfile.mkdtemp(prefix="galley-metrics-")
    # The descriptor stays open in this process and its workers.
    fcntl.flock(os.open(Path(folder, "lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX)
    return folder


# Workers count metrics in files of one folder, so that each of them can report all.
_metrics = None if "PROMETHEUS_MULTIPROC_DIR" in os.environ else _make_metrics_folder()
if _metrics:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = _metrics


# While a worker ends, it closes connections that are idle for this time. It is longer than `keepalive_timeout` of the
# nginx template, so that nginx does not use a connection that is being closed.
IDLE_CONNECTION_S = 6.0
IDLE_CHECK_S = 0.1


def when_ready(server: Any) -> None:
    """Refuse connections until a worker is ready, so that a proxy uses another node.

    gunicorn listens some milliseconds before it calls this hook. A connection that is established in between is reset.
    """
    if sys.platform == "linux" and not server.systemd:
        for listener in server.LISTENERS:
            listener.sock.shutdown(socket.SHUT_RD)


def post_worker_init(worker: Any) -> None:
    """Accept connections, and install the drain of the worker."""
    remove_leftovers("push")
    for listener in worker.sockets:
        listener.listen(worker.cfg.backlog)
    _install_drain(worker)


def _install_drain(worker: Any) -> None:
    """On the first signal to end, inform streams and /readyz, answer the requests of all connections, then exit.

    gunicorn closes the listening sockets within a second.
    """
    import gevent

    from app.http.streaming import response

    signals: list[int] = []

    def drain(number: int, frame: object) -> None:
        worker.handle_exit(number, frame)
        while worker.is_serving():
            worker.close_idle_connections(IDLE_CONNECTION_S)
            gevent.sleep(IDLE_CHECK_S)
        # gevent raises this in the main greenlet, which checks only once per second whether it must end. It must not
        # interrupt the exit handlers.
        if not worker.is_ending:
            sys.exit(0)

    def begin(number: int, frame: object) -> None:
        if not signals:
            gevent.spawn(drain, number, frame)
        signals.append(number)

    response.draining = lambda: bool(signals) or not worker.alive
    signal.signal(signal.SIGTERM, begin)
    signal.signal(signal.SIGQUIT, begin)


def pre_request(_worker: Any, req: Any) -> None:
    """Refuse requests that gunicorn accepts and the service does not."""
    from app.http.gunicorn_worker import check_request

    check_request(req)


def post_request(_worker: Any, req: Any, environ: Any, _resp: Any) -> None:
    """Discard the unread body of a request."""
    from app.http.gunicorn_hooks import finish_request

    finish_request(req, environ)


def child_exit(_server: object, worker: Any) -> None:
    """Delete the gauges of a worker that has exited. Its counters stay."""
    if _metrics:
        for file in Path(_metrics).glob(f"gauge_live*_{worker.pid}.db"):
            file.unlink(missing_ok=True)


def on_exit(_server: object) -> None:
    """Delete the metrics folder of this process."""
    if _metrics:
        shutil.rmtree(_metrics, ignore_errors=True)
