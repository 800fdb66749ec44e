"""The WSGI entry point, in processes of its own: what is patched stays patched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PATCHED = "from gevent.monkey import is_module_patched; print(is_module_patched('socket'), type(app).__name__)"


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        (f"from wsgi import app; {PATCHED}", "True Flask"),
        (f"import flask.cli; from wsgi import app; {PATCHED}", "False Flask"),
        ("import wsgi; print(wsgi.app is wsgi.application)", "True"),
    ],
    ids=["a server's process is patched", "the flask command's is not", "both usual names are the application"],
)
def test_wsgi(tmp_path: Path, script: str, printed: str) -> None:
    environment = {"PATH": os.environ["PATH"], "APP_ENV": "test", "INSTANCE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip().splitlines()[-1:] == [printed], done.stderr
