"""Tests of the WSGI entry point and its gevent patch in subprocesses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return the state of a process that has imported the application as a server does."""
    script = """
import json, sys, wsgi, gc
from gevent.monkey import is_module_patched
print(json.dumps({
    "patched": is_module_patched("socket"),
    "application": type(wsgi.app).__name__,
    "names are equal": wsgi.app is wsgi.application,
    "redis": "redis" in sys.modules,
    "collector": gc.isenabled(),
}))
"""
    done = run("-W", "error", "-c", script, INSTANCE_DIR=str(tmp_path_factory.mktemp("instance")))
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return report


class TestServer:
    def test_import_patches_the_process(self, report: dict[str, object]) -> None:
        assert (report["patched"], report["application"]) == (True, "Application")

    def test_both_usual_names_are_the_application(self, report: dict[str, object]) -> None:
        assert report["names are equal"]

    def test_start_without_redis_does_not_load_its_client(self, report: dict[str, object]) -> None:
        assert not report["redis"]

    def test_garbage_collector_is_enabled_after_the_start(self, report: dict[str, object]) -> None:
        assert report["collector"]


def test_import_in_a_flask_command_does_not_patch_the_process(tmp_path: Path) -> None:
    report = "from gevent.monkey import is_module_patched; print(is_module_patched('socket'), type(app).__name__)"
    script = f"import flask.cli; from wsgi import app; {report}"
    done = run("-W", "error", "-c", script, INSTANCE_DIR=str(tmp_path))
    assert done.stdout.strip().splitlines()[-1:] == ["False Application"], done.stderr


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
