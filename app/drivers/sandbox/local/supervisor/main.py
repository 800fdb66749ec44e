"""Supervisor process of one jail: starts it, enforces its limits and its deadline, stores its log, ends it.

The driver starts it as a separate process, so that it survives the process that requested the sandbox. If the
supervisor ends, the kernel ends the jail (`--die-with-parent`). All state is in its folder.
"""

import base64
import contextlib
import fcntl
import json
import os
import re
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from app.drivers.sandbox.local.supervisor import disk_image
from app.drivers.sandbox.local.supervisor.jail_process import JailProcess, listen
from app.drivers.sandbox.local.supervisor.usage import DiskLimits, folder_usage, image_usage, memory_bytes

MAX_NAMES = 10
HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")
HTTPS_SUFFIX = ":443"
STEP_S = 0.05
PROBE_TIMEOUT_S = 30
MEMORY_INTERVAL_S, IMAGE_INTERVAL_S, FOLDER_INTERVAL_S = 0.5, 0.5, 1.0
OTHER_PORT_AFTER_S, OTHER_PORT_INTERVAL_S = 3.0, 2.0
WRITE_TIMEOUT_S = 10
LINE_BYTES = 4 * 1024 * 1024
MISSING_COMMAND, KILLED = 127, (9, 137)


class HostNames(list[str]):
    """At most ten different names, in the order of the requests. The site chooses them, so invalid ones are skipped."""

    def add(self, host: str) -> None:
        """Add `host` or `host:port`. The port of HTTPS is left out."""
        name = host.removesuffix(HTTPS_SUFFIX)
        if HOST.fullmatch(name) and name not in self and len(self) < MAX_NAMES:
            self.append(name)


