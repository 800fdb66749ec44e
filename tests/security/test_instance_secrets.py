"""Tests of the secrets in the instance folder."""

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.security.private_files import read_or_create

ROOT = Path(__file__).resolve().parents[2]


class TestReadOrCreate:
    def test_read_or_create_returns_the_first_value_again(self, tmp_path: Path) -> None:
        assert [
            read_or_create(tmp_path / "key", lambda: "first"),
            read_or_create(tmp_path / "key", lambda: "second"),
        ] == ["first", "first"]

    def test_secret_file_is_readable_by_its_owner_only(self, tmp_path: Path) -> None:
        read_or_create(tmp_path / "new" / "key", lambda: "x")
        assert stat.S_IMODE((tmp_path / "new" / "key").stat().st_mode) == 0o600

    def test_parallel_processes_read_one_secret(self, tmp_path: Path) -> None:
        script = (
            "import pathlib, secrets; from app.security.private_files import read_or_create; "
            f"print(read_or_create(pathlib.Path({str(tmp_path / 'key')!r}), lambda: secrets.token_hex(8)))"
        )

        def start(_number: int) -> str:
            command = [sys.executable, "-c", script]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout

        with ThreadPoolExecutor(6) as pool:
            answers = set(pool.map(start, range(6)))
        assert len(answers) == 1
        assert [file.name for file in tmp_path.iterdir()] == ["key"]

    def test_slower_writer_returns_the_secret_of_the_faster_one(self, tmp_path: Path) -> None:
        file = tmp_path / "key"

        def slow() -> str:
            read_or_create(file, lambda: "faster")
            return "slower"

        assert read_or_create(file, slow) == "faster"

    def test_unwritable_file_raises_os_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(OSError, match="file"):
            read_or_create(tmp_path / "file" / "key", lambda: "x")
