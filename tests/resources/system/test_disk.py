"""Free space of folders."""

from pathlib import Path

from app.resources.system.disk import full_folders


class TestFullFolders:
    def test_full_folders_with_enough_space_returns_nothing(self, tmp_path: Path) -> None:
        assert full_folders([tmp_path], min_free_bytes=1, min_free_files=1) == []

    def test_full_folders_without_enough_bytes_returns_the_folder_once(self, tmp_path: Path) -> None:
        assert full_folders([tmp_path, tmp_path], min_free_bytes=2**62) == [tmp_path]

    def test_full_folders_skips_folders_that_do_not_exist(self, tmp_path: Path) -> None:
        assert full_folders([tmp_path / "absent"], min_free_bytes=2**62) == []