class Supervisor:
    """Supervisor of one sandbox. The folder contains its specification (`spec.json`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec: dict[str, Any] = json.loads((folder / "spec.json").read_text())
        self.phase = ""
        self.until = time.monotonic() + self.spec["lifetime_s"]
        self.stopping = threading.Event()
        self._refused, self._unreachable = HostNames(), HostNames()
        self._answers: dict[int, object] = {}
        self._answered = threading.Condition()
        self._listening: list[int] = []
        self.port: int = self.spec["port"]
        self._ports_at = 0.0
        self._memory_at = 0.0
        self._is_built = False
        self._serving_since = 0.0
        self._state_lock = threading.RLock()

    def run(self) -> None:
        """Run the sandbox until it ends."""
        with contextlib.closing(listen("control.sock", 0o600)) as control:
            self.jail = JailProcess(self.folder, self.spec, self._refused.add, self._unreachable.add)
            self._enter("installing" if self.spec["install"] else "starting")
            for target in (self._read_messages, self._probe, self._watch_disk):
                threading.Thread(target=target, daemon=True).start()
            threading.Thread(target=self._accept_commands, args=(control,), daemon=True).start()
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
                self._fail("The installation took too long", "install_timeout")
            if self.phase == "waiting" and now > self._serving_since + self.spec["serve_timeout_s"]:
                self._fail_without_port()
            if self.phase == "building" and now > self._serving_since + self.spec["serve_timeout_s"]:
                self._fail("The build took too long", "build_timeout")
            self._check_memory(now)
            if self._is_built:
                self._hold_output()
                return
            if self.jail.process.poll() is not None and self.phase != "failed":
                time.sleep(STEP_S)  # The last messages may still be in the channel.
                if self.phase != "failed" and not self._is_built:
                    self._fail("The sandbox ended by itself", "ended")
            if self.phase == "failed":
                return

    def _hold_output(self) -> None:
        """Keep the disk of a finished build until the sandbox is stopped or its lifetime ends."""
        while time.monotonic() < self.until and not self.stopping.wait(STEP_S):
            pass

    def _check_memory(self, now: float) -> None:
        """End the jail if it exceeds the memory limit and no control group enforces it."""
        if now > self._memory_at and self.jail.cgroup is None:
            self._memory_at = now + MEMORY_INTERVAL_S
            if memory_bytes(self.jail.process.pid) > self.spec["limits"]["memory_bytes"]:
                self._fail("The site used more memory than a sandbox has", "memory")

    def _watch_disk(self) -> None:
        """Count the disk until the sandbox ends. A sandbox whose disk cannot be counted ends as well."""
        try:
            while not self.stopping.wait(IMAGE_INTERVAL_S if self.spec["image"] else FOLDER_INTERVAL_S):
                excess = self._exceeded_disk()
                if excess is not None:
                    self._fail(*excess)
                    return
        finally:
            self.stopping.set()

    def _exceeded_disk(self) -> tuple[str, str] | None:
        limits, is_full = self.spec["limits"], False
        disk = self.folder / "disk"
        if self.spec["image"]:
            usage, is_full = image_usage(disk)
        else:
            bounds = DiskLimits(limits["disk_bytes"], limits["entries"])
            usage = folder_usage(disk, self.jail.process.pid, bounds)
        if usage.is_too_deep:
            return "The site nests folders deeper than a sandbox permits", "files"
        if usage.entries > limits["entries"]:
            return "The site created more files than a sandbox permits", "files"
        if is_full or usage.size_bytes > limits["disk_bytes"]:
            return "The site used more disk than a sandbox has", "disk"
        return None

    def _read_messages(self) -> None:
        """Read messages of the guest. They advance phases and answer writes; they grant nothing."""
        channel = self.jail.channel.makefile("rb")
        while line := channel.readline(LINE_BYTES):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self._handle_message(json.loads(line))

    def _handle_message(self, message: dict[str, Any]) -> None:
        if message.get("phase") == "starting" and self.phase in ("installing", "starting"):
            self.jail.change_egress_to_serving()
            threading.Thread(target=self.jail.store_dependencies, daemon=True).start()
            self._serving_since = time.monotonic()
            self._enter("building" if self.spec["builds"] else "waiting")
        elif "wrote" in message:
            with self._answered:
                self._answers[message["wrote"]] = message["error"]
                self._answered.notify_all()
        elif "listening" in message:
            with self._answered:
                self._listening = [port for port in message["listening"] if isinstance(port, int)][:5]
                if isinstance(message.get("pages"), int):
                    self.port = message["pages"]
                self._answered.notify_all()
        elif "refused" in message:
            self._refused.add(str(message["refused"]))
        elif "ended" in message:
            status = abs(int(message["ended"]))
            is_build = self.spec["builds"] and message["during"] != "install"
            if is_build and status == 0 and self._exceeded_disk() is None:
                self._finish_build()
                return
            name = "build" if is_build else "installation" if message["during"] == "install" else "server"
            cause = "missing_program" if status == MISSING_COMMAND else "memory" if status in KILLED else "ended"
            # A full disk ends most programs before the next count.
            excess = self._exceeded_disk()
            self._fail(*(excess or (f"The {name} ended with status {status}", cause)))

    def _finish_build(self) -> None:
        """End all processes of the jail, so that nothing changes the output, then report the build."""
        self._is_built = True
        self.jail.complete_log()
        self.jail.end()
        self._enter("built")

    def _fail_without_port(self) -> None:
        with self._answered:
            self.jail.send(list_ports=True)
            self._answered.wait(1)
        cause = "response" if self.spec["port"] in self._listening else "port"
        others = [str(port) for port in self._listening if port != self.spec["port"]]
        text = f"The server did not answer on port {self.spec['port']} within {self.spec['serve_timeout_s']:.0f} s"
        self._fail(text + (f". It listens on port {', '.join(others)}" if others else ""), cause)

    def _probe(self) -> None:
        """Wait until the server answers a request with any status. Each request that times out doubles the timeout."""
        timeout_s = PROBE_TIMEOUT_S
        while not self.stopping.wait(STEP_S) and self.phase != "failed":
            started = time.monotonic()
            self._find_pages(started)
            if self.phase == "waiting" and self._answers_http(timeout_s):
                self._enter("ready")
                return
            if time.monotonic() - started >= timeout_s:
                timeout_s *= 2

    def _find_pages(self, now: float) -> None:
        """Let the guest forward to another port with pages if the expected one is closed for a time."""
        first = self._serving_since + OTHER_PORT_AFTER_S
        if self.phase == "waiting" and now > max(first, self._ports_at + OTHER_PORT_INTERVAL_S):
            self._ports_at = now
            self.jail.send(find_pages=True)

    def _answers_http(self, timeout_s: float) -> bool:
        request = f"GET / HTTP/1.1\r\nHost: localhost:{self.port}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
            connection.settimeout(timeout_s)
            connection.connect("serve.sock")
            connection.sendall(request.encode())
            return connection.recv(5) == b"HTTP/"
        return False

    def _accept_commands(self, control: socket.socket) -> None:
        while True:
            client, _ = control.accept()
            threading.Thread(target=self._execute_command, args=(client,), daemon=True).start()

    def _execute_command(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, ValueError):
            client.settimeout(WRITE_TIMEOUT_S)
            command = json.loads(client.makefile("rb").readline(LINE_BYTES))
            client.sendall(json.dumps({"error": self._execute(command)}).encode() + b"\n")

    def _execute(self, command: dict[str, Any]) -> str | None:
        match command["do"]:
            case "extend":
                self.until = time.monotonic() + command["lifetime_s"]
            case "write":
                return self._write(command["path"], base64.b64decode(command["content"]))
            case "stop":
                self.stopping.set()
        return None

    def _write(self, path: str, content: bytes) -> str | None:
        """Write a file through the guest: the site made the folders, so a path may lead anywhere. Return the error."""
        with self._answered:
            number = len(self._answers) + 1
            self._answers[number] = "The sandbox did not answer"
            self.jail.send(id=number, path=path, content=base64.b64encode(content).decode())
            self._answered.wait_for(lambda: self._answers[number] != "The sandbox did not answer", WRITE_TIMEOUT_S)
            answer = self._answers[number]
            return None if answer is None else str(answer)

    def _fail(self, problem: str, cause: str) -> None:
        self.jail.complete_log()  # The supervisor ends soon.
        with self._state_lock:
            if self.phase != "failed":
                self._enter("failed", problem=problem, cause=cause, step=self.phase)

    def _enter(self, phase: str, **failure: str) -> None:
        with self._state_lock:
            if self.phase == "failed":
                return
            self.phase = phase
            hosts = {"refused": self._refused, "unreachable": self._unreachable}
            state = {"phase": phase, "port": self.port, "processes": self.jail.processes()} | hosts | failure
            temporary = self.folder / f"state.{threading.get_ident()}"
            temporary.write_text(json.dumps(state))
            temporary.replace(self.folder / "state.json")


def main(folder: str) -> None:
    """Detach from the service, mount the disk, wait for the files of the site, and run the sandbox in `folder`.

    Writes its process id to standard output when the disk is mounted. Reads one line from standard input when the files
    are complete; the end of the input ends the process.
    """
    if os.fork():
        os._exit(0)
    os.chdir(folder)  # The path of a socket may have at most 108 bytes.
    lock = os.open("lock", os.O_WRONLY | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if json.loads(Path("spec.json").read_text())["image"]:
        disk_image.mount(Path.cwd() / "disk.img", Path.cwd() / "disk")
    os.write(1, b"%d\n" % os.getpid())
    if not sys.stdin.buffer.readline():
        os._exit(1)
    for number in (0, 1, 2):
        os.dup2(
            os.open("supervisor.log" if number else os.devnull, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number
        )
    Supervisor(Path.cwd()).run()
    sys.stdout.flush()
    os._exit(0)
