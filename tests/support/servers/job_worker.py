"""A process of the job worker that a test can kill."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]


class JobWorker:
    """A running job worker with the settings of an application. It starts at once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        inherited = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "FLASK_APP": "wsgi"}
        command = [str(Path(sys.executable).parent / "flask"), "worker"]
        self._process = subprocess.Popen(command, cwd=ROOT, env=inherited | dict(environment))

    def kill(self) -> None:
        """Kill the process (SIGKILL) and wait for its end."""
        self._process.kill()
        self._process.wait(10)
