"""The supervisor of one jail: starts it, watches its limits and its deadline, keeps its log, ends it.

Started by the driver as a process of its own, so that it outlives whoever asked for the sandbox; when it dies, however,
the kernel ends the jail with it (`--die-with-parent`). Its folder is its whole memory.
"""

import base64
import contextlib
import fcntl
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from app.drivers.sandbox.supervising.confined import Confined
from app.drivers.sandbox.supervising.usage import disk_bytes, memory_bytes

STEP_S = 0.05
PROBE_TIMEOUT_S = 30
MEMORY_EVERY_S, DISK_EVERY_S = 0.5, 2.0
WRITE_TIMEOUT_S = 10
LINE_BYTES = 4 * 1024 * 1024


class Supervisor:
    """One sandbox, by its folder and its specification (`spec.json`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec: dict[str, Any] = json.loads((folder / "spec.json").read_text())
        self.phase, self.problem = "", None
        self.until = time.monotonic() + self.spec["lifetime_s"]
        self.stopping = threading.Event()
        self._answers: dict[int, Any] = {}
        self._answered = threading.Condition()
        self._memory_at = self._disk_at = 0.0

    def run(self) -> None:
        """Keep the sandbox until it ends."""
        with contextlib.closing(_listen("control.sock")) as control:
            self.jail = Confined(self.folder, self.spec)
            self._enter("installing" if self.spec["install"] else "starting")
            for work in (self._hear, self._probe):
                threading.Thread(target=work, daemon=True).start()
            threading.Thread(target=self._obey, args=(control,), daemon=True).start()
            try:
                self._watch()
            finally:
                self.jail.end()
                if self.phase != "failed":
                    self._enter("gone")

    def _watch(self) -> None:
        install_until = time.monotonic() + self.spec["install_timeout_s"]
        while not self.stopping.wait(STEP_S):
            now = time.monotonic()
            if now > self.until:
                return
            if self.phase == "installing" and now > install_until:
                self._fail("The installation took too long")
            excess = self._excess(now)
            if excess is not None:
                self._fail(excess)
            if self.jail.process.poll() is not None and self.phase != "failed":
                time.sleep(STEP_S)  # its last words may still be on their way
                if self.phase != "failed":
                    self._fail("The sandbox ended by itself")
            if self.phase == "failed":
                return

    def _excess(self, now: float) -> str | None:
        """What of its limits the jail has passed, where no control group keeps it below."""
        if now > self._memory_at and self.jail.cgroup is None:
            self._memory_at = now + MEMORY_EVERY_S
            if memory_bytes(self.jail.process.pid) > self.spec["limits"]["memory_bytes"]:
                return "The site used more memory than a sandbox has"
        if now > self._disk_at:
            used = disk_bytes([self.folder / name for name in ("work", "tmp", "deps")])
            self._disk_at = time.monotonic() + max(DISK_EVERY_S, 10 * (time.monotonic() - now))
            if used > self.spec["limits"]["disk_bytes"]:
                return "The site used more disk than a sandbox has"
        return None

    def _hear(self) -> None:
        """What the guest says. Its word moves phases forward and answers writes; it can grant itself nothing."""
        channel = self.jail.channel.makefile("rb")
        while line := channel.readline(LINE_BYTES):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                told = json.loads(line)
                if told.get("phase") == "starting":
                    self.jail.close_egress()
                    self.jail.keep_dependencies()
                    self._enter("waiting")
                elif "wrote" in told:
                    with self._answered:
                        self._answers[told["wrote"]] = told["error"]
                        self._answered.notify_all()
                elif "ended" in told:
                    what = "installation" if told["during"] == "install" else "server"
                    self._fail(f"The {what} ended with status {int(told['ended'])}")

    def _probe(self) -> None:
        """Wait until the server answers a request, whatever it answers."""
        while not self.stopping.wait(STEP_S) and self.phase != "failed":
            if self.phase == "waiting" and self._answers_http():
                self._enter("ready")
                return

    def _answers_http(self) -> bool:
        request = (
            f"GET / HTTP/1.1\r\nHost: localhost:{self.spec['port']}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        )
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
            connection.settimeout(PROBE_TIMEOUT_S)
            connection.connect("serve.sock")
            connection.sendall(request.encode())
            return connection.recv(5) == b"HTTP/"
        return False

    def _obey(self, control: socket.socket) -> None:
        while True:
            client, _ = control.accept()
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(WRITE_TIMEOUT_S)
            wanted = json.loads(client.makefile("rb").readline(LINE_BYTES))
            client.sendall(json.dumps(self._do(wanted)).encode() + b"\n")

    def _do(self, wanted: dict[str, Any]) -> dict[str, Any]:
        match wanted["do"]:
            case "extend":
                self.until = time.monotonic() + wanted["lifetime_s"]
            case "write":
                return {"error": self._write(wanted["path"], base64.b64decode(wanted["content"]))}
            case "stop":
                self.stopping.set()
        return {"error": None}

    def _write(self, path: str, content: bytes) -> str | None:
        """Have the guest write a file: what stands there was made by the site, and may lead anywhere."""
        with self._answered:
            number = len(self._answers) + 1
            self._answers[number] = "The sandbox did not answer"
            self.jail.tell(id=number, path=path, content=base64.b64encode(content).decode())
            self._answered.wait_for(lambda: self._answers[number] != "The sandbox did not answer", WRITE_TIMEOUT_S)
            answer = self._answers[number]
            return None if answer is None else str(answer)

    def _fail(self, problem: str) -> None:
        if self.phase != "failed":
            self._enter("failed", problem)

    def _enter(self, phase: str, problem: str | None = None) -> None:
        self.phase = phase
        state = {"phase": phase, "problem": problem, "processes": self.jail.processes()}
        temporary = self.folder / f"state.{threading.get_ident()}"
        temporary.write_text(json.dumps(state))
        temporary.replace(self.folder / "state.json")


def _listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    return listener


def main(folder: str) -> None:
    """Become a process of its own, say so by the lock, and keep the sandbox in `folder`."""
    if os.fork():
        os._exit(0)
    os.chdir(folder)  # socket paths may have 108 bytes
    lock = os.open("lock", os.O_WRONLY | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(1, b"+")
    for number in (0, 1, 2):
        os.dup2(
            os.open("supervisor.log" if number else os.devnull, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number
        )
    Supervisor(Path.cwd()).run()
    sys.stdout.flush()
    os._exit(0)
