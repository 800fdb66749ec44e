"""Tests of the object store in a folder."""

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.drivers.errors import UpstreamUnavailable
from app.drivers.storage.local import ABANDONED_AFTER_S, PARTS, LocalStore
from tests.drivers.storage.contract import PNG, ObjectStoreContract, put, read_object
from tests.support.full_disk import files_of_at_most


class TestLocalStore(ObjectStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LocalStore:
        self.folder = tmp_path / "deep" / "storage"
        return LocalStore(self.folder)

    def test_unused_folder_is_empty(self, store: LocalStore) -> None:
        assert list(store.list()) == []
        assert store.head("users/a") is None
        store.delete("users/a")

    def test_delete_of_a_folder_keeps_its_objects(self, store: LocalStore) -> None:
        put(store, "users/a", b"x")
        store.delete("users")
        assert read_object(store, "users/a") == b"x"

    def test_objects_have_no_public_url(self, store: LocalStore) -> None:
        assert store.public_url("users/a.png") is None

    def test_files_are_private_and_no_partial_file_remains(self, store: LocalStore) -> None:
        put(store, "users/a.png", b"x")
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        assert [path.relative_to(self.folder).as_posix() for path in files] == ["users/a.png"]
        assert stat.S_IMODE(files[0].stat().st_mode) == 0o600

    def test_delete_during_a_read_does_not_end_the_read(self, store: LocalStore) -> None:
        put(store, "users/a", b"x" * 1_000_000)
        pieces = store.get("users/a")
        first = next(pieces)
        store.delete("users/a")
        assert len(first + b"".join(pieces)) == 1_000_000

    def test_partial_file_is_deleted_after_one_day(self, store: LocalStore) -> None:
        put(store, "users/a", b"x")
        old, young = self.folder / PARTS / "old", self.folder / PARTS / "young"
        for part in (old, young):
            part.write_bytes(b"half")
        before = old.stat().st_mtime - ABANDONED_AFTER_S - 60
        os.utime(old, (before, before))
        assert [found.key for found in store.list()] == ["users/a"]
        assert (old.exists(), young.exists()) == (False, True)

    def test_list_ignores_partial_files_that_an_upload_renames_after_the_listing(self, store: LocalStore) -> None:
        put(store, "users/a", b"x")
        (self.folder / PARTS / "renamed").symlink_to("missing")  # listed, but not found
        assert [found.key for found in store.list()] == ["users/a"]

    def test_folder_that_cannot_be_created_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(UpstreamUnavailable):
            put(LocalStore(tmp_path / "file" / "storage"), "users/a", b"x")

    def test_file_instead_of_the_folder_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        store = LocalStore(tmp_path / "file")
        for call in (store.get, store.head, store.delete):
            with pytest.raises(UpstreamUnavailable):
                call("users/a")

    def test_full_disk_is_unavailable_and_stores_nothing(self, store: LocalStore) -> None:
        put(store, "users/before", b"x")
        with files_of_at_most(100_000), pytest.raises(UpstreamUnavailable):
            store.put("users/a", io.BytesIO(bytes(1_000_000)), mimetype=PNG)
        assert [found.key for found in store.list()] == ["users/before"]
        assert list((self.folder / PARTS).iterdir()) == []
        put(store, "users/a", b"y")
        assert read_object(store, "users/a") == b"y"

    def test_killed_writer_stores_no_object(self, store: LocalStore) -> None:
        script = (
            "import os, signal, sys; from pathlib import Path; from app.drivers.storage.local import LocalStore\n"
            "class Deadly:\n"
            "    left = 3\n"
            "    def read(self, size):\n"
            "        self.left -= 1\n"
            "        if not self.left: os.kill(os.getpid(), signal.SIGKILL)\n"
            "        return bytes(size)\n"
            "LocalStore(Path(sys.argv[1])).put('users/a', Deadly(), mimetype='image/png')"
        )
        root = Path(__file__).parents[3]
        ended = subprocess.run([sys.executable, "-c", script, self.folder], cwd=root, check=False, timeout=60)
        assert ended.returncode == -9
        assert list(store.list()) == []
        assert len(list((self.folder / PARTS).iterdir())) == 1
