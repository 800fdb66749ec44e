"""The worker class of gunicorn: limits on the request head, and errors of the server as JSON.

gunicorn imports this module before it patches the standard library, so everything else is imported in the worker.
"""

import contextlib
import os
import signal
import socket
import time
from typing import Any

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, UnsupportedTransferCoding
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.workers.ggevent import GeventWorker

from app.core.limits import InputLimits
from app.http.connection_body import ConnectionBody, check_length

MAX_LINE_BYTES = InputLimits.url_bytes + 64
"""The URL with its method and version. gunicorn's setting ends at 8,190 bytes."""

MAX_HEAD_BYTES = InputLimits.header_bytes + 8 * 1024
"""All headers as they are sent. gunicorn derives one megabyte from the number and the size of the fields."""


class BoundedRequest(Request):
    """A request whose line, headers and chunks are limited while they are received."""

    def set_body_reader(self) -> None:
        """Use the body with limits."""
        super().set_body_reader()  # type: ignore[no-untyped-call]
        self.body = ConnectionBody(self)

    def parse(self, unreader: object) -> object:
        """Parse the request head within the limits."""
        self.limit_request_line, self.max_buffer_headers = MAX_LINE_BYTES, MAX_HEAD_BYTES
        return super().parse(unreader)  # type: ignore[no-untyped-call]

    def read_into(self, unreader: object, buf: bytearray, stop: bool = False) -> None:
        """Read more of the head. The parser in C has no limits of this size.

        Raises:
            LimitRequestLine, LimitRequestHeaders: the head is incomplete and exceeds its limit.
        """
        is_in_line = self.method is None and len(buf) > MAX_LINE_BYTES
        if is_in_line and buf.find(b"\n", 0, MAX_LINE_BYTES) < 0:
            raise LimitRequestLine(len(buf), MAX_LINE_BYTES)  # type: ignore[no-untyped-call]
        if len(buf) > MAX_LINE_BYTES + MAX_HEAD_BYTES:
            raise LimitRequestHeaders("max buffer headers")  # type: ignore[no-untyped-call]
        super().read_into(unreader, buf, stop)  # type: ignore[no-untyped-call]


class GalleyWorker(GeventWorker):
    """A gevent worker that responds to unreadable requests with the envelope of the API."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[no-untyped-call]
        self._waiting_since: dict[socket.socket, float | None] = {}
        """The open connections. The value is None while a request is answered."""
        self.is_ending = False
        """True if the main greenlet has left the loop of the server."""

    def init_process(self) -> None:
        """Use the limited request, then serve."""
        _exit_on_signal()  # The handlers of the server would ignore a signal.
        # gunicorn has no setting for the class of its requests, and its settings cannot limit all headers together.
        RequestParser.mesg_class = BoundedRequest
        super().init_process()  # type: ignore[no-untyped-call]

    def init_signals(self) -> None:
        """Replace the handlers of gunicorn, which run while the application is imported and print a traceback."""
        super().init_signals()  # type: ignore[no-untyped-call]
        _exit_on_signal()

    def run(self) -> None:
        """Serve until the drain ends, then close the connections to the database."""
        from app.extensions import db

        try:
            super().run()  # type: ignore[no-untyped-call]
        finally:
            self.is_ending = True
            with self.wsgi.app_context():
                db.engine.dispose()

    def handle(self, listener: object, client: socket.socket, addr: object) -> None:
        """Serve a connection in the present greenlet."""
        self._waiting_since[client] = time.monotonic()
        try:
            super().handle(listener, client, addr)  # type: ignore[no-untyped-call]
        finally:
            del self._waiting_since[client]

    def handle_request(self, listener_name: object, req: object, sock: socket.socket, addr: object) -> None:
        """Answer a request. Its connection is not idle until the end of the answer."""
        self._waiting_since[sock] = None
        super().handle_request(listener_name, req, sock, addr)  # type: ignore[no-untyped-call]
        self._waiting_since[sock] = time.monotonic()

    def is_serving(self) -> bool:
        """Return whether a connection is open or waits to be accepted."""
        from gevent import select, sleep

        listeners = [listener for listener in self.sockets if listener.fileno() >= 0]
        pending, _, _ = select.select(listeners, [], [], 0)
        sleep(0)  # let the greenlet of an accepted connection start, because `handle` registers the connection
        return bool(pending or self._waiting_since)

    def close_idle_connections(self, idle_s: float) -> None:
        """End the connections that have waited for a request for `idle_s` seconds.

        A received request is still answered.
        """
        for client, since_s in list(self._waiting_since.items()):
            if since_s is not None and time.monotonic() - since_s >= idle_s:
                with contextlib.suppress(OSError):
                    _shut_down_reading(client)

    def handle_error(self, req: object, client: socket.socket, addr: object, exc: BaseException) -> None:
        """Send the error as JSON. The log contains neither the URL nor header values, which may be secrets."""
        from app.http import server_errors

        error = server_errors.of(exc, getattr(req, "headers", ()))
        peer = addr[0] if isinstance(addr, tuple) else "-"
        details = f"{error.status} {error.code} from {peer}, request {error.request_id}: {type(exc).__name__}"
        if error.status >= 500 and error.code == "INTERNAL":
            self.log.exception("Error handling a request: %s", details)
        else:
            self.log.warning("Invalid request: %s", details)
        server_errors.send(client, error)


def _exit_on_signal() -> None:
    """Exit at once on a signal to end. A worker that is still starting has nothing to release.

    Ctrl-C reaches all processes of a terminal. The server then sends SIGQUIT to its workers.
    """
    for number in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _shut_down_reading(connection: socket.socket) -> None:
    """End the reading side of a connection, so that its greenlet reads received bytes and then the end.

    The method of gevent would raise an error in this greenlet, which gunicorn logs with a traceback.
    """
    from gevent import monkey

    plain = monkey.get_original("socket", "socket")
    with plain(fileno=os.dup(connection.fileno())) as duplicate:
        duplicate.shutdown(socket.SHUT_RD)


def check_request(request: Any) -> None:
    """Check what gunicorn accepts and the service does not.

    Raises:
        LimitRequestLine: the URL is longer than 8 KiB.
        UnsupportedTransferCoding: the body is compressed; gunicorn would pass on the compressed bytes.
        AbsurdLength: the declared length is far above that of any body.
    """
    if len(request.uri) > InputLimits.url_bytes:
        raise LimitRequestLine(len(request.uri), InputLimits.url_bytes)  # type: ignore[no-untyped-call]
    for name, value in request.headers:
        if name == "TRANSFER-ENCODING" and value.strip().lower() != "chunked":
            raise UnsupportedTransferCoding("compressed")  # type: ignore[no-untyped-call]
        if name == "CONTENT-LENGTH":
            check_length(value)
