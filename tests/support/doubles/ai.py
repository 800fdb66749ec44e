"""Double of model providers on loopback: one server for both wire formats, with scripted replies and faults.

Each call receives the next reply of `script`; the last one is repeated. `fault` selects a fault instead.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ModelReply:
    """A reply: pieces of text, tool calls `(name, arguments)`, stop reason and token counts."""

    text: list[str] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    reason: str | None = None
    tokens: tuple[Any, Any] | None = (11, 7)
    pause_s: float = 0.0
    deltas: list[dict[str, Any]] = field(default_factory=list)
    """Deltas of chat completions in other forms than those of `text` and `calls`."""

    @property
    def whole(self) -> str:
        return "".join(self.text)


@dataclass
class ModelRequest:
    """A received request, and the time at which its connection closed."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at_s: float = field(default_factory=time.monotonic)
    sent: int = 0
    closed_at_s: float | None = None


def say(*pieces: str, **more: Any) -> ModelReply:
    return ModelReply(list(pieces), **more)


class AiDouble:
    """The server. `fault` is one of: a status (with `fault_body`, `fault_headers`), or a name in `INSTEAD` or `MID_STREAM`.

    The first `fault_after` calls have no fault.
    """

    INSTEAD = ("html", "json", "silent", "no-events")
    """What comes instead of an answer."""
    MID_STREAM = ("stall", "reset", "cut", "garbage", "error", "not-utf8", "huge", "endless")
    """What comes after `fault_at` events of one."""

    def __init__(self, *script: ModelReply) -> None:
        self.script = list(script) or [say("Hel", "lo")]
        self.asked: list[ModelRequest] = []
        self.fault: int | str | None = None
        self.fault_times = 10**9
        self.fault_after = 0
        self.fault_at = 3
        self.fault_body: bytes = b'{"error": {"message": "no"}}'
        self.fault_headers: dict[str, str] = {}
        self.answer_to: Callable[[dict[str, Any]], ModelReply] | None = None
        self.keep_alive = True
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.root}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "AiDouble":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def last(self) -> ModelRequest:
        return self.asked[-1]

    def wait_closed(self, asked: ModelRequest, within_s: float) -> float:
        """Return the seconds until the caller closed the connection of a call. Fail after `within_s`."""
        start = time.monotonic()
        while asked.closed_at_s is None:
            assert time.monotonic() - start < within_s, "the call to the provider is still open"
            time.sleep(0.02)
        return asked.closed_at_s - start

    def next_reply(self, asked: ModelRequest) -> tuple[ModelReply, int | str | None]:
        with self._lock:
            self.asked.append(asked)
            fault = self.fault if self.fault_times > 0 and len(self.asked) > self.fault_after else None
            if fault is not None:
                self.fault_times -= 1
            if self.answer_to is not None:
                return self.answer_to(asked.body), fault
            reply = self.script[0] if len(self.script) == 1 else self.script.pop(0)
        return reply, fault


