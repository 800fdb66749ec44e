"""Pushes of Git clients and saves of one branch at the same time, with two web workers: no acknowledged commit is lost.

`RACE_ROUNDS` sets another number of rounds.
"""

import os
from pathlib import Path

from tests.git_http.client import GitClient, Site
from tests.git_http.push_kills import kill_pushes
from tests.git_http.races import race
from tests.support.servers.service import Service

ROUNDS = int(os.environ.get("RACE_ROUNDS", "50"))
SAVERS, PUSHERS, EDITS = 3, 3, 4
KILLS = 20


def test_racing_pushes_and_saves_lose_no_commit_in_any_round(store: str, tmp_path: Path) -> None:
    failures: list[str] = []
    with Service(tmp_path / "service", workers=2, DATABASE_URL=store) as service:
        for number in range(ROUNDS):
            site = Site(service)
            (folder := tmp_path / str(number)).mkdir()
            failures += race(site, GitClient(folder), savers=SAVERS, pushers=PUSHERS, edits=EDITS)
            site.repo.check()
    print(f"\n{ROUNDS} rounds, {ROUNDS * (SAVERS + PUSHERS) * EDITS} commits: {len(failures)} lost or refused")
    assert failures == []


def test_twenty_killed_pushes_are_named_and_not_approved_by_their_users(store: str, tmp_path: Path) -> None:
    with Service(tmp_path / "service", workers=1, DATABASE_URL=store) as service:
        (folder := tmp_path / "clones").mkdir()
        assert kill_pushes(service, folder, kills=KILLS) == []
