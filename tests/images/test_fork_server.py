"""Tests of the modules, the limits and the environment of the image processes."""

import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from app.images.worker import SCRIPT, fork_server
from tests.support.samples.pictures import picture

ROOT = Path(__file__).resolve().parents[2]

LOADED = """
import resource, runpy, signal, sys
script = runpy.run_path(sys.argv[1])
sys.path.insert(0, sys.argv[2])
script["limit"](512 * 1024 * 1024, 40)
from app.images.reencode import load_codecs
load_codecs()
names = {name.partition(".")[0] for name in sys.modules}
limits = [resource.getrlimit(kind)[1] for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)]
import json; print(json.dumps([
    sorted(n for n in sys.modules if n.startswith("app")), "flask" in names, limits,
    30 < signal.getitimer(signal.ITIMER_REAL)[0] <= 40,
]))
"""


class TestForkServer:
    def test_process_loads_only_the_image_modules_and_has_limits(self) -> None:
        ended = subprocess.run(
            [sys.executable, "-I", "-c", LOADED, SCRIPT, ROOT], capture_output=True, text=True, check=True
        )
        loaded, flask, limits, has_timer = json.loads(ended.stdout)
        assert loaded == ["app", "app.images", "app.images.reencode"]
        assert not flask
        assert limits == [512 * 1024 * 1024, 30, 0]
        assert has_timer

    def test_process_reports_invalid_images_and_writes_nothing(self) -> None:
        report, content = _reencoded(b"words")
        assert report["fault"] == "unsupported"
        assert content == b""

    def test_process_reports_the_written_image(self) -> None:
        report, content = _reencoded(picture())
        assert report["size"] == len(content) > 0

    def test_server_has_no_environment_and_ends_with_its_client(self) -> None:
        _reencoded(picture())
        server = fork_server.process
        assert server is not None
        assert Path(f"/proc/{server.pid}/environ").read_bytes() == b""
        fork_server.stop()
        assert server.poll() is not None
        assert fork_server.process is None


def _reencoded(content: bytes) -> tuple[dict[str, object], bytes]:
    """Re-encode an image with the running server. Return the report and the written bytes."""
    bounds = {"side_px": 99, "area_px": 9999, "frames": 1, "animation_px": 9999}
    parameters = {"bounds": bounds, "memory_bytes": 512 * 1024 * 1024, "timeout_s": 40, "options": {"width": None}}
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, ours:
        source.write(content)
        source.seek(0)
        with theirs:
            files = [source.fileno(), out.fileno(), theirs.fileno()]
            fork_server.start_process(json.dumps(parameters).encode(), files)
        report = json.loads(b"".join(iter(lambda: ours.recv(4096), b"")))
        out.seek(0)
        return report, out.read()