def openai_events(reply: ModelReply) -> Iterator[bytes]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        payload = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
        return _data(payload | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield chunk({"role": "assistant", "content": ""})
    for delta in reply.deltas:
        yield chunk(delta)
    for text in reply.text:
        yield chunk({"content": text})
    for at, (name, arguments) in enumerate(reply.calls):
        yield chunk({"tool_calls": [{"index": at, "id": f"call_{name}_{at}", "type": "function",
                                     "function": {"name": name, "arguments": ""}}]})  # fmt: skip
        for part in _halves(json.dumps(arguments)):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    yield chunk({}, reply.reason or ("tool_calls" if reply.calls else "stop"))
    if reply.tokens:
        usage = {"prompt_tokens": reply.tokens[0], "completion_tokens": reply.tokens[1]}
        yield _data({"id": "c", "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def anthropic_events(reply: ModelReply, forced: str | None) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return f"event: {kind}\n".encode() + _data({"type": kind, **more})

    told = reply.tokens or (0, 0)
    yield event("message_start", message={"id": "m", "usage": {"input_tokens": told[0], "output_tokens": 1}})
    yield event("ping")
    at = 0
    if reply.text:
        block = (
            {"type": "tool_use", "id": "toolu_f", "name": forced, "input": {}}
            if forced
            else {"type": "text", "text": ""}
        )
        yield event("content_block_start", index=at, content_block=block)
        for text in reply.text:
            kind = (
                {"type": "input_json_delta", "partial_json": text} if forced else {"type": "text_delta", "text": text}
            )
            yield event("content_block_delta", index=at, delta=kind)
        yield event("content_block_stop", index=at)
        at += 1
    for name, arguments in reply.calls:
        block = {"type": "tool_use", "id": f"call_{name}_{at}", "name": name, "input": {}}
        yield event("content_block_start", index=at, content_block=block)
        for part in _halves(json.dumps(arguments)):
            yield event("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": part})
        yield event("content_block_stop", index=at)
        at += 1
    reasons = {"length": "max_tokens", "stop": "end_turn", "content_filter": "refusal", None: "end_turn"}
    reason = "tool_use" if reply.calls or (forced and reply.reason is None) else reasons[reply.reason]
    yield event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": told[1]})
    yield event("message_stop")


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    double: AiDouble


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        double = self.server.double
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers["x-port"] = str(self.client_address[1])
        asked = ModelRequest(self.path, headers, body)
        reply, fault = double.next_reply(asked)
        try:
            self._answer(asked, reply, fault)
        except OSError:
            asked.closed_at_s = asked.closed_at_s or time.monotonic()
            self.close_connection = True

    def _answer(self, asked: ModelRequest, reply: ModelReply, fault: int | str | None) -> None:
        double = self.server.double
        if isinstance(fault, int):
            return self._plain(fault, double.fault_body, "application/json")
        if fault == "html":
            return self._plain(200, b"<html><body>Bad gateway</body></html>", "text/html")
        if fault == "json":
            return self._plain(200, b'{"choices": [{"message": {"content": "rubbish"}}]}', "application/json")
        if fault == "silent":
            return self._hold(asked)
        self._head()
        if self.path.endswith("/messages"):
            choice = asked.body.get("tool_choice")
            events = anthropic_events(reply, choice["name"] if choice else None)
        else:
            events = openai_events(reply)
        if fault == "no-events":
            return self._end()
        for at, event in enumerate(events):
            if fault in double.MID_STREAM and at == double.fault_at:
                return self._break(asked, fault)
            if reply.pause_s:
                time.sleep(reply.pause_s)
            self._chunk(event)
            asked.sent += 1
        return self._end()

    def _break(self, asked: ModelRequest, fault: str) -> None:
        if fault == "stall":
            return self._hold(asked)
        if fault == "garbage":
            self._chunk(b"data: {rubbish\n\n")
            return self._end()
        if fault == "not-utf8":
            self._chunk(
                b'data: {"type": "content_block_delta", "choices": [{"delta": {"content": "rubbish \xff\xfe"}}]}\n\n'
            )
            return self._end()
        if fault == "huge":
            self._chunk(b"data: ")
            for _ in range(20):
                self._chunk(b"rubbish " * 8192)
            return self._end()
        if fault == "error":
            self._chunk(_data({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
            return self._end()
        if fault == "endless":
            event = next(e for e in openai_events(say("x ")) if b'"x "' in e)
            while not self.server.double.stopping.is_set():
                self._chunk(event)
                asked.sent += 1
                time.sleep(0.02)
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close() if fault == "reset" else None
        return None

    def _hold(self, asked: ModelRequest) -> None:
        """Send no more bytes until the caller disconnects or the test ends."""
        self.connection.settimeout(0.05)
        while not self.server.double.stopping.is_set():
            try:
                if self.connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
        asked.closed_at_s = time.monotonic()
        self.close_connection = True

    def _plain(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), **self.server.double.fault_headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _head(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        if not self.server.double.keep_alive:
            self.send_header("Connection", "close")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        return
