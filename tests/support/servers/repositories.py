"""A loopback web server for a folder of bare repositories (Git's protocol for static files)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.samples.gitrepo import GitRepo


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/moved"))
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        pass


class RepositoryServer:
    """The server. `/moved/<path>` redirects to `/<path>`. `paths` contains the requested paths."""

    def __init__(self, folder: Path) -> None:
        handler = partial(_Handler, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.paths: list[str] = []
        self._server.paths = self.paths  # type: ignore[attr-defined]
        self.host = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, repo: GitRepo) -> str:
        """Publish the present state of a repository and return its URL."""
        repo.git("update-server-info")
        return f"http://{self.host}/{repo.folder.name}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def repository_server(folder: Path) -> Iterator[RepositoryServer]:
    """Serve the repositories of a folder."""
    server = RepositoryServer(folder)
    try:
        yield server
    finally:
        server.close()
