"""Parallel uploads of images: growth of the memory, and the rate compared with a server of multer and sharp.

The peer needs node. It re-encodes the image as a JPEG of the same quality without metadata and writes it to disk. Galley
also checks the bounds, isolates the decoder in a process, and stores the image with fsync and a row.
"""

import io
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from PIL import Image

from tests.bench import peers
from tests.support.servers.service import Service

AT_ONCE, ROUNDS = 16, 2
GROWTH_KIB = 16 * 1024
TREE_AT_ONCE = 8
PEER = """
const express = require("express"), multer = require("multer"), sharp = require("sharp");
const app = express(), upload = multer({ dest: process.argv[2], limits: { fileSize: 10485760, files: 1 } });
app.post("/", upload.single("file"), async (request, response) => {
  const info = await sharp(request.file.path).rotate().jpeg({ quality: 90 }).toFile(`${request.file.path}.jpg`);
  response.status(201).json({ size: info.size });
});
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""


class TestUpload:
    def test_upload_memory_growth_is_within_the_limit(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        content = _photo()
        with Service(tmp_path, workers=1) as service:
            clients = [service.client(service.world.person()) for _ in range(AT_ONCE)]
            url = f"{service.url}/api/v1/bucket/upload"
            _send(clients[0], url, content)
            before_kib = service.memory_kib()
            with _Peak(service.memory_kib) as peak:
                rate = _rate(clients, url, content)
            tree_mib = service.tree_mib()
            with _Peak(service.tree_mib) as tree:
                _rate(clients[:TREE_AT_ONCE], url, content)
        grown_kib = peak.highest - before_kib
        lines = [
            f"a photo of {len(content) / 1e6:.1f} MB, {AT_ONCE} at once",
            f"memory of the server: {before_kib / 1024:.0f} MiB, grown by {grown_kib / 1024:.1f} MiB at most (≤ 16)",
            f"throughput: {rate:.1f} MB/s",
            f"memory of all processes, {TREE_AT_ONCE} at once: {tree_mib} MiB, grown by {tree.highest - tree_mib} MiB (goal ≤ 64)",
        ]
        theirs = _peer_rate(tmp_path, content)
        if theirs is not None:
            lines.append(f"multer and sharp: {theirs:.1f} MB/s; ratio {rate / theirs:.2f} (goal ≥ 0.8)")
        with capsys.disabled():
            print("\n" + "\n".join(lines))
        assert grown_kib <= GROWTH_KIB


class _Peak:
    """The maximum of a value that is read every few milliseconds inside the `with`."""

    def __init__(self, look: Callable[[], int]) -> None:
        self.look, self.highest, self._stop = look, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "_Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.highest = max(self.highest, self.look())


def _photo() -> bytes:
    """Create a JPEG of 12 MP and about 5 MB with smooth areas and grain."""
    chance = random.Random(1)
    coarse = Image.frombytes("RGB", (400, 300), chance.randbytes(360_000)).resize(
        (4000, 3000), Image.Resampling.BICUBIC
    )
    grain = Image.frombytes("RGB", (1000, 750), chance.randbytes(2_250_000)).resize((4000, 3000))
    out = io.BytesIO()
    Image.blend(coarse, grain, 0.22).save(out, "JPEG", quality=92)
    return out.getvalue()


def _send(client: requests.Session, url: str, content: bytes) -> None:
    answer = client.post(url, files={"file": ("a.jpg", content, "image/jpeg")}, timeout=300)
    assert answer.status_code == 201, answer.text


def _rate(clients: list[requests.Session], url: str, content: bytes) -> float:
    started = time.monotonic()
    with ThreadPoolExecutor(len(clients)) as pool:
        for _ in range(ROUNDS):
            list(pool.map(lambda client: _send(client, url, content), clients))
    return ROUNDS * len(clients) * len(content) / 1e6 / (time.monotonic() - started)


def _peer_rate(tmp_path: Path, content: bytes) -> float | None:
    node, packages = shutil.which("node"), peers.npm_packages("uploads")
    if node is None or packages is None:
        return None
    (tmp_path / "server.js").write_text(PEER)
    environment = {"NODE_PATH": f"{packages}/node_modules", "PATH": os.environ["PATH"]}
    process = subprocess.Popen(
        [node, tmp_path / "server.js", tmp_path / "multer"], stdout=subprocess.PIPE, text=True, env=environment
    )
    with process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}/"
            clients = [requests.Session() for _ in range(AT_ONCE)]
            _send(clients[0], url, content)
            return _rate(clients, url, content)
        finally:
            process.kill()
