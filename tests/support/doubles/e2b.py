"""Double of E2B's sandbox service on one loopback port: its API, the `envd` of each microVM, and traffic to its ports.

A microVM is a folder with real processes (unconfined, for tests only), selected by the Host header. The shapes are those
of the published `spec/openapi.yml` and `spec/envd`.
"""

import contextlib
import email.parser
import email.policy
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import struct
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from tests.support.servers.ports import free_port

KEY = "e2b_0123456789abcdef"
DOMAIN = "sandboxes.example.org"
HOST = re.compile(rf"(\d+)-(\w+)\.{re.escape(DOMAIN)}")
ENVD = 49983


class Vm:
    """A microVM."""

    def __init__(self, home: Path, told: dict[str, Any]) -> None:
        self.id = "i" + secrets.token_hex(9)
        self.home, self.told = home / self.id, told
        self.home.mkdir(parents=True)
        self.envd_token, self.traffic_token = secrets.token_hex(16), secrets.token_hex(16)
        self.until = time.monotonic() + told.get("timeout", 15)
        self.network = told.get("network", {})
        self.processes: list[subprocess.Popen[bytes]] = []
        self.port = free_port()

    def path(self, name: str) -> Path:
        assert not name.startswith("/"), name
        return self.home / name

    def run(self, process: dict[str, Any]) -> int:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "MARK": self.id} | process["envs"]
        env |= {"PORT": str(self.port)}  # Every microVM has its own ports.
        done = subprocess.run([process["cmd"], *process["args"]], env=env, cwd=self.home, timeout=30, check=False)
        return done.returncode

    def kill(self) -> None:
        """End every process of the microVM."""
        for _ in range(3):
            for place in Path("/proc").iterdir():
                with contextlib.suppress(OSError, ValueError):
                    if f"MARK={self.id}".encode() in (place / "environ").read_bytes().split(b"\0"):
                        os.kill(int(place.name), signal.SIGKILL)
        shutil.rmtree(self.home, ignore_errors=True)


