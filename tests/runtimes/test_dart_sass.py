"""Tests of the installation of Dart Sass. The registry is a server of this process."""

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.runtimes import dart_sass


class Registry:
    """A registry with a package for each platform. `checksum` replaces the one of the package."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.checksum: str | None = None
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name in ("package/dart-sass/sass", "package/dart-sass/../../escape", "package/other"):
                member = tarfile.TarInfo(name)
                member.size = 4
                archive.addfile(member, io.BytesIO(b"sass"))
        self.archive = packed.getvalue()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.requests.append(self.path)
                body = registry.answer(self.path)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str) -> bytes:
        if path == "/archive":
            return self.archive
        checksum = self.checksum or base64.b64encode(hashlib.sha512(self.archive).digest()).decode()
        return json.dumps({"dist": {"tarball": f"{self.url}/archive", "integrity": f"sha512-{checksum}"}}).encode()


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry()
    threading.Thread(target=registry.server.serve_forever, daemon=True).start()
    yield registry
    registry.server.shutdown()
    registry.server.server_close()


def install(tmp_path: Path, registry: Registry, *, path: str = "/nonexistent") -> str:
    command = [sys.executable, *dart_sass.command(str(tmp_path / "release"), str(tmp_path / "site"))[1:]]
    environment = {"HOME": str(tmp_path / "home"), "PATH": path, "npm_config_registry": registry.url}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def write_template(
    tmp_path: Path, folder: str = "themes/a/layouts/partials", text: str = '"transpiler" "dartsass"'
) -> None:
    file = tmp_path / "site" / folder / "head.html"
    file.parent.mkdir(parents=True)
    file.write_text(f"{{{{ css.Sass (dict {text}) }}}}")


def test_template_that_uses_dart_sass_installs_it(tmp_path: Path, registry: Registry) -> None:
    write_template(tmp_path)
    assert "$ npm install sass-embedded-linux-" in install(tmp_path, registry)
    program = tmp_path / "home" / ".local" / "bin" / "sass"
    assert program.resolve() == tmp_path / "release" / "sass" / "dart-sass" / "sass"
    assert os.access(program, os.X_OK)
    assert [path.name for path in (tmp_path / "release").rglob("*") if path.is_file()] == ["sass"]
    requests = len(registry.requests)
    program.unlink()
    install(tmp_path, registry)
    assert program.exists()
    assert len(registry.requests) == requests


@pytest.mark.parametrize(
    ("folder", "text"),
    [("layouts", "'transpiler' 'libsass'"), ("content", "dartsass"), ("node_modules/layouts", "dartsass")],
)
def test_site_without_dart_sass_requests_nothing(tmp_path: Path, registry: Registry, folder: str, text: str) -> None:
    write_template(tmp_path, folder, text)
    assert install(tmp_path, registry) == ""
    assert registry.requests == []


def test_program_of_the_system_is_used(tmp_path: Path, registry: Registry) -> None:
    write_template(tmp_path)
    program = tmp_path / "bin" / "sass"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$1" = --embedded ]\n')
    program.chmod(0o755)
    assert install(tmp_path, registry, path=f"{program.parent}:/bin") == ""
    assert registry.requests == []


def test_package_with_another_checksum_is_refused(tmp_path: Path, registry: Registry) -> None:
    write_template(tmp_path)
    registry.checksum = base64.b64encode(bytes(64)).decode()
    assert "Dart Sass could not be installed: the checksum" in install(tmp_path, registry)
    assert not (tmp_path / "release" / "sass").exists()
