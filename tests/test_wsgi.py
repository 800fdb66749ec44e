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
        (f"from wsgi import app; {PATCHED}", "True Service"),
        (f"import flask.cli; from wsgi import app; {PATCHED}", "False Service"),
        ("import wsgi; print(wsgi.app is wsgi.application)", "True"),
    ],
    ids=["a server's process is patched", "the flask command's is not", "both usual names are the application"],
)
def test_wsgi(tmp_path: Path, script: str, printed: str) -> None:
    done = run("-W", "error", "-c", script, INSTANCE_DIR=str(tmp_path))
    assert done.stdout.strip().splitlines()[-1:] == [printed], done.stderr


def test_the_flask_command_tells_wrong_settings_in_one_message_without_a_traceback(tmp_path: Path) -> None:
    done = run("-m", "flask", "config", "check", INSTANCE_DIR=str(tmp_path), PORT="eighty", APP_COLOUR="red")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "Galley cannot start; 2 of its settings must be changed:"
    assert "Traceback" not in done.stderr


def test_a_server_with_wrong_settings_ends_and_names_them(tmp_path: Path) -> None:
    done = run("-m", "gunicorn", "wsgi:app", INSTANCE_DIR=str(tmp_path), PORT="0", WEB_CONCURRENCY="1")
    assert done.returncode != 0
    assert "PORT: Must be greater than or equal to 1" in done.stderr


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    own = {"PATH": os.environ["PATH"], "APP_ENV": "test"} | environment
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=60, check=False)
