"""Tests of the free space of folders."""

from pathlib import Path

from app.resources.system.health import full_folders


class TestFullFolders:
    def test_full_folders_with_enough_space_returns_an_empty_list(self, tmp_path: Path) -> None:
        assert full_folders([tmp_path], min_free_bytes=1, min_free_files=1) == []

    def test_full_folders_without_enough_bytes_returns_the_folder_once(self, tmp_path: Path) -> None:
        assert full_folders([tmp_path, tmp_path], min_free_bytes=2**62) == [tmp_path]

    def test_full_folders_with_a_missing_folder_ignores_the_folder(self, tmp_path: Path) -> None:
        assert full_folders([tmp_path / "absent"], min_free_bytes=2**62) == []
