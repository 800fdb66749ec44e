"""Process of one jail with its sockets, its log, its proxy, its system-call filter, its control group and its cache."""

import contextlib
import errno
import json
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import threading
from pathlib import Path
from typing import Any

from app.drivers.sandbox.local.supervisor import bubblewrap
from app.drivers.sandbox.local.supervisor.bubblewrap import Mount
from app.drivers.sandbox.local.supervisor.egress_proxy import Egress, OnHost
from app.drivers.sandbox.local.supervisor.log_ring import LogRing

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
CLONE_NEW_ANY = 0x7E020080  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET and TIME
X32 = 0x40000000

# name: (x86_64, aarch64); None if the architecture has no such call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "sched_setaffinity": (203, 122),
    "mbind": (237, 235),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "move_pages": (279, 239),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "finit_module": (313, 273),
    "memfd_create": (319, 279),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
}

_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENT_AT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
CONTROLLERS = ("cpu", "memory", "pids")
PERIOD_US = 100_000
GUEST = Path(__file__).resolve().parents[1] / "guest.py"
CHUNK_BYTES = 64 * 1024
"""Size of one read of the output: the capacity of a pipe, so that a read returns all that was written."""
END_TIMEOUT_S = 5
COPY_TIMEOUT_S = 300
DATA_FACTOR = 4
"""Private memory that a process may reserve, in memory limits. Node.js reserves much more than it uses."""


def filter_program(machine: str | None = None) -> bytes | None:
    """Return the filter of a machine type, or None for an unknown type."""
    name = machine or platform.machine()
    if name not in AUDIT_ARCH:
        return None
    column = list(AUDIT_ARCH).index(name)
    numbers = [row[column] for row in REFUSED.values() if row[column] is not None]
    steps = [_step(_LOAD, _ARCH_AT), _step(_EQUAL, AUDIT_ARCH[name], 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    if name == "x86_64":
        steps += [_step(_SET, X32, 0, 1), _error(errno.ENOSYS)]
    for number in numbers:
        steps += [_step(_EQUAL, number or 0, 0, 1), _error(errno.EPERM)]
    # clone3 hides its flags in memory; if it does not exist, libc uses clone.
    steps += [_step(_EQUAL, CLONE3, 0, 1), _error(errno.ENOSYS)]
    steps += [_step(_EQUAL, CLONE[name], 0, 3), _step(_LOAD, _ARGUMENT_AT), _step(_SET, CLONE_NEW_ANY, 0, 1)]
    steps += [_error(errno.EPERM), _step(_RETURN, _ALLOW)]
    return b"".join(steps)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _error(number: int) -> bytes:
    return _step(_RETURN, _ERROR | number)


class Cgroup:
    """A control group. Its processes share limits and can be killed together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def sibling(
        cls, name: str, root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
    ) -> "Cgroup | None":
        """Return a new group with the same parent, or None if the parent is not delegated or lacks a controller."""
        try:
            path = next(line[3:] for line in own.read_text().splitlines() if line.startswith("0::"))
            parent = root / path.strip("/").rpartition("/")[0]
            available = (parent / "cgroup.controllers").read_text().split()
            if path == "/" or not set(CONTROLLERS) <= set(available):
                return None
            (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))
            folder = parent / f"galley-{name}"
            folder.mkdir(exist_ok=True)
        except (OSError, StopIteration):
            return None
        return cls(folder)

    def limit(self, *, memory_bytes: int, processes: int, cpus: int) -> None:
        """Set the limits and disable swap."""
        self._write("memory.max", str(memory_bytes))
        with contextlib.suppress(OSError):  # kernels without swap accounting
            self._write("memory.swap.max", "0")
        self._write("pids.max", str(processes))
        self._write("cpu.max", f"{cpus * PERIOD_US} {PERIOD_US}")

    def enter(self) -> None:
        """Move the calling process into the group."""
        self._write("cgroup.procs", str(os.getpid()))

    def remove(self) -> None:
        """Kill the remaining processes and remove the group."""
        with contextlib.suppress(OSError):
            self._write("cgroup.kill", "1")
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _write(self, name: str, value: str) -> None:
        (self.folder / name).write_text(value)


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
        for end in (inner, serving):
            end.close()
        threading.Thread(target=self._copy_log, daemon=True).start()
        self._egress.start()
        if not spec["install"]:
            self.change_egress_to_serving()
        names = ("install", "serve", "environment", "port", "cache_folders", "network")
        rlimits = {
            "processes": spec["limits"]["processes"],
            "data_bytes": DATA_FACTOR * spec["limits"]["memory_bytes"],
            "file_bytes": spec["limits"]["disk_bytes"],
            "files": spec["limits"]["files"],
        }
        self.send(**{name: spec[name] for name in names}, limits=rlimits)

    def _start(self, inner: socket.socket, serving: socket.socket) -> tuple["subprocess.Popen[bytes]", int]:
        disk = f"{self._folder}/disk"
        mounts = [
            Mount(f"{disk}/work", "/work", writable=True),
            Mount(f"{disk}/tmp", "/tmp", writable=True),  # noqa: S108
            Mount(f"{self._folder}/egress.sock", "/run/egress.sock"),
            *(Mount(**mount) for mount in self._spec["mounts"]),
        ]
        files = {path: _readable(text.encode()) for path, text in bubblewrap.FILES.items()}
        files["/run/guest.py"] = _readable(GUEST.read_bytes())
        inside = [self._spec["python"], "-I", "-S", "-B", "/run/guest.py", str(serving.fileno()), str(inner.fileno())]
        return self._run(mounts, inside, files, [inner.fileno(), serving.fileno()])

    def _run(
        self, mounts: list[Mount], inside: list[str], files: dict[str, int], shared: list[int]
    ) -> tuple["subprocess.Popen[bytes]", int]:
        """Start a jail. Return the process outside and the id of the first process inside (0 if it did not start)."""
        program = filter_program()
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
        command = ["/usr/bin/cp", "-a", "--reflink=auto", "/work/.", "/tmp/"]  # noqa: S108
        process, inner = self._run(mounts, command, {}, [])
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