class E2B:
    """The service."""

    def __init__(self, home: Path) -> None:
        self.home, self.vms, self.lock = home, {}, threading.RLock()
        self.refuse: int | None = None
        self.journal: list[tuple[str, str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.double = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    vms: dict[str, Vm]

    def __enter__(self) -> "E2B":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for vm in self.vms.values():
            vm.kill()

    def find(self, vm_id: str) -> Vm | None:
        """Return a running microVM. Expired ones are ended first."""
        with self.lock:
            for vm in [vm for vm in self.vms.values() if vm.until < time.monotonic()]:
                self.vms.pop(vm.id).kill()
            return self.vms.get(vm_id)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _any(self) -> None:
        double: E2B = self.server.double  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        named = HOST.fullmatch(self.headers.get("Host", ""))
        if named is None:
            return self._api(double, body)
        vm = double.find(named[2])
        if vm is None:
            return self._json(502, {"sandboxId": named[2], "message": "The sandbox was not found", "code": 502})
        return self._envd(double, vm, body) if int(named[1]) == ENVD else self._traffic(vm, body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _any

    def _api(self, double: E2B, body: bytes) -> None:
        parts = urlsplit(self.path)
        content = json.loads(body) if body else None
        double.journal.append((self.command, parts.path, content))
        if self.headers.get("X-API-Key") != KEY:
            return self._json(401, {"code": 401, "message": "Invalid API key"})
        if double.refuse is not None:
            return self._json(double.refuse, {"code": double.refuse, "message": "refused"})
        if (self.command, parts.path) == ("POST", "/sandboxes"):
            assert content is not None
            vm = Vm(double.home, content)
            double.vms[vm.id] = vm
            return self._json(201, self._sandbox(vm))
        if (self.command, parts.path) == ("GET", "/v2/sandboxes"):
            return self._list(double, parse_qs(parts.query))
        _, _, vm_id, *rest = parts.path.split("/")
        vm = double.find(vm_id)
        if vm is None:
            return self._json(404, {"code": 404, "message": "Sandbox not found"})
        match (self.command, *rest):
            case ("GET",):
                return self._json(200, {"sandboxID": vm.id, "state": "running", "templateID": "base"})
            case ("DELETE",):
                double.vms.pop(vm.id).kill()
                return self._json(204)
            case ("POST", "timeout"):
                vm.until = time.monotonic() + content["timeout"]
                return self._json(204)
            case ("POST", "connect"):
                vm.until = max(vm.until, time.monotonic() + content["timeout"])
                return self._json(200, self._sandbox(vm))
            case ("PUT", "network"):
                vm.network = content
                return self._json(204)
        return self._json(404, {"code": 404, "message": "no such route"})

    def _list(self, double: E2B, query: dict[str, list[str]]) -> None:
        double.find("")
        expected = dict(parse_qsl(query["metadata"][0]))
        matches = [vm for vm in double.vms.values() if expected.items() <= vm.told["metadata"].items()]
        at, size = int(query.get("nextToken", ["0"])[0]), 2
        more = {"X-Next-Token": str(at + size)} if at + size < len(matches) else {}
        self._json(200, [{"sandboxID": vm.id, "metadata": vm.told["metadata"]} for vm in matches[at : at + size]], more)

    @staticmethod
    def _sandbox(vm: Vm) -> dict[str, Any]:
        return {
            "sandboxID": vm.id,
            "templateID": vm.told["templateID"],
            "clientID": "c",
            "envdVersion": "0.5.0",
            "envdAccessToken": vm.envd_token,
            "trafficAccessToken": vm.traffic_token,
            "domain": DOMAIN,
        }

    def _envd(self, double: E2B, vm: Vm, body: bytes) -> None:
        parts = urlsplit(self.path)
        double.journal.append((self.command, parts.path, None))
        if self.headers.get("X-Access-Token") != vm.envd_token:
            return self._json(401, {"code": 401, "message": "unauthorized access"})
        if parts.path == "/files":
            return self._files(vm, parse_qs(parts.query)["path"][0], body)
        assert parts.path == "/process.Process/Start", self.path
        assert self.headers["Content-Type"] == "application/connect+json"
        flags, length = struct.unpack_from(">BI", body)
        assert (flags, length) == (0, len(body) - 5)
        status = vm.run(json.loads(body[5:])["process"])
        ended = {"event": {"end": {"exited": True, "status": f"exit status {status}", "exitCode": status}}}
        frames = [(0, {"event": {"start": {"pid": 1}}}), (0, ended), (2, {})]
        packed = b"".join(
            struct.pack(">BI", flag, len(data := json.dumps(told).encode())) + data for flag, told in frames
        )
        return self._bytes(200, packed, {"Content-Type": "application/connect+json"})

    def _files(self, vm: Vm, name: str, body: bytes) -> None:
        path = vm.path(name)
        if self.command == "GET":
            if not path.is_file():
                return self._json(404, {"code": 404, "message": "path does not exist"})
            return self._bytes(200, path.read_bytes(), {"Content-Type": "application/octet-stream"})
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        content: Any = next(iter(parsed.iter_parts())).get_payload(decode=True)
        if path.is_dir():
            return self._json(400, {"code": 400, "message": "path is a directory"})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return self._json(200, [{"path": str(path), "name": path.name, "type": "file"}])

    def _traffic(self, vm: Vm, body: bytes) -> None:
        if self.headers.get("e2b-traffic-access-token") != vm.traffic_token:
            return self._json(403, {"code": 403, "message": "traffic needs a token"})
        connection = http.client.HTTPConnection("127.0.0.1", vm.port, timeout=30)
        headers = {**dict(self.headers), "Host": vm.network.get("maskRequestHost", self.headers["Host"])}
        connection.request(self.command, self.path, body or None, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return self._bytes(response.status, content, {"Content-Type": response.headers.get("Content-Type", "")})

    def _json(self, status: int, told: Any = None, headers: dict[str, str] | None = None) -> None:
        data = b"" if told is None else json.dumps(told).encode()
        self._bytes(status, data, {"Content-Type": "application/json", **(headers or {})})

    def _bytes(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
