"""gunicorn configuration with a port that reports the resources of a worker.

Each connection to `OBSERVED_PORT` receives one JSON object and is closed.
"""

import os
import runpy
from pathlib import Path
from typing import Any

_ours = runpy.run_path(str(Path(__file__).resolve().parents[2] / "gunicorn.conf.py"))
globals().update({name: value for name, value in _ours.items() if not name.startswith("__")})


def post_worker_init(worker: Any) -> None:
    """Run the configured hook, then serve the report."""
    from gevent.server import StreamServer

    _ours["post_worker_init"](worker)
    StreamServer(("127.0.0.1", int(os.environ["OBSERVED_PORT"])), _report).start()


def _report(connection: Any, _address: object) -> None:
    import gc
    import json

    from greenlet import greenlet

    from app.concurrency.timer import ticker

    gc.collect()
    alive = sum(1 for each in gc.get_objects() if isinstance(each, greenlet) and not each.dead)
    held = {"greenlets": alive, "watched": len(ticker), "descriptors": len(list(Path("/proc/self/fd").iterdir()))}
    connection.sendall(json.dumps(held).encode())
