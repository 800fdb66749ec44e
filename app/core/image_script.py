"""The process that makes one picture anew: picture in by standard input, out by standard output, facts by standard error.

Started by its path (see `app.core.imaging`), so that nothing of the application is loaded but what it names.
"""

import hashlib
import json
import os
import resource
import sys
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from types import ModuleType

CPU_S, OPEN_FILES = 30, 32
NO_ROOM = 75


def load_bare_packages() -> None:
    """Stand in for `app` and `app.core`, whose own modules would load the whole service."""
    core = Path(__file__).parent
    for name, folder in (("app", core.parent), ("app.core", core)):
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(folder)]


def limit(memory_bytes: int) -> None:
    """Bind this process: the kernel refuses what goes beyond."""
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def main(arguments: str) -> None:
    """Make the picture anew, within the bounds told."""
    from app.core.images import Bounds, ImageFault, remake

    given = json.loads(arguments)
    limit(given["memory_bytes"])
    out = BytesIO()
    try:
        picture = remake(sys.stdin.buffer, out, Bounds(**given["bounds"]), width=given["width"])
    except ImageFault as error:
        sys.stderr.write(json.dumps({"fault": error.fault, "message": str(error)}))
        return
    content = out.getvalue()
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError:
        os._exit(NO_ROOM)  # at once: a usual exit would try to write the rest
    told = asdict(picture) | {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}
    sys.stderr.write(json.dumps(told))


if __name__ == "__main__":
    load_bare_packages()
    main(sys.argv[1])
