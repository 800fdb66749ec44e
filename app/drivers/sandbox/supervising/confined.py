"""One jail as its supervisor holds it: the process, the sockets into it, its log, its way out while it installs."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from app.drivers.sandbox.supervising import jail, syscalls
from app.drivers.sandbox.supervising.cgroup import Cgroup
from app.drivers.sandbox.supervising.egress import Egress
from app.drivers.sandbox.supervising.jail import Mount
from app.drivers.sandbox.supervising.logs import LogRing

GUEST = Path(__file__).resolve().parents[1] / "guest.py"
PIECE_BYTES = 64 * 1024
END_TIMEOUT_S = 5


class Confined:
    """Starts the jail of a folder; the working directory is that folder."""

    def __init__(self, folder: Path, spec: dict[str, Any]) -> None:
        self._spec, self._log = spec, LogRing(folder, spec["limits"]["log_bytes"])
        self.cgroup = Cgroup.beside_us(spec["name"])
        if self.cgroup is not None:
            limits = spec["limits"]
            self.cgroup.limit(memory_bytes=limits["memory_bytes"], processes=limits["processes"], cpus=limits["cpus"])
        self._egress = Egress(_listener("egress.sock", 0o666), spec["egress"])
        self.channel, inner = socket.socketpair()
        serving = _listener("serve.sock", 0o600)
        self.process, self._inner = self._start(folder, inner, serving)
        for each in (inner, serving):
            each.close()
        threading.Thread(target=self._keep_log, daemon=True).start()
        if spec["install"]:
            self._egress.start()
        else:
            self._egress.close()
        words = {name: spec[name] for name in ("install", "serve", "environment", "port", "keep_folders")}
        self._send(words | {"limits": _rlimits(spec["limits"])})

    def _start(
        self, folder: Path, inner: socket.socket, serving: socket.socket
    ) -> tuple["subprocess.Popen[bytes]", int]:
        mounts = [Mount(f"{folder}/work", "/work", writable=True), Mount(f"{folder}/tmp", "/tmp", writable=True)]  # noqa: S108
        mounts += [
            Mount(f"{folder}/egress.sock", "/run/egress.sock"),
            *(Mount(**each) for each in self._spec["mounts"]),
        ]
        files = {path: _readable(text.encode()) for path, text in jail.FILES.items()}
        files["/run/guest.py"] = _readable(GUEST.read_bytes())
        filtered = syscalls.program()
        seccomp = None if filtered is None else _readable(filtered)
        info, told = os.pipe()
        inside = [self._spec["python"], "-I", "-S", "-B", "/run/guest.py", str(serving.fileno()), str(inner.fileno())]
        argv = jail.command(mounts, self._spec["user"], inside, info_fd=told, files=files, seccomp=seccomp)
        kept = [*files.values(), *([seccomp] if seccomp is not None else []), told, inner.fileno(), serving.fileno()]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=kept,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            preexec_fn=self._prepare,
        )
        for number in kept[:-2]:
            os.close(number)
        with os.fdopen(info) as answer:
            try:
                return process, int(json.loads(answer.read())["child-pid"])
            except (ValueError, KeyError):
                return process, 0

    def _prepare(self) -> None:
        """In the new process, before the walls: one processor, behind everybody else."""
        if self.cgroup is not None:
            self.cgroup.enter()
        processors = sorted(os.sched_getaffinity(0))
        wanted = self._spec["limits"]["cpus"]
        first = sum(self._spec["name"].encode()) % len(processors)
        os.sched_setaffinity(0, {processors[(first + n) % len(processors)] for n in range(wanted)})
        os.nice(5)

    def _keep_log(self) -> None:
        output: Any = self.process.stdout
        while piece := os.read(output.fileno(), PIECE_BYTES):
            self._log.add(piece)

    def close_egress(self) -> None:
        """From here on nobody gets out."""
        self._egress.close()

    def keep_dependencies(self) -> None:
        """Put what was installed where later sandboxes find it; the jail goes on with it, wherever it is called."""
        if self._spec["keep"] is None or not any(Path("deps").iterdir()):
            return
        place = Path(self._spec["keep"])
        place.parent.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # another sandbox was faster
            Path("deps").rename(place)

    def tell(self, **words: object) -> None:
        """Ask the guest to write a file."""
        self._send(words)

    def processes(self) -> list[tuple[int, str]]:
        """Supervisor, outer and inner first process, each with when it started: numbers are used again."""
        return [(pid, started(pid)) for pid in (os.getpid(), self.process.pid, self._inner) if pid]

    def end(self) -> None:
        """Kill the jail's first process, and with it, by the kernel's rule, all of them."""
        self._egress.close()
        for pid in (self._inner, self.process.pid):
            if pid and self.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self._wait(END_TIMEOUT_S)
        if self.cgroup is not None:
            self.cgroup.remove()

    def _wait(self, within_s: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(within_s)

    def _send(self, words: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.channel.sendall(json.dumps(words).encode() + b"\n")


def started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty for none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _listener(path: str, mode: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    Path(path).chmod(mode)
    listener.listen(128)
    return listener


def _readable(data: bytes) -> int:
    """A descriptor that gives these bytes once."""
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


def _rlimits(limits: dict[str, int]) -> dict[str, int]:
    return {
        "processes": limits["processes"],
        "data_bytes": limits["memory_bytes"],
        "file_bytes": limits["disk_bytes"],
        "files": limits["files"],
    }
