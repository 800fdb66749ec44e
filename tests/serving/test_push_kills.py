"""Kills of the web server in the middle of pushes. `tests/faults/test_git_pushes.py` kills it more often."""

from pathlib import Path

from tests.git_http.push_kills import kill_pushes
from tests.support.servers.service import Service


def test_killed_push_is_named_and_not_approved_by_its_user(store: str, tmp_path: Path) -> None:
    with Service(tmp_path / "service", workers=1, DATABASE_URL=store) as service:
        (folder := tmp_path / "clones").mkdir()
        assert kill_pushes(service, folder, kills=2) == []
