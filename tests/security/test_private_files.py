"""Tests of the permissions of everything that the service stores, with a umask that restricts nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.security.private_files import make_private_folder
from app.settings.groups import PROJECT

pytestmark = pytest.mark.one_database


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


class TestMakePrivateFolder:
    def test_new_folder_and_its_new_parents_belong_to_the_owner_only(self, tmp_path: Path) -> None:
        make_private_folder(tmp_path / "a/b")
        make_private_folder(tmp_path / "a/b")
        assert [mode_of(tmp_path / name) for name in ("a", "a/b")] == [0o700, 0o700]

    def test_existing_folder_keeps_its_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir(mode=0o750)
        make_private_folder(tmp_path / "a/b")
        assert [mode_of(tmp_path / name) for name in ("a", "a/b")] == [0o750, 0o700]

    def test_file_of_the_same_name_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("")
        for path in ("a", "a/b"):
            with pytest.raises(OSError, match="a"):
                make_private_folder(tmp_path / path)


@pytest.mark.slow
def test_commands_store_private_files_only(tmp_path: Path) -> None:
    """The folders below the root of the repositories are those of Git. The root protects them."""
    folders = {"GIT_LOCAL_ROOT": "git", "STORAGE_DIR": "storage", "MAIL_DIR": "mail"}
    environment = {"PATH": os.environ["PATH"], "INSTANCE_DIR": str(tmp_path / "instance"), "MAIL_DRIVER": "file"}
    environment |= {name: str(tmp_path / "data" / folder) for name, folder in folders.items()}
    flask = Path(sys.executable).with_name("flask")
    for arguments in (("db", "upgrade"), ("seed", "demo"), ("doctor",), ("backup", str(tmp_path / "saved"))):
        done = subprocess.run(
            [flask, *arguments], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0 or arguments == ("doctor",), done.stderr
    for folder in (
        tmp_path / "instance",
        tmp_path / "data",
        tmp_path / "data/git",
        tmp_path / "data/mail",
        tmp_path / "saved",
    ):
        assert mode_of(folder) == 0o700, folder
    stored = [*(tmp_path / "instance").iterdir(), *(tmp_path / "data").iterdir(), *(tmp_path / "saved").rglob("*")]
    assert {path.name for path in stored} >= {
        "app.db",
        "secret_key",
        "encryption_keys",
        "demo_password",
        "manifest.json",
    }
    assert {path.name: oct(mode_of(path)) for path in stored if mode_of(path) & 0o077} == {}


def test_database_and_its_log_files_are_private(tmp_path: Path) -> None:
    script = (
        "import os; os.umask(0)\n"
        "import sqlalchemy as sa\n"
        "from app.database.engines import engine_options, prepare_engine, reading_engine\n"
        f"url = 'sqlite:///{tmp_path}/app.db'\n"
        "engine = sa.create_engine(url, **engine_options(url))\n"
        "prepare_engine(engine)\n"
        "with reading_engine(url, engine).connect() as reading, engine.begin() as connection:\n"
        "    connection.exec_driver_sql('create table t (a)')\n"
        f"    print([oct(os.stat(f'{tmp_path}/app.db' + end).st_mode & 0o777) for end in ('', '-wal', '-shm')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "['0o600', '0o600', '0o600']", done.stderr
