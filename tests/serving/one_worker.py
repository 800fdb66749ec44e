"""One worker of the service with a model provider: started directly, pinned to one core, and observed."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from flask import Flask

from tests.serving.processes import PASSED_ON, ROOT
from tests.support.servers.ports import free_port
from tests.support.world import World

STREAMS_AT_ONCE = 4
"""The number of streams that one user may open."""


@dataclass(frozen=True)
class Started:
    """A listening server. `observed` is the port of the resource report."""

    port: int
    process: psutil.Process
    observed: int = 0

    @property
    def workers(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    def cpu_s(self) -> float:
        """Return the processor time in seconds."""
        return sum(sum(each.cpu_times()[:2]) for each in self.workers)

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        return sum(each.memory_info().rss for each in self.workers)

    def held(self) -> dict[str, int]:
        """Return the number of greenlets, watchers and open descriptors of the worker."""
        with socket.create_connection(("127.0.0.1", self.observed), timeout=30) as asking:
            told: dict[str, int] = json.loads(b"".join(iter(lambda: asking.recv(4096), b"")))
        return told


def cookies(app: Flask, streams: int) -> list[str]:
    """Return a cookie header for each stream. No user exceeds the limit of concurrent streams."""
    world = World(app)
    tokens = [world.person().token for _ in range(-(-streams // STREAMS_AT_ONCE))]
    return [f"Cookie: session_token={tokens[number // STREAMS_AT_ONCE]}\r\n" for number in range(streams)]


@contextlib.contextmanager
def process(
    command: list[str],
    port: int,
    environment: Mapping[str, str] | None = None,
    *,
    observed: int = 0,
    within_s: float = 240,
) -> Iterator[Started]:
    """Run a server on the first core for the length of the block."""
    inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    started = subprocess.Popen(
        command, cwd=ROOT, env=inherited | dict(environment or {}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(observed or port, started, within_s)
        found = Started(port, psutil.Process(started.pid), observed)
        for each in found.workers:
            each.cpu_affinity([0])
        yield found
    finally:
        started.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(35)
        started.kill()
        started.wait()


def _wait(port: int, started: "subprocess.Popen[bytes]", within_s: float) -> None:
    until = time.monotonic() + within_s
    while time.monotonic() < until and started.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the server does not start")


@contextlib.contextmanager
def service(home: Path, url: str, upstream: int) -> Iterator[Started]:
    """Run the service with one worker. The operator's model listens on the port `upstream`."""
    port, observed = free_port(), free_port()
    environment = {
        "PORT": str(port), "INSTANCE_DIR": str(home / "instance"), "DATABASE_URL": url, "WEB_CONCURRENCY": "1",
        "RATE_LIMIT_SCALE": "100000", "LOG_LEVEL": "ERROR", "AI_PROVIDER": "openai", "AI_MODEL": "m", "APP_ENV": "test",
        "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1", "SANDBOX_DRIVER": "none",
        "OBSERVED_PORT": str(observed),
    }  # fmt: skip
    configuration = str(Path(__file__).with_name("observed.conf.py"))
    command = [sys.executable, "-m", "gunicorn", "-c", configuration, "wsgi:app"]
    with process(command, port, environment, observed=observed) as started:
        yield started
