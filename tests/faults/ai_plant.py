"""A small plant whose model provider is a double behind a fault proxy, and somebody who asks it over the wire."""

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

from tests.doubles.ai import AiDouble
from tests.doubles.fault_proxy import FaultProxy
from tests.faults.life import Life
from tests.faults.playing import until
from tests.faults.small_plant import SmallPlant
from tests.resources.ai.streams import kinds, parts, text
from tests.world import Person

FREED_WITHIN_S = 11
ASK = {"prompt": "Write about tea"}


class AiPlant(SmallPlant):
    """On SQLite."""

    def environment(self, stack: ExitStack) -> dict[str, str]:
        """The operator's model is the double, through the proxy."""
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
        """The operator's key."""
        return [self.key]

    def connections(self) -> int:
        """How many connections web workers hold to the provider."""
        workers = psutil.Process(self.service.process.pid).children()
        ends = [one for worker in workers for one in worker.net_connections("tcp") if one.raddr]
        return sum(one.raddr.port == self.proxy.port for one in ends)


@dataclass
class Heard:
    """What came of one question."""

    status: int
    raw: bytes = b""
    code: str | None = None
    took_s: float = 0
    silence_s: float = 0
    """Between the last words and the end."""

    @property
    def kinds(self) -> list[str]:
        """The parts of the stream."""
        return kinds(parts(self.raw))

    @property
    def text(self) -> str:
        """The words."""
        return text(parts(self.raw))


@dataclass
class AiLife(Life):
    """Life with somebody who asks a model, while strangers must notice nothing."""

    asker: Person = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asker, self.strangers = self.plant.world.person(), self.people()

    def question(self, path: str = "/api/ai/command", body: Any = None, *, read: bool = True) -> tuple[Heard, Any]:
        """Ask; read to the end, or give the answer with its first words read."""
        client, started = self.plant.service.client(self.asker), time.monotonic()
        answer = client.post(self.plant.service.url + path, json=body or ASK, stream=True, timeout=60)
        heard, last = Heard(answer.status_code), time.monotonic()
        if not read:
            return heard, answer
        for piece in answer.iter_content(None):
            heard.raw += piece
            if b"text-delta" in piece:
                last = time.monotonic()
        heard.took_s, heard.silence_s = time.monotonic() - started, time.monotonic() - last
        if "json" in answer.headers.get("Content-Type", ""):
            heard.code = json.loads(heard.raw).get("code")
        if heard.status >= 500 and "Retry-After" not in answer.headers:
            self.broken.append(f"{heard.status} without Retry-After")
        if heard.status == 500:
            self.broken.append(f"500: {heard.raw[:200]!r}")
        client.close()
        return heard, answer

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Somebody who has asked, reads nothing, and hangs up at the end."""
        body = json.dumps(ASK).encode()
        head = (
            "POST /api/ai/command HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Cookie: session_token={self.asker.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.plant.service.port), timeout=20) as connection:
            connection.sendall(head.encode() + body)
            yield

    def running(self) -> int:
        """How many of the asker's calls hold a slot."""
        return int(self.ask(self.asker, "GET", "/ai/usage").result["running"])

    def freed(self, connections: int) -> None:
        """Wait until no slot is held, and no more connections than there were."""
        assert isinstance(self.plant, AiPlant)
        plant = self.plant
        until(lambda: self.running() == 0, "the slot is not freed", FREED_WITHIN_S)
        until(lambda: plant.connections() <= connections, "a connection is not freed", FREED_WITHIN_S)

    def others(self) -> None:
        """Strangers read and write meanwhile."""
        for who in self.strangers:
            told = [self.reads(who), *self.writes(who)]
            if {one.status for one in told} - {200, 201}:
                self.broken.append(f"strangers were told {[one.status for one in told]}")
        self.check_health()
