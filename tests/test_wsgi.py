"""Tests of the WSGI entry point and its gevent patch in subprocesses."""

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
        (f"from wsgi import app; {PATCHED}", "True Application"),
        (f"import flask.cli; from wsgi import app; {PATCHED}", "False Application"),
        ("import wsgi; print(wsgi.app is wsgi.application)", "True"),
    ],
    ids=["a server's process is patched", "the flask command's is not", "both usual names are the application"],
)
def test_wsgi_import_patches_server_processes_only(tmp_path: Path, script: str, printed: str) -> None:
    done = run("-W", "error", "-c", script, INSTANCE_DIR=str(tmp_path))
    assert done.stdout.strip().splitlines()[-1:] == [printed], done.stderr


def test_flask_command_with_invalid_settings_prints_one_message(tmp_path: Path) -> None:
    done = run("-m", "flask", "config", "check", INSTANCE_DIR=str(tmp_path), PORT="eighty", APP_COLOUR="red")
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "Galley cannot start. Invalid settings:"
    assert "Traceback" not in done.stderr


def test_server_with_invalid_settings_exits_and_names_them(tmp_path: Path) -> None:
    done = run("-m", "gunicorn", "wsgi:app", INSTANCE_DIR=str(tmp_path), PORT="0", WEB_CONCURRENCY="1")
    assert done.returncode != 0
    assert "PORT: Must be greater than or equal to 1" in done.stderr
    assert "Traceback" not in done.stderr


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    own = {"PATH": os.environ["PATH"], "APP_ENV": "test"} | environment
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=60, check=False)
