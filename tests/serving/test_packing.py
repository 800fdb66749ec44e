"""Saves and pushes while the repository is packed and processes are killed. The long form is `tests/faults/test_retried_saves.py`."""

from pathlib import Path

from tests.faults.kills import Site
from tests.faults.retried_saves import run
from tests.support.databases import another_database
from tests.support.servers.service import Service


def test_changes_during_packing_and_kills_exist_once_and_leave_no_file(store: str, tmp_path: Path) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    with (
        another_database(store, tmp_path, is_empty=True) as url,
        Service(tmp_path, DATABASE_URL=url, MAIL_DIR=str(tmp_path / "mail"), TMPDIR=str(temporary)) as service,
    ):
        site = Site(service)
        try:
            saves, _, packings, pushes, errors = run(site, seconds=12, seed=3, kill_interval_s=4)
        finally:
            site.close()
    assert errors == []
    assert packings
    assert pushes
    assert any(save.status == 201 for save in saves)
