"""Server that forks one process for each image, so that an image costs no start of an interpreter.

`app.images.worker` starts it by its path, so that it loads no other part of the application. The server itself never
reads an image. It ends when its client closes the socket, which is standard input.
"""

import hashlib
import json
import os
import resource
import signal
import socket
import sys
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

CPU_S, OPEN_FILES = 30, 32
MESSAGE_BYTES, FILES = 4096, 3
STARTED = b"1"


def limit(memory_bytes: int, timeout_s: float) -> None:
    """Set the resource limits of this process. The system kills it after `timeout_s`."""
    for kind, maximum in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (maximum, maximum))
    signal.setitimer(signal.ITIMER_REAL, timeout_s)


def serve(client: socket.socket) -> None:
    """Fork a process for each message.

    The files of a message are the source, the output and the socket of the report.
    """
    from app.images.reencode import load_codecs

    load_codecs()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes ended processes
    while True:
        message, files, _, _ = socket.recv_fds(client, MESSAGE_BYTES, FILES)
        if not message:
            return
        if os.fork() == 0:
            try:
                client.close()
                reencode_files(json.loads(message), *files)
            finally:
                os._exit(0)
        for file in files:
            os.close(file)
        client.sendall(STARTED)


def reencode_files(parameters: dict[str, Any], source: int, out: int, report: int) -> None:
    """Re-encode the image of a descriptor within the bounds, and send one line of JSON to the socket `report`."""
    from app.images.reencode import ImageBounds, ImageError, reencode

    limit(parameters["memory_bytes"], parameters["timeout_s"])
    buffer = BytesIO()
    result: dict[str, object]
    try:
        with open(source, "rb") as file:
            image = reencode(file, buffer, ImageBounds(**parameters["bounds"]), **parameters["options"])
        content = buffer.getvalue()
        with open(out, "wb") as file:
            file.write(content)
        result = asdict(image) | {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}
    except ImageError as error:
        result = {"fault": error.fault, "message": str(error)}
    except OSError:
        result = {"unavailable": "The disk for uploads is full. Try again later"}
    with socket.socket(fileno=report) as client:
        client.sendall(json.dumps(result).encode())


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    serve(socket.socket(fileno=sys.stdin.fileno()))
