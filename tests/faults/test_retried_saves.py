"""Saves of 1 KiB to 25 MiB, and pushes, while the repository is packed and a process is killed every 10 s.

Afterwards every accepted change exists once, and the sweep leaves no file of a killed process.
The run takes 20 minutes on each database; `GALLEY_SECONDS` sets another length. The short form is `tests/serving/test_packing.py`.
"""

import os
import statistics
from pathlib import Path

import pytest

from tests.faults.kills import Site
from tests.faults.retried_saves import run
from tests.support.databases import another_database
from tests.support.servers.service import Service

SECONDS = float(os.environ.get("GALLEY_SECONDS", "1200"))
MAX_SHOWN = 20
SEED = int(os.environ.get("GALLEY_SEED", "7"))


class TestRetriedSaves:
    def test_acknowledged_saves_exist_once_after_kills_and_packing(
        self, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (temporary := tmp_path / "temporary").mkdir()
        with (
            another_database(store, tmp_path, is_empty=True) as url,
            Service(tmp_path, DATABASE_URL=url, MAIL_DIR=str(tmp_path / "mail"), TMPDIR=str(temporary)) as service,
        ):
            site = Site(service)
            try:
                saves, kills, packings, pushes, errors = run(site, seconds=SECONDS, seed=SEED)
            finally:
                site.close()
        retried = [save.duration_s for save in saves if save.attempts > 1 and save.status]
        with capsys.disabled():
            print(
                f"\n{store.partition(':')[0]}: {kills} kills, {packings} packings, {len(saves)} saves, "
                f"{sum(save.status == 201 for save in saves)} acknowledged, {pushes} pushes, "
                f"{len(retried)} repeated (median {statistics.median(retried or [0]):.1f} s, "
                f"longest {max(retried, default=0):.1f} s); errors: {len(errors)}"
            )
            print(*errors[:MAX_SHOWN], sep="\n")
        assert errors == []
