"""Tests of the modules and the limits of the image subprocess."""

import json
import subprocess
import sys
from pathlib import Path

from app.images.worker import SCRIPT

ROOT = Path(__file__).resolve().parents[2]

LOADED = """
import resource, runpy, sys
script = runpy.run_path(sys.argv[1])
sys.path.insert(0, sys.argv[2])
script["limit"](512 * 1024 * 1024)
import app.images.reencode
names = {name.partition(".")[0] for name in sys.modules}
limits = [resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)]
import json; print(json.dumps([sorted(n for n in sys.modules if n.startswith("app")), "flask" in names, limits]))
"""


class TestChildProcess:
    def test_process_loads_only_the_image_modules_and_has_limits(self) -> None:
        ended = subprocess.run(
            [sys.executable, "-I", "-c", LOADED, SCRIPT, ROOT], capture_output=True, text=True, check=True
        )
        loaded, flask, limits = json.loads(ended.stdout)
        assert loaded == ["app", "app.images", "app.images.frames", "app.images.reencode"]
        assert not flask
        assert limits == [512 * 1024 * 1024, 30, 0]

    def test_process_reports_invalid_images_and_writes_nothing(self, tmp_path: Path) -> None:
        bounds = {"side_px": 9, "area_px": 9, "frames": 1, "animation_px": 9}
        arguments = json.dumps({"bounds": bounds, "memory_bytes": 512 * 1024 * 1024, "width": None})
        (tmp_path / "file").write_bytes(b"words")
        with (tmp_path / "file").open("rb") as source:
            ended = subprocess.run(
                [sys.executable, "-I", SCRIPT, arguments], stdin=source, capture_output=True, check=True, env={}
            )
        assert ended.stdout == b""
        assert json.loads(ended.stderr)["fault"] == "unsupported"
