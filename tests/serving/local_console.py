"""The console on localhost in the process of the tests, for browsers that need a secure context and for clocks of tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask
from werkzeug.serving import make_server

from config import Settings
from tests.support.applications import application
from tests.support.console_assets import build_assets
from tests.support.servers.ports import free_port


@contextmanager
def local_console(folder: Path) -> Iterator[tuple[str, Flask]]:
    """Serve the console and yield its address and application."""
    build_assets()
    port = free_port()
    own = {"BASE_URL": f"http://localhost:{port}", "MAIL_DRIVER": "file", "RATE_LIMIT_SCALE": 1000}
    settings = Settings.for_tests(folder, PORT=port, **own)
    with application(settings) as app:
        server = make_server("127.0.0.1", port, app, threaded=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield settings.server.base_url, app
        server.shutdown()
        thread.join(30)
        server.server_close()
