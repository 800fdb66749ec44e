"""Server that imports the application and the test libraries once, and forks a process for each part of the suite.

The imports take about two seconds of processor time. `tests/run.py` starts one server that gevent has patched, as `wsgi.py`
patches the web workers, and one that is not patched.

Protocol: each line of the standard input is a JSON object with the fields of `Request`. The server writes the id of the
process that runs the part, and a line feed. The process writes its exit status to the file `status` at its end.
"""

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from gevent import monkey

if "--patched" in sys.argv[1:]:
    # Other libraries import `ssl`, so the patch comes first.
    monkey.patch_all()

import gc
from importlib import import_module

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = (
    *("hypothesis.strategies", "psutil"),
    *("app.factory", "app.blueprints", "app.drivers.billing.paddle.provider", "app.drivers.storage.s3"),
    *("psycopg", "alembic.command", "flask.testing", "flask.cli"),
)


@dataclass(frozen=True)
class Request:
    """A part of the suite: the arguments of pytest, more environment variables, and the files for output and exit status."""

    arguments: list[str]
    environment: dict[str, str]
    output: str
    status: str


def main() -> int:
    """Fork a process for each request until the input ends. Return the exit status of a forked process in that process."""
    sys.path.insert(0, str(ROOT))
    for name in IMPORTS:
        import_module(name)
    # The forked processes share the memory of these objects. The garbage collector would write to them.
    gc.collect()
    gc.freeze()
    # The system removes ended processes, because the server does not wait for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    fork = monkey.get_original("os", "fork")
    for line in sys.stdin:
        pid = fork()
        if not pid:
            return _run(Request(**json.loads(line)))
        print(pid, flush=True)
    return 0


def _run(request: Request) -> int:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.update(request.environment)
    with Path(os.devnull).open("rb") as nothing, Path(request.output).open("wb") as output:
        for source, number in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source.fileno(), number)
    # Hypothesis is a plugin of pytest. Its asserts need no detailed messages.
    status = int(pytest.main(["-W", "ignore::pytest.PytestAssertRewriteWarning", *request.arguments]))
    Path(request.status).write_text(str(status))
    return status


if __name__ == "__main__":
    sys.exit(main())
