"""Sveltia CMS and Decap CMS on this machine: their scripts, their configuration, and a server with the same entries.

Sveltia CMS reads the entries from a double of the API of Gitea, its own call for many files at once. Decap CMS reads them
from decap-server, its server for local work. One server sends all of it compressed, as a network for content does.
"""

import base64
import gzip
import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from tests.bench.peers import decap, npm_packages

OWNER, BRANCH, HEAD = "bench/site", "main", "1" * 40
FILES_PER_CALL, ENTRIES_PER_PAGE = 30, 1_000
"""The defaults of Gitea: `default_paging_num` and the size of a page of a tree."""

GZIP_LEVEL = 6
BROTLI = """const {brotliCompressSync} = require("zlib"), fs = require("fs");
fs.writeFileSync(process.argv[2], brotliCompressSync(fs.readFileSync(process.argv[1])));"""
PAGE = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>CMS</title></head><body><script src="{}"></script></body></html>'
SCRIPTS = {"sveltia": "@sveltia/cms/dist/sveltia-cms.js", "decap": "decap-cms/dist/decap-cms.js"}
"""The script of each peer, which loads others from its folder when they are needed."""

FIELDS = (
    ("title", "string"),
    ("date", "datetime"),
    ("draft", "boolean"),
    ("summary", "text"),
    ("body", "markdown"),
)


def configuration(backend: Mapping[str, str]) -> str:
    """Return the configuration of a peer as JSON, which is YAML. Galley reads the same collection."""
    fields = [{"label": name.capitalize(), "name": name, "widget": kind} for name, kind in FIELDS]
    posts = {"name": "posts", "label": "Posts", "folder": "content/posts", "create": True, "fields": fields}
    return json.dumps(
        {"backend": backend, "media_folder": "static/images", "public_folder": "/images", "collections": [posts]}
    )


@dataclass(frozen=True)
class PeerSite:
    """The running server, and the folders of the peers that are installed."""

    url: str
    names: tuple[str, ...]

    def page(self, name: str, path: str) -> str:
        """Return the URL of a page of a peer."""
        return f"{self.url}/{name}/#/collections/posts{path}"


class _Content:
    """The files that the server sends, compressed once."""

    def __init__(self, packages: Path, entries: Mapping[str, bytes], decap_url: str) -> None:
        self._packages, self._entries, self.decap_url = packages, entries, decap_url

    def script(self, name: str, file: str) -> bytes | None:
        """Return a script of a peer, compressed with Brotli, or None."""
        source = (self._packages / "node_modules" / SCRIPTS[name]).parent / file
        if source.suffix != ".js" or not source.is_file():
            return None
        compressed = source.with_suffix(".js.br")
        if not compressed.exists():
            subprocess.run(["node", "-e", BROTLI, source, compressed], check=True, timeout=300)
        return compressed.read_bytes()

    @cached_property
    def tree(self) -> list[dict[str, object]]:
        """The entries of the tree as Gitea returns them."""
        return [
            {"path": path, "mode": "100644", "type": "blob", "size": len(data), "sha": _sha(data)}
            for path, data in sorted(self._entries.items())
        ]

    def gitea(self, path: str, query: Mapping[str, list[str]], body: Any) -> Any:
        """Return the answer of a route of Gitea, or None."""
        if path == "/version":
            return {"version": "1.24.0"}
        if path == "/user":
            return {"id": 1, "login": "nell", "full_name": "Nell", "email": "nell@mail.example.org"}
        if path == "/settings/api":
            return {"default_paging_num": FILES_PER_CALL, "max_response_items": 50}
        if path == f"/repos/{OWNER}":
            return {"default_branch": BRANCH, "permissions": {"pull": True, "push": True}}
        if path == f"/repos/{OWNER}/branches/{BRANCH}":
            return {"commit": {"id": HEAD, "message": "First"}}
        if path.startswith(f"/repos/{OWNER}/git/trees/"):
            first = (int(query.get("page", ["1"])[0]) - 1) * ENTRIES_PER_PAGE
            return {
                "tree": self.tree[first : first + ENTRIES_PER_PAGE],
                "truncated": first + ENTRIES_PER_PAGE < len(self.tree),
            }
        if path == f"/repos/{OWNER}/file-contents":
            return [self._file(name) for name in body["files"]]
        return None

    def _file(self, path: str) -> dict[str, object]:
        data = self._entries[path]
        content = base64.b64encode(data).decode()
        names = {"name": path.rpartition("/")[2], "path": path, "sha": _sha(data), "type": "file"}
        return {**names, "size": len(data), "encoding": "base64", "content": content}


def _sha(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    content: _Content

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def do_GET(self) -> None:
        """Send a page, a script, a configuration, or an answer of Gitea."""
        url = urlsplit(self.path)
        name, _, file = url.path.strip("/").partition("/")
        script = self.content.script(name, file) if name in SCRIPTS else None
        if name in SCRIPTS and file == "":
            self._send(PAGE.format(SCRIPTS[name].rpartition("/")[2]).encode(), "text/html")
        elif script is not None:
            self._send(script, "text/javascript", coding="br", is_immutable=True)
        elif name in SCRIPTS and file == "config.yml":
            origin = f"http://127.0.0.1:{self.server.server_address[1]}"
            backends = {
                "sveltia": {"name": "gitea", "repo": OWNER, "branch": BRANCH, "api_root": f"{origin}/gitea/api/v1"},
                "decap": {"name": "proxy", "proxy_url": f"{origin}/decap/api", "branch": BRANCH},
            }
            self._send(configuration(backends[name]).encode(), "text/yaml")
        else:
            self._send_json(self._gitea(url.path, parse_qs(url.query), None))

    def do_POST(self) -> None:
        """Send an answer of decap-server or Gitea."""
        url, body = urlsplit(self.path), self.rfile.read(int(self.headers["Content-Length"]))
        if url.path == "/decap/api":
            answer = requests.post(
                self.content.decap_url, data=body, headers={"Content-Type": "application/json"}, timeout=60
            )
            self._send(answer.content, "application/json", status=answer.status_code)
        else:
            self._send_json(self._gitea(url.path, parse_qs(url.query), json.loads(body)))

    def _gitea(self, path: str, query: Mapping[str, list[str]], body: Any) -> Any:
        return self.content.gitea(path.removeprefix("/gitea/api/v1"), query, body)

    def _send_json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json", status=404 if value is None else 200)

    def _send(
        self, data: bytes, mimetype: str, *, status: int = 200, coding: str = "gzip", is_immutable: bool = False
    ) -> None:
        if coding == "gzip":
            data = gzip.compress(data, GZIP_LEVEL)
        self.send_response(status)
        self.send_header("Content-Type", mimetype)
        self.send_header("Content-Encoding", coding)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "public, max-age=31536000, immutable" if is_immutable else "no-cache")
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def peer_site(work_tree: Path, entries: Mapping[str, bytes]) -> Iterator[PeerSite | None]:
    """Serve both peers with the entries of a Git work tree, or None if npm is missing."""
    packages = npm_packages("cms")
    with decap(work_tree) as server:
        if packages is None or server is None:
            yield None
            return
        content = _Content(packages, entries, f"http://127.0.0.1:{server.port}/api/v1")
        for name, path in SCRIPTS.items():
            content.script(name, path.rpartition("/")[2])
        handler = type("Handler", (_Handler,), {"content": content})
        http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=http.serve_forever, daemon=True).start()
        try:
            yield PeerSite(f"http://127.0.0.1:{http.server_address[1]}", tuple(SCRIPTS))
        finally:
            http.shutdown()
            http.server_close()
