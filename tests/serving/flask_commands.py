"""Program `flask` for scripts with many commands.

Each command is a fork of one process that has imported the application, because the import takes most of the time of a
command.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.serving.processes import BIN, ROOT

START_S = 240
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    command = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\0"
    sent = socket.send_fds(server, [command], [0, 1, 2])
    server.sendall(command[sent:])
    sys.exit(server.recv(1)[0])
"""


@contextlib.contextmanager
def flask_commands(folder: Path) -> Iterator[Path]:
    """Run the process for the length of the block. Yield a folder with the program, for PATH."""
    path, programs = folder / "flask.socket", folder / "programs"
    programs.mkdir()
    program = programs / "flask"
    program.write_text(CLIENT.format(python=sys.executable, path=str(path)))
    program.chmod(0o755)
    environment = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    script = Path(__file__).with_name("flask_process.py")
    process = subprocess.Popen([sys.executable, str(script), str(path)], cwd=ROOT, env=environment)
    try:
        deadline = time.monotonic() + START_S
        while not path.exists():
            assert process.poll() is None, "the process ended"
            assert time.monotonic() < deadline, "the process does not listen"
            time.sleep(0.05)
        yield programs
    finally:
        process.terminate()
        process.wait()
