"""What the process that makes a picture anew loads, and what binds it."""

import json
import subprocess
import sys
from pathlib import Path

from app.core.imaging import SCRIPT

LOADED = """
import resource, runpy, sys
script = runpy.run_path(sys.argv[1])
script["load_bare_packages"]()
script["limit"](512 * 1024 * 1024)
import app.core.images
names = {name.partition(".")[0] for name in sys.modules}
limits = [resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)]
import json; print(json.dumps([sorted(n for n in sys.modules if n.startswith("app")), "flask" in names, limits]))
"""


class TestTheScript:
    def test_it_loads_two_modules_of_ours_and_is_bound(self) -> None:
        ended = subprocess.run([sys.executable, "-I", "-c", LOADED, SCRIPT], capture_output=True, text=True, check=True)
        loaded, flask, limits = json.loads(ended.stdout)
        assert loaded == ["app", "app.core", "app.core.image_frames", "app.core.images"]
        assert not flask
        assert limits == [512 * 1024 * 1024, 30, 0]

    def test_what_is_no_picture_is_told_and_nothing_is_written(self, tmp_path: Path) -> None:
        bounds = {"side_px": 9, "area_px": 9, "frames": 1, "animation_px": 9}
        arguments = json.dumps({"bounds": bounds, "memory_bytes": 512 * 1024 * 1024, "width": None})
        (tmp_path / "file").write_bytes(b"words")
        with (tmp_path / "file").open("rb") as source:
            ended = subprocess.run(
                [sys.executable, "-I", SCRIPT, arguments], stdin=source, capture_output=True, check=True, env={}
            )
        assert ended.stdout == b""
        assert json.loads(ended.stderr)["fault"] == "unsupported"
