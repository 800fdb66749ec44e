"""The disk of the instance folder full, or without names for new files: told as 502 or 503, and nothing is half-written.

Played on the running service with SQLite, local repositories and media on one small disk. Needs root; run by
`make faults`.
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
from tests.faults.life import Life, Told
from tests.faults.playing import FINE, MADE, counted, recovered, until
from tests.faults.small_disk import SmallDisk
from tests.faults.small_plant import SmallPlant, flask
from tests.samples.pictures import picture
from tests.witnesses.mailbox import Mailbox

REFUSED = frozenset({502, 503})
ROUNDS, MOST_ROUNDS = 12, 300
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
    with SmallDisk(tmp_path_factory.mktemp("small") / "instance") as made:
        yield made


@pytest.fixture(scope="module")
def plant(disk: SmallDisk) -> Iterator[SmallPlant]:
    with SmallPlant(disk.folder.parent) as made:
        yield made


@dataclass
class DiskLife(Life):
    """Life with uploads, whose objects must fit their rows."""

    uploads: dict[str, bytes] = field(default_factory=dict)

    def upload(self) -> Told:
        """The owner uploads a picture of its own."""
        told = self.ask(self.owner, "POST", "/bucket/upload", files={"file": ("a.png", picture(width=300))})
        if told.status == MADE:
            self.uploads[told.result["key"]] = b""
        return told

    def check_disk(self, instance: Path) -> None:
        """The database is whole, and so is every object that a row or an answer speaks of."""
        with closing(sqlite3.connect(f"file:{instance}/app.db?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        if found != [("ok",)]:
            self.broken.append(f"the database is damaged: {found[:3]}")
        with self.plant.world.app.app_context():
            kept = sa.select(MediaAsset.key).where(
                MediaAsset.uploader_id == self.owner.id, MediaAsset.stored_at.is_not(None)
            )
            rows = set(db.session.scalars(kept))
            db.session.rollback()
        if not set(self.uploads) <= rows:
            self.broken.append("an acknowledged upload has no row")
        client = self.plant.service.client(self.owner)
        for key in rows:
            answer = client.get(f"{self.plant.service.url}/media/{key}", timeout=20)
            if answer.status_code != FINE or not answer.content:
                self.broken.append(f"{key} has a row and no object: {answer.status_code}")
        client.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.replace(" ", "-"))
def test_disk_fails(plant: SmallPlant, disk: SmallDisk, row: str, capsys: pytest.CaptureFixture[str]) -> None:
    life = DiskLife(plant)
    recovered(life)
    assert life.upload().status == MADE
    people, told = life.people(), []
    instance, backup = disk.folder, disk.folder / f"backup-{secrets.token_hex(4)}"
    address = f"d{secrets.token_hex(6)}@mail.example.org"
    with ROWS[row](disk):
        for number in range(MOST_ROUNDS):
            if number >= ROUNDS and {one.status for one in told[-8:]} & REFUSED:
                break
            who = people[number % len(people)]
            assert life.reads(who).status == FINE
            life.check_health()
            told += [*life.writes(who), life.upload()]
        body = {"email": address, "password": "Quiet-Harbour-Disk", "name": "D"}
        signed_up = life.ask(None, "POST", "/auth/sign-up/email", json=body)
        saved = flask(plant.service, "backup", str(backup))
    refused = [one for one in told if one.status in REFUSED]
    assert {one.status for one in told} <= {FINE, MADE, *REFUSED}, told
    assert refused
    assert signed_up.status in (FINE, 503)
    assert saved.returncode != 0
    assert "Traceback" not in saved.stderr
    assert not (backup / "manifest.json").exists()
    recovered(life)
    assert life.upload().status == MADE
    life.check_disk(instance)
    assert life.check() == []
    if signed_up.status == FINE:
        mails = Mailbox(Path(plant.service.environment.get("MAIL_DIR", instance / "mail")), address)
        until(lambda: bool(mails.mails()), "the code never came")
    assert "Quiet-Harbour-Disk" not in plant.told()
    with capsys.disabled():
        print(f"\ndisk {row}: {counted(told)}, backup refused: {saved.stderr.strip()[-80:]}", end="")


def test_backup_made_afterwards_is_whole(plant: SmallPlant, tmp_path: Path) -> None:
    assert flask(plant.service, "backup", str(tmp_path / "backup")).returncode == 0
    elsewhere = {"INSTANCE_DIR": str(tmp_path / "other"), "DATABASE_URL": f"sqlite:///{tmp_path}/other.db"}
    restored: subprocess.CompletedProcess[str] = flask(
        plant.service, "restore", str(tmp_path / "backup"), "--verify", **elsewhere
    )
    assert restored.returncode == 0, restored.stderr
    assert "equal the backup" in restored.stdout
