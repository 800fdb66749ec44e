"""Loopback HTTP server for doubles of other services: routes, a journal of requests, and faults on demand."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Call:
    """A received request and the status of its response."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes
    status: int | None = None
    bearer: Any = None
    at_s: float = field(default_factory=time.monotonic)

    def one(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]

    def page(self) -> tuple[int, int]:
        return int(self.one("page", "1")), min(100, int(self.one("per_page", "30")))

    @property
    def data(self) -> Any:
        """Return the body of a JSON request or a form."""
        if "json" in self.headers.get("Content-Type", ""):
            return json.loads(self.body)
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


@dataclass
class Reply:
    """A response: bytes, or a value that is sent as JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else json.dumps(self.body).encode()


class Stop(Exception):
    """An exception that ends a handler with a reply."""

    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        super().__init__(status)
        self.reply = Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class Fault:
    """A fault of `times` requests after the first `skip` that match `where` with `METHOD /path`.

    `reply` replaces the response; `first` runs before the handler, such as a push; `lose` runs the handler and
    closes the connection without a response; `cut` sends half of the body; `delay_s` delays the response.
    """

    where: str
    times: int = 1
    skip: int = 0
    reply: Reply | None = None
    first: Callable[[], object] | None = None
    lose: bool = False
    cut: bool = False
    delay_s: float = 0.0

    def applies(self, call: Call) -> bool:
        if self.times <= 0 or not re.search(self.where, f"{call.method} {unquote(call.path)}"):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True


Handler = Callable[..., Reply]
Route = tuple[str, re.Pattern[str], Handler]


def route(method: str, pattern: str) -> Callable[[Handler], Handler]:
    """Declare a handler. `{name}` is one segment, `{name:path}` all further ones. Both are decoded."""
    named = re.sub(r"\{(\w+):path\}", r"(?P<\1>.+)", re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern))

    def declare(handler: Handler) -> Handler:
        handler.routes = [*getattr(handler, "routes", []), (method, re.compile(named))]  # type: ignore[attr-defined]
        return handler

    return declare


class Double:
    """A service on a loopback port. Subclasses declare routes and can refuse requests in `admit`."""

    def __init__(self) -> None:
        self.journal: list[Call] = []
        self.faults: list[Fault] = []
        self.latency_s = 0.0
        self.lock = threading.RLock()
        self.routes: list[Route] = [
            (method, pattern, getattr(self, name))
            for name in dir(type(self))
            for method, pattern in getattr(getattr(type(self), name), "routes", [])
        ]
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def admit(self, call: Call) -> None:
        """Check a request before its handler. Raise Stop to refuse it."""

    def add_headers(self, call: Call, reply: Reply) -> None:
        """Add headers to every reply."""

    def answer(self, call: Call) -> Reply:
        self.admit(call)
        for method, pattern, handler in self.routes:
            if method == call.method and (match := pattern.fullmatch(call.path)):
                return handler(call, **{name: unquote(value) for name, value in match.groupdict().items()})
        return Reply(404, {"message": "Not Found"})

    def calls(self, where: str) -> list[Call]:
        """Return the requests of the journal that match with `METHOD /path`."""
        with self.lock:
            return [call for call in self.journal if re.search(where, f"{call.method} {unquote(call.path)}")]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    double: Double


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server
    no_body: ClassVar = (204, 304)

    def _run(self) -> None:
        double, start = self.server.double, time.monotonic()
        where = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = Call(self.command, where.path, parse_qs(where.query, keep_blank_values=True), self.headers, body)
        with double.lock:
            double.journal.append(call)
            fault = next((each for each in double.faults if each.applies(call)), None)
        if fault and fault.first:
            fault.first()
        reply = fault.reply if fault and fault.reply else self._handled(call)
        call.status = reply.status
        wait_s = (fault.delay_s if fault else 0) + max(0.0, start + double.latency_s - time.monotonic())
        if wait_s:
            time.sleep(wait_s)
        if fault and fault.lose:
            self.close_connection = True
            return
        self._send(call, reply, cut=bool(fault and fault.cut))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _run

    def _handled(self, call: Call) -> Reply:
        try:
            return self.server.double.answer(call)
        except Stop as stop:
            return stop.reply
        except (KeyError, ValueError, TypeError, AssertionError) as fault:
            return Reply(500, {"message": f"double: {type(fault).__name__} {fault}"})

    def _send(self, call: Call, reply: Reply, *, cut: bool) -> None:
        self.server.double.add_headers(call, reply)
        body = reply.encoded()
        if call.method == "GET" and reply.status == 200:
            tag = 'W/"' + hashlib.sha256(body).hexdigest()[:32] + '"'
            reply.headers.setdefault("ETag", tag)
            if call.headers.get("If-None-Match") == tag:
                reply.status = call.status = 304
        self.send_response(reply.status)
        kind = "application/octet-stream" if isinstance(reply.body, bytes) else "application/json; charset=utf-8"
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        if reply.status not in self.no_body:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if call.method != "HEAD" and reply.status not in self.no_body:
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        if cut:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        return
