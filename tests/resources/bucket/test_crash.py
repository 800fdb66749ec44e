"""Tests of uploads whose process is killed before or after the object is stored."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.database.transactions import reading_context
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.models.media import MediaAsset
from app.resources.bucket import jobs
from config import Settings
from tests.support.samples.pictures import picture
from tests.support.world import Browser, World

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SCRIPT = """
import os, signal, sys
from pathlib import Path
from app.factory import create_app
from app.drivers.storage.local import LocalStore
from config import Settings

moment, instance, url, token, form = sys.argv[1:]

class Deadly(LocalStore):
    def put(self, key, source, *, mimetype):
        if moment == "after": super().put(key, source, mimetype=mimetype)
        os.kill(os.getpid(), signal.SIGKILL)

settings = Settings.for_tests(Path(instance), DATABASE_URL=url, MAIL_DRIVER="file")
client = create_app(settings, {"storage": Deadly(settings.storage.directory)}).test_client()
client.set_cookie("session_token", token)
client.post("/api/v1/bucket/upload", data=Path(form).read_bytes(), content_type="multipart/form-data; boundary=limit")
"""


class TestKilledUpload:
    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_killed_upload_is_not_served_and_deleted_by_the_cleanup(
        self, app: Flask, settings: Settings, world: World, objects: LocalStore, tmp_path: Path, moment: str
    ) -> None:
        me = world.person()
        head = b'--limit\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        (tmp_path / "form").write_bytes(head + picture() + b"\r\n--limit--\r\n")
        arguments = [moment, settings.server.instance_dir, settings.database.url, me.token, tmp_path / "form"]
        ended = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], cwd=ROOT, check=False, capture_output=True)
        assert ended.returncode == -9, ended.stderr.decode()

        with app.app_context():
            left = db.session.scalars(sa.select(MediaAsset).where(MediaAsset.uploader_id == me.id)).one()
        assert left.stored_at is None
        assert (objects.head(left.key) is not None) == (moment == "after")
        Browser(app).get(f"/media/{left.key}").fails(404)

        with reading_context(app):
            jobs.delete_unfinished_rows(timedelta(0))
        world.work_off()
        assert objects.head(left.key) is None
        with app.app_context():
            assert db.session.scalar(sa.select(sa.func.count()).where(MediaAsset.uploader_id == me.id)) == 0
