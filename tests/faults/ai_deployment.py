"""A small deployment whose model provider is a double behind a fault proxy, and a workload of AI calls."""

import json
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psutil

from tests.faults.small_deployment import SmallDeployment
from tests.faults.steps import until
from tests.faults.workload import Workload
from tests.resources.ai.streams import kinds, parts, text
from tests.support.doubles.ai import AiDouble
from tests.support.doubles.fault_proxy import FaultProxy
from tests.support.world import Person

FREED_WITHIN_S = 11
ASK = {"prompt": "Write about tea"}


class AiDeployment(SmallDeployment):
    """A deployment on SQLite with a model provider."""

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """Configure the double, behind the proxy, as the model of the operator."""
        self.double = stack.enter_context(AiDouble())
        self.proxy = stack.enter_context(FaultProxy(urlsplit(self.double.root).port or 0))
        self.key = secrets.token_hex(16)
        return super().environment(stack) | {
            "AI_PROVIDER": "openai",
            "AI_MODEL": "m",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.proxy.port}/v1",
            "OPENAI_API_KEY": self.key,
            "SANDBOX_DRIVER": "none",
        }

    def secrets(self) -> list[str]:
        """Return the key of the operator."""
        return [self.key]

    def connections(self) -> int:
        """Return the number of connections of the web workers to the provider."""
        workers = psutil.Process(self.service.process.pid).children()
        ends = [one for worker in workers for one in worker.net_connections("tcp") if one.raddr]
        return sum(one.raddr.port == self.proxy.port for one in ends)


@dataclass
class ModelReply:
    """The response to one prompt."""

    status: int
    raw: bytes = b""
    code: str | None = None
    took_s: float = 0
    silence_s: float = 0
    """Time between the last text and the end."""

    @property
    def kinds(self) -> list[str]:
        """Return the types of the parts of the stream."""
        return kinds(parts(self.raw))

    @property
    def text(self) -> str:
        """Return the text of the reply."""
        return text(parts(self.raw))


@dataclass
class AiWorkload(Workload):
    """A workload with a user of the model and other users who must not be affected."""

    asker: Person = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asker, self.other_users = self.deployment.world.person(), self.create_users()

    def send_prompt(
        self, path: str = "/api/ai/command", body: Any = None, *, read: bool = True
    ) -> tuple[ModelReply, Any]:
        """Send a prompt. Return the complete reply, or the open response if `read` is False."""
        client, started = self.deployment.service.client(self.asker), time.monotonic()
        answer = client.post(self.deployment.service.url + path, json=body or ASK, stream=True, timeout=60)
        reply, last = ModelReply(answer.status_code), time.monotonic()
        if not read:
            return reply, answer
        for piece in answer.iter_content(None):
            reply.raw += piece
            if b"text-delta" in piece:
                last = time.monotonic()
        reply.took_s, reply.silence_s = time.monotonic() - started, time.monotonic() - last
        if "json" in answer.headers.get("Content-Type", ""):
            reply.code = json.loads(reply.raw).get("code")
        if reply.status >= 500 and "Retry-After" not in answer.headers:
            self.broken.append(f"{reply.status} without Retry-After")
        if reply.status == 500:
            self.broken.append(f"500: {reply.raw[:200]!r}")
        client.close()
        return reply, answer

    @contextmanager
    def open_stream(self) -> Iterator[None]:
        """Open a stream, read nothing, and disconnect at the end."""
        body = json.dumps(ASK).encode()
        head = (
            "POST /api/ai/command HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Cookie: session_token={self.asker.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.deployment.service.port), timeout=20) as connection:
            connection.sendall(head.encode() + body)
            yield

    def running(self) -> int:
        """Return the number of slots that calls of the asker hold."""
        return int(self.ask(self.asker, "GET", "/ai/usage").result["running"])

    def wait_until_released(self, connections: int) -> None:
        """Wait until no slot is held and at most `connections` are open."""
        assert isinstance(self.deployment, AiDeployment)
        deployment = self.deployment
        until(lambda: self.running() == 0, "the slot is not freed", FREED_WITHIN_S)
        until(lambda: deployment.connections() <= connections, "a connection is not freed", FREED_WITHIN_S)

    def check_other_users(self) -> None:
        """Read and write as other users during the fault."""
        for who in self.other_users:
            replies = [self.reads(who), *self.writes(who)]
            if {one.status for one in replies} - {200, 201}:
                self.broken.append(f"other users received {[one.status for one in replies]}")
        self.check_health()
