"""Tests of an instance folder without free blocks or inodes. The service returns 503 and stores nothing partially.

The tests use the running service with SQLite, local repositories and media on one small disk. They need root. Run them
with `make faults`.
"""

import secrets
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.extensions import db
from app.models.media import MediaAsset
from tests.faults.small_deployment import SmallDeployment, flask
from tests.faults.small_disk import SmallDisk
from tests.faults.steps import FINE, MADE, count_statuses, until, wait_until_recovered
from tests.faults.workload import Reply, Workload
from tests.support.assertions.mailbox import Mailbox
from tests.support.samples.pictures import picture

REFUSED = frozenset({503})
ROUNDS, MAX_ROUNDS = 12, 300
KIB = 1024
Break = Callable[[SmallDisk], AbstractContextManager[None]]
ROWS: dict[str, Break] = {
    "full": lambda disk: disk.full(),
    "full after 64 KiB": lambda disk: disk.full(left_bytes=64 * KIB),
    "full after 600 KiB": lambda disk: disk.full(left_bytes=600 * KIB),
    "without names": lambda disk: disk.without_names(),
}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    with SmallDisk(tmp_path_factory.mktemp("small") / "instance") as created:
        yield created


@pytest.fixture(scope="module")
def deployment(disk: SmallDisk) -> Iterator[SmallDeployment]:
    with SmallDeployment(disk.folder.parent) as created:
        yield created


@dataclass
class DiskWorkload(Workload):
    """A workload with uploads, whose objects must equal their rows."""

    uploads: dict[str, bytes] = field(default_factory=dict)

    def upload(self) -> Reply:
        """Upload a new image as the owner."""
        reply = self.ask(self.owner, "POST", "/bucket/upload", files={"file": ("a.png", picture(width=300))})
        if reply.status == MADE:
            self.uploads[reply.result["key"]] = b""
        return reply

    def check_disk(self, instance: Path) -> None:
        """Check the database and every object that a row or an acknowledged upload names."""
        with closing(sqlite3.connect(f"file:{instance}/app.db?mode=ro", uri=True)) as connection:
            result = connection.execute("PRAGMA integrity_check").fetchall()
        if result != [("ok",)]:
            self.broken.append(f"the database is damaged: {result[:3]}")
        with self.deployment.world.app.app_context():
            kept = sa.select(MediaAsset.key).where(
                MediaAsset.uploader_id == self.owner.id, MediaAsset.stored_at.is_not(None)
            )
            rows = set(db.session.scalars(kept))
            db.session.rollback()
        if not set(self.uploads) <= rows:
            self.broken.append("an acknowledged upload has no row")
        client = self.deployment.service.client(self.owner)
        for key in rows:
            answer = client.get(f"{self.deployment.service.url}/media/{key}", timeout=20)
            if answer.status_code != FINE or not answer.content:
                self.broken.append(f"{key} has a row and no object: {answer.status_code}")
        client.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.replace(" ", "-"))
def test_full_disk_returns_503_and_stores_nothing_partially(
    deployment: SmallDeployment, disk: SmallDisk, row: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = DiskWorkload(deployment)
    wait_until_recovered(workload)
    assert workload.upload().status == MADE
    people, replies = workload.create_users(), []
    instance, backup = disk.folder, disk.folder / f"backup-{secrets.token_hex(4)}"
    address = f"d{secrets.token_hex(6)}@mail.example.org"
    with ROWS[row](disk):
        for number in range(MAX_ROUNDS):
            if number >= ROUNDS and {one.status for one in replies[-8:]} & REFUSED:
                break
            who = people[number % len(people)]
            assert workload.reads(who).status == FINE
            workload.check_health()
            replies += [*workload.writes(who), workload.upload()]
        body = {"email": address, "password": "Quiet-Harbour-Disk", "name": "D"}
        signed_up = workload.ask(None, "POST", "/auth/sign-up/email", json=body)
        saved = flask(deployment.service, "backup", str(backup))
    refused = [one for one in replies if one.status in REFUSED]
    # The users may reach the number of their organizations before the disk is full.
    statuses = {one.status for one in replies if one.code != "LIMIT_REACHED"}
    assert statuses <= {FINE, MADE, *REFUSED}, [one for one in replies if one.status not in (FINE, MADE, *REFUSED)]
    assert refused
    assert signed_up.status in (FINE, 503)
    assert saved.returncode != 0
    assert "Traceback" not in saved.stderr
    assert not (backup / "manifest.json").exists()
    wait_until_recovered(workload)
    assert workload.upload().status == MADE
    workload.check_disk(instance)
    assert workload.check() == []
    if signed_up.status == FINE:
        mails = Mailbox(Path(deployment.service.environment.get("MAIL_DIR", instance / "mail")), address)
        until(lambda: bool(mails.mails()), "the code never came")
    assert "Quiet-Harbour-Disk" not in deployment.log_text()
    with capsys.disabled():
        print(f"\ndisk {row}: {count_statuses(replies)}, backup refused: {saved.stderr.strip()[-80:]}", end="")


def test_backup_after_the_fault_is_complete(deployment: SmallDeployment, tmp_path: Path) -> None:
    assert flask(deployment.service, "backup", str(tmp_path / "backup")).returncode == 0
    elsewhere = {"INSTANCE_DIR": str(tmp_path / "other"), "DATABASE_URL": f"sqlite:///{tmp_path}/other.db"}
    restored: subprocess.CompletedProcess[str] = flask(
        deployment.service, "restore", str(tmp_path / "backup"), "--verify", **elsewhere
    )
    assert restored.returncode == 0, restored.stderr
    assert "equal the backup" in restored.stdout
