"""Process that re-encodes one image from standard input to standard output and reports on standard error.

`app.images.worker` starts it by its path, so that it loads no other part of the application.
"""

import hashlib
import json
import os
import resource
import sys
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

CPU_S, OPEN_FILES = 30, 32
EXIT_NO_SPACE = 75


def limit(memory_bytes: int) -> None:
    """Set the resource limits of this process."""
    for kind, maximum in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (maximum, maximum))


def main(arguments: str) -> None:
    """Re-encode the image within the bounds in the arguments."""
    from app.images.reencode import ImageBounds, ImageError, reencode

    parameters = json.loads(arguments)
    limit(parameters["memory_bytes"])
    out = BytesIO()
    try:
        picture = reencode(sys.stdin.buffer, out, ImageBounds(**parameters["bounds"]), width=parameters["width"])
    except ImageError as error:
        sys.stderr.write(json.dumps({"fault": error.fault, "message": str(error)}))
        return
    content = out.getvalue()
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError:
        os._exit(EXIT_NO_SPACE)  # a normal exit would flush the buffer again
    report = asdict(picture) | {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}
    sys.stderr.write(json.dumps(report))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(sys.argv[1])
