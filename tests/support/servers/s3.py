"""S3 server on loopback: `rclone serve s3` over a folder, with one key pair."""

import secrets
import socket
import subprocess
import sys
import time
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import boto3

from tests.support.servers.ports import free_port

BUCKET = "media"
RCLONE = Path(sys.executable).parent / "rclone"


class S3Server:
    """An S3 server for the length of a `with`. Its bucket is the folder `root/media`."""

    def __init__(self, root: Path) -> None:
        self.root, self.port = root, free_port()
        self.access_key, self.secret_key = "test" + secrets.token_hex(6), secrets.token_hex(16)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Return the AWS variables for this server."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def __enter__(self) -> "S3Server":
        (self.root / BUCKET).mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it listens. A directory cache time of 0 s makes rclone spin."""
        self.process = subprocess.Popen(
            [RCLONE, "serve", "s3", self.root, "--addr", f"127.0.0.1:{self.port}", "--config", "/dev/null",
             "--auth-key", f"{self.access_key},{self.secret_key}", "--dir-cache-time", "10ms", "--no-checksum"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while not _listens(self.port):
            assert self.process.poll() is None, "rclone ended"
            assert time.monotonic() < deadline, "rclone does not listen"
            time.sleep(0.05)

    def make_bucket(self, name: str) -> None:
        """Create the bucket through the server, which does not see new folders of other processes at once."""
        self._client.create_bucket(Bucket=name)

    @cached_property
    def _client(self) -> Any:
        keys = {"aws_access_key_id": self.access_key, "aws_secret_access_key": self.secret_key}
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", **keys)

    def stop(self) -> None:
        """Stop the started process."""
        self.process.terminate()
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(120)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
