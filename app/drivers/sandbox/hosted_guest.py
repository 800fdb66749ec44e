"""The program that installs and serves a site inside a hosted microVM; started there once, plain standard library.

Everything it says stands in `state.json` beside it. Between installing and serving it waits for the file `go`, which is
put there when the way out has been closed.
"""

import contextlib
import json
import os
import socket
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


def main() -> None:
    """Unpack, install, wait, serve; every failure is a state."""
    order = json.loads((HERE / "order.json").read_text())
    tell("installing")
    SITE.mkdir(exist_ok=True)
    with tarfile.open(HERE / "site.tar") as archive:
        unpack(archive, SITE)
    for command in order["install"]:
        status = start(order, command).wait()
        if status != 0:
            return tell("failed", f"The installation ended with status {status}")
    if order["install"]:
        tell("installed")
        until = time.monotonic() + GO_WITHIN_S
        while not (HERE / "go").exists():
            time.sleep(STEP_S)
            if time.monotonic() > until:
                return tell("failed", "The sandbox was not released")
    return serve(order)


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack what stays in the folder; a link that leads out of it, which a site may hold, is left out."""
    folder = folder.resolve()
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, members=contained(archive, folder), filter="data")
    else:  # a Python older than 3.8.17, 3.9.17, 3.10.12 or 3.11.4
        archive.extractall(folder, members=contained(archive, folder))  # noqa: S202 (its members are checked)


def contained(archive: tarfile.TarFile, folder: Path) -> "Iterator[tarfile.TarInfo]":
    """The members that end below the folder, by what is unpacked already; of a link its target as well."""
    for member in archive:
        place = folder / member.name
        ends = [place.parent / member.linkname if member.issym() else folder / member.linkname, place]
        if all(folder == end or folder in end.parents for end in (Path(os.path.realpath(str(end))) for end in ends)):
            yield member


def serve(order: dict) -> None:  # type: ignore[type-arg]
    """Run the server until it ends, saying when it answers."""
    tell("starting")
    server = start(order, order["serve"])
    tell("waiting")
    ready = False
    while server.poll() is None:
        if not ready and answers():
            ready = True
            tell("ready")
        time.sleep(STEP_S)
        if (HERE / "log").stat().st_size > order["log_bytes"]:
            kept = tail().encode()
            os.truncate(HERE / "log", 0)
            (HERE / "log").write_bytes(kept)
    time.sleep(STEP_S)
    tell("failed", f"The server ended with status {abs(server.returncode)}")


def start(order: dict, command: list) -> "subprocess.Popen[bytes]":  # type: ignore[type-arg]
    """Start a command in the site's folder; one that is not there ends with the shell's 127."""
    environment = {**os.environ, **order["environment"]}
    environment["PATH"] = os.pathsep.join([*order["path"], environment.get("PATH", os.defpath)])
    filled = [part.replace("{port}", environment["PORT"]).replace("{host}", environment["HOST"]) for part in command]
    with (HERE / "log").open("ab") as log:
        log.write(f"$ {' '.join(filled)}\n".encode())
        folder = SITE / order["folder"]
        try:
            return subprocess.Popen(
                filled, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        except OSError as error:
            log.write(f"{filled[0]}: {error.strerror}\n".encode())
            return subprocess.Popen([sys.executable, "-c", "raise SystemExit(127)"])


def answers() -> bool:
    """Whether the server answers a request, whatever it answers."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 5) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
        return connection.recv(5) == b"HTTP/"
    return False


def tail() -> str:
    """The end of what was printed."""
    try:
        return (HERE / "log").read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return ""


def tell(phase: str, problem: "str | None" = None) -> None:
    """Write down how far it is."""
    words = {"phase": phase, "problem": problem, "log": tail()}
    (HERE / "state.tmp").write_text(json.dumps(words))
    (HERE / "state.tmp").replace(HERE / "state.json")


if __name__ == "__main__":
    main()
