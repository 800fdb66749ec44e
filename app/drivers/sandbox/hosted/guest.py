"""Program that installs and serves a site in a hosted microVM. It uses the standard library only.

It writes its status to `state.json` in its folder. After the installation it waits for the file `go`, which the host
creates after it has closed the network.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
SITE = HERE.parent / "site"
STEP_S = 0.05
TAIL_BYTES = 8 * 1024
GO_WITHIN_S = 120
LISTENING = "0A"
MIN_FREE_BYTES = 1024 * 1024
FIRST_USER_PORT, ENVD_PORT = 1024, 49983
MISSING_COMMAND, KILLED = 127, (9, 137)
PART_BYTES = 8 * 1024 * 1024


def main() -> None:
    """Unpack and install the site, wait for the release, and serve it. Each failure is written to the status."""
    instructions = json.loads((HERE / "instructions.json").read_text())
    write_status("installing")
    SITE.mkdir(exist_ok=True)
    with tarfile.open(HERE / "site.tar") as archive:
        unpack(archive, SITE)
    install_until = time.monotonic() + instructions["install_timeout_s"]
    for command in instructions["install"]:
        process = start(instructions, command)
        try:
            status = abs(process.wait(max(0, install_until - time.monotonic())))
        except subprocess.TimeoutExpired:
            end(process)
            return fail("installing", "The installation took too long", "install_timeout")
        if status != 0:
            return fail("installing", f"The installation ended with status {status}", cause_of(status))
    if instructions["install"]:
        write_status("installed")
        until = time.monotonic() + GO_WITHIN_S
        while not (HERE / "go").exists():
            time.sleep(STEP_S)
            if time.monotonic() > until:
                return fail("installing", "The sandbox was not released", "ended")
    return build(instructions) if instructions["builds"] else serve(instructions)


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack the members that stay in the folder. Links to other folders are skipped."""
    folder = folder.resolve()
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, members=contained(archive, folder), filter="data")
    else:  # Python before 3.8.17, 3.9.17, 3.10.12 or 3.11.4
        archive.extractall(folder, members=contained(archive, folder))  # noqa: S202 (its members are checked)


def contained(archive: tarfile.TarFile, folder: Path) -> "Iterator[tarfile.TarInfo]":
    """Yield the members whose resolved path and link target are below the folder."""
    for member in archive:
        path = folder / member.name
        ends = [path.parent / member.linkname if member.issym() else folder / member.linkname, path]
        if all(folder == end or folder in end.parents for end in (Path(os.path.realpath(str(end))) for end in ends)):
            yield member


def serve(instructions: dict) -> None:  # type: ignore[type-arg]
    """Run the server until it ends. Write the status when it responds."""
    write_status("starting")
    server = start(instructions, instructions["serve"])
    write_status("waiting")
    ready, until = False, time.monotonic() + instructions["serve_timeout_s"]
    while server.poll() is None:
        if not ready and responds():
            ready = True
            write_status("ready")
        if not ready and time.monotonic() > until:
            ports = listening_ports()
            others = [str(port) for port in ports if port != int(os.environ["PORT"])]
            cause = "port" if len(others) == len(ports) else "response"
            end(server)
            text = (
                f"The server did not answer on port {os.environ['PORT']} within {instructions['serve_timeout_s']:.0f} s"
            )
            return fail("waiting", text + (f". It listens on port {', '.join(others)}" if others else ""), cause)
        time.sleep(STEP_S)
        if (HERE / "log").stat().st_size > instructions["log_bytes"]:
            log_end = tail().encode()
            os.truncate(HERE / "log", 0)
            (HERE / "log").write_bytes(log_end)
    time.sleep(STEP_S)
    status = abs(server.returncode)
    return fail("waiting", f"The server ended with status {status}", cause_of(status))


def build(instructions: dict) -> None:  # type: ignore[type-arg]
    """Run the build to its end and pack its output. The status contains the numbers of files, bytes and parts."""
    write_status("building")
    process = start(instructions, instructions["serve"])
    try:
        status = abs(process.wait(instructions["serve_timeout_s"]))
    except subprocess.TimeoutExpired:
        end(process)
        return fail("building", "The build took too long", "build_timeout")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if status != 0:
        return fail("building", f"The build ended with status {status}", cause_of(status))
    return write_status("built", output=pack(SITE / instructions["output"]))


