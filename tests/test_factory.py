"""Tests of the application factory: the modules that a start does not load."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_start_without_redis_does_not_load_its_client(tmp_path: Path) -> None:
    script = "import gc, sys, wsgi; print('redis' in sys.modules, gc.isenabled())"
    environment = {"APP_ENV": "test", "INSTANCE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["False", "True"]
