"""Process of one jail with its sockets, its log, its proxy and its dependency cache."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from app.drivers.sandbox.local.supervisor import bubblewrap
from app.drivers.sandbox.local.supervisor import seccomp as syscalls
from app.drivers.sandbox.local.supervisor.bubblewrap import Mount
from app.drivers.sandbox.local.supervisor.cgroup import Cgroup
from app.drivers.sandbox.local.supervisor.egress_proxy import Egress, OnHost
from app.drivers.sandbox.local.supervisor.log_ring import LogRing

GUEST = Path(__file__).resolve().parents[1] / "guest.py"
CHUNK_BYTES = 64 * 1024
"""Size of one read of the output: the capacity of a pipe, so that a read returns all that was written."""
END_TIMEOUT_S = 5
COPY_TIMEOUT_S = 300
DATA_FACTOR = 4
"""Private memory that a process may reserve, in memory limits. Node.js reserves much more than it uses."""


class JailProcess:
    """Jail of a folder. The working directory of this process is that folder."""

    def __init__(self, folder: Path, spec: dict[str, Any], on_refused: OnHost, on_unreachable: OnHost) -> None:
        self._spec, self._log = spec, LogRing(folder, spec["limits"]["log_bytes"])
        self._folder, self._on_refused, self._on_unreachable = folder, on_refused, on_unreachable
        self._copying = threading.Lock()
        self.cgroup = Cgroup.sibling(spec["name"])
        if self.cgroup is not None:
            limits = spec["limits"]
            self.cgroup.limit(memory_bytes=limits["memory_bytes"], processes=limits["processes"], cpus=limits["cpus"])
        self._egress = Egress(listen("egress.sock", 0o666), spec["egress"], self._refuse, self._note_unreachable)
        self.channel, inner = socket.socketpair()
        serving = listen("serve.sock", 0o600)
        self.process, self._inner = self._start(inner, serving)
        for each in (inner, serving):
            each.close()
        threading.Thread(target=self._copy_log, daemon=True).start()
        self._egress.start()
        if not spec["install"]:
            self.change_egress_to_serving()
        names = ("install", "serve", "environment", "port", "cache_folders", "network")
        self.send(**{name: spec[name] for name in names}, limits=_rlimits(spec["limits"]))

    def _start(self, inner: socket.socket, serving: socket.socket) -> tuple["subprocess.Popen[bytes]", int]:
        disk = f"{self._folder}/disk"
        mounts = [Mount(f"{disk}/work", "/work", writable=True), Mount(f"{disk}/tmp", "/tmp", writable=True)]  # noqa: S108
        mounts += [
            Mount(f"{self._folder}/egress.sock", "/run/egress.sock"),
            *(Mount(**each) for each in self._spec["mounts"]),
        ]
        files = {path: _readable(text.encode()) for path, text in bubblewrap.FILES.items()}
        files["/run/guest.py"] = _readable(GUEST.read_bytes())
        inside = [self._spec["python"], "-I", "-S", "-B", "/run/guest.py", str(serving.fileno()), str(inner.fileno())]
        return self._run(mounts, inside, files, [inner.fileno(), serving.fileno()])

    def _run(
        self, mounts: list[Mount], inside: list[str], files: dict[str, int], shared: list[int]
    ) -> tuple["subprocess.Popen[bytes]", int]:
        """Start a jail. Return the process outside and the id of the first process inside (0 if it did not start)."""
        program = syscalls.program()
        seccomp = None if program is None else _readable(program)
        info, info_writer = os.pipe()
        argv, options = bubblewrap.command(
            mounts, self._spec["user"], inside, info_fd=info_writer, files=files, seccomp=seccomp
        )
        own = [*files.values(), *([seccomp] if seccomp is not None else []), info_writer, options]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[*own, *shared],
            env={},
            cwd="/",
            preexec_fn=self._prepare,
        )
        for number in own:
            os.close(number)
        with os.fdopen(info) as answer:
            try:
                return process, int(json.loads(answer.read())["child-pid"])
            except (ValueError, KeyError):
                return process, 0

    def _prepare(self) -> None:
        """Limit the new process before the jail exists: processors and priority."""
        if self.cgroup is not None:
            self.cgroup.enter()
        processors = sorted(os.sched_getaffinity(0))
        first = sum(self._spec["name"].encode()) % len(processors)
        count = self._spec["limits"]["cpus"]
        os.sched_setaffinity(0, {processors[(first + n) % len(processors)] for n in range(count)})
        os.nice(5)

    def complete_log(self) -> None:
        """Add the output that the jail has written until now to the log."""
        with contextlib.suppress(OSError):  # The disk can be full.
            self._copy_output()

    def _copy_output(self) -> bool:
        """Add the next output to the log without waiting. Return whether more can follow."""
        output: Any = self.process.stdout
        with self._copying:
            if not select.select([output], [], [], 0)[0]:
                return True
            chunk = os.read(output.fileno(), CHUNK_BYTES)
            self._log.add(chunk)
            return bool(chunk)

    def _copy_log(self) -> None:
        output: Any = self.process.stdout
        while self._copy_output():
            select.select([output], [], [])

    def _refuse(self, host: str) -> None:
        self._log.add(f"galley: refused the connection to {host}: the host is not in SANDBOX_EGRESS\n".encode())
        self._on_refused(host)

    def _note_unreachable(self, host: str) -> None:
        self._log.add(f"galley: cannot connect to {host} from this machine\n".encode())
        self._on_unreachable(host)

    def change_egress_to_serving(self) -> None:
        """Permit public addresses if the project has network access. Otherwise close the proxy and its connections."""
        if self._spec["network"]:
            self._egress.permit_public()
        else:
            self._egress.close()

    def store_dependencies(self) -> None:
        """Copy the installed dependencies to the cache. The copy runs in a jail: the site can change the source."""
        if self._spec["cache"] is None or not any(Path("disk/deps").iterdir()):
            return
        target = Path(self._spec["cache"])
        temporary = self._folder / "cache"
        if self._copy(temporary / "content"):
            target.parent.mkdir(exist_ok=True)
            with contextlib.suppress(OSError):  # Another sandbox stored the same dependencies.
                (temporary / "content").rename(target)

    def _copy(self, target: Path) -> bool:
        target.mkdir(parents=True, mode=0o755)
        user = self._spec["user"]
        if user is not None:
            os.chown(target, user, user)
        mounts = [Mount(f"{self._folder}/disk/deps", "/work"), Mount(str(target), "/tmp", writable=True)]  # noqa: S108
        process, inner = self._run(mounts, ["/usr/bin/cp", "-a", "--reflink=auto", "/work/.", "/tmp/"], {}, [])  # noqa: S108
        try:
            process.communicate(timeout=COPY_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.kill(inner or process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode == 0

    def send(self, **message: object) -> None:
        """Send a message to the guest."""
        with contextlib.suppress(OSError):
            self.channel.sendall(json.dumps(message).encode() + b"\n")

    def processes(self) -> list[tuple[int, str]]:
        """Return the supervisor and the first processes of the jail with their start times, as ids are reused."""
        return [(pid, started(pid)) for pid in (os.getpid(), self.process.pid, self._inner) if pid]

    def end(self) -> None:
        """Kill the first process of the jail. The kernel then ends all processes of its namespace."""
        self._egress.close()
        for pid in (self._inner, self.process.pid):
            if pid and self.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self._wait(END_TIMEOUT_S)
        if self.cgroup is not None:
            self.cgroup.remove()

    def _wait(self, timeout_s: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_s)


def started(pid: int) -> str:
    """Return the start time of a process in clock ticks, or an empty string."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def listen(path: str, mode: int) -> socket.socket:
    """Return a listening socket with these permissions."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    Path(path).chmod(mode)
    listener.listen(128)
    return listener


def _readable(data: bytes) -> int:
    """Return a descriptor from which the bytes can be read once."""
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


def _rlimits(limits: dict[str, int]) -> dict[str, int]:
    return {
        "processes": limits["processes"],
        "data_bytes": DATA_FACTOR * limits["memory_bytes"],
        "file_bytes": limits["disk_bytes"],
        "files": limits["files"],
    }