def pack(folder: Path) -> "dict | None":  # type: ignore[type-arg]
    """Write the regular files of a folder as parts of a tar archive. No link is followed. None: there is no folder."""
    if os.path.realpath(str(folder)) != str(folder.absolute()) or not folder.is_dir():
        return None
    parts, files, size = Parts(HERE / "output"), 0, 0
    # A second name of a file would be a link in the archive without `dereference`.
    with tarfile.open(  # type: ignore[call-overload]
        fileobj=parts, mode="w|", format=tarfile.PAX_FORMAT, dereference=True
    ) as archive:
        paths = (Path(above) / name for above, _, names in os.walk(str(folder)) for name in names)
        for path in sorted(filter(is_readable_file, paths)):
            name = str(path.relative_to(folder))
            with contextlib.suppress(OSError, UnicodeError):
                name.encode()
                archive.add(str(path), name, recursive=False)
                files, size = files + 1, size + path.stat().st_size
    parts.close()
    return {"files": files, "bytes": size, "parts": parts.count}


def is_readable_file(path: Path) -> bool:
    """Return True for a regular file, not a link, that its owner may read."""
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) and bool(mode & stat.S_IRUSR)


class Parts:
    """Stream that stores what is written as files of a fixed size: the host reads each of them into memory."""

    def __init__(self, path: Path) -> None:
        self._path, self._pending, self.count = path, bytearray(), 0

    def write(self, data: bytes) -> int:
        """Store complete parts."""
        self._pending += data
        while len(self._pending) >= PART_BYTES:
            self._store(PART_BYTES)
        return len(data)

    def close(self) -> None:
        """Store the last part."""
        if self._pending:
            self._store(len(self._pending))

    def _store(self, size: int) -> None:
        Path(f"{self._path}.{self.count}").write_bytes(bytes(self._pending[:size]))
        del self._pending[:size]
        self.count += 1


def start(instructions: dict, command: list) -> "subprocess.Popen[bytes]":  # type: ignore[type-arg]
    """Start a command in the folder of the site. A missing program ends with the status 127, as in a shell."""
    environment = {**os.environ, **instructions["environment"]}
    environment["PATH"] = os.pathsep.join([*instructions["path"], environment.get("PATH", os.defpath)])
    arguments = [part.replace("{port}", environment["PORT"]).replace("{host}", environment["HOST"]) for part in command]
    with (HERE / "log").open("ab", buffering=0) as log:  # The line of the command precedes its output.
        if not any("\n" in part for part in arguments):  # Scripts of recipes print the commands that they run.
            log.write(f"$ {' '.join(arguments)}\n".encode())
        folder = SITE / instructions["folder"]
        try:
            return subprocess.Popen(
                arguments,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            log.write(f"{arguments[0]}: {error.strerror}\n".encode())
            return subprocess.Popen([sys.executable, "-c", "raise SystemExit(127)"])


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command and the processes of its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def cause_of(status: int) -> str:
    """Return the cause of the end of a command from its status and the free disk space."""
    if shutil.disk_usage(str(SITE)).free < MIN_FREE_BYTES:
        return "disk"
    return "missing_program" if status == MISSING_COMMAND else "memory" if status in KILLED else "ended"


def listening_ports() -> list:  # type: ignore[type-arg]
    """Return the first five TCP ports on which processes of the microVM listen, without those of the system."""
    ports = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
                columns = line.split()
                if columns[3] == LISTENING:
                    ports.add(int(columns[1].rpartition(":")[2], 16))
    return sorted(port for port in ports if FIRST_USER_PORT <= port != ENVD_PORT)[:5]


def responds() -> bool:
    """Return True if the server responds to a request with any status."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 5) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
        return connection.recv(5) == b"HTTP/"
    return False


def tail() -> str:
    """Return the end of the output."""
    try:
        return (HERE / "log").read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return ""


def fail(step: str, problem: str, cause: str) -> None:
    """Write the status of a failure in the phase `step`."""
    write_status("failed", problem, step, cause)


def write_status(
    phase: str,
    problem: "str | None" = None,
    step: "str | None" = None,
    cause: "str | None" = None,
    output: "dict | None" = None,  # type: ignore[type-arg]
) -> None:
    """Write the phase, the end of the log and, for a failure, the problem, its phase and its cause."""
    status = {"phase": phase, "problem": problem, "step": step, "cause": cause, "log": tail(), "output": output}
    (HERE / "state.tmp").write_text(json.dumps(status))
    (HERE / "state.tmp").replace(HERE / "state.json")


if __name__ == "__main__":
    main()
