"""Tests of the cleanup of rows and objects after a crash, with an age limit of one day."""

import io
import os
from datetime import timedelta

import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.jobs import registry
from app.database.transactions import reading_context, write_transaction
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.models.media import MediaAsset, MediaUpload
from app.models.user import User
from app.resources.bucket import jobs
from tests.resources.bucket.uploads import upload
from tests.support.world import Person, World

DAY = timedelta(days=1)
ORPHAN = "users/" + "a" * 32 + "-" + "b" * 16 + ".png"


def sweep(app: Flask, objects: LocalStore, world: World) -> None:
    with reading_context(app):
        jobs.repair_differences(storage=objects)
        db.session.commit()
    world.work_off()


def put(objects: LocalStore, key: str, *, old: bool) -> str:
    objects.put(key, io.BytesIO(b"x"), mimetype="image/png")
    if old:
        place = objects._root / key
        before = place.stat().st_mtime - DAY.total_seconds() - 60
        os.utime(place, (before, before))
    return key


def insert_rows(me: Person, keys: list[str]) -> None:
    """Insert the rows of pictures that were stored two days ago."""
    picture = {"uploader_id": me.id, "mimetype": "image/png", "size": 1, "width": 1, "height": 1, "hash": "0" * 64}
    with me.app.app_context():
        rows = [picture | {"key": key, "stored_at": clock.now() - 2 * DAY} for key in keys]
        db.session.execute(sa.insert(MediaAsset), rows)
        db.session.commit()


def unfinished(app: Flask, key: str, *, old: bool) -> None:
    """Set the row to the state of a process that ended between row and confirmation."""
    with app.app_context():
        db.session.execute(
            sa.update(MediaAsset)
            .where(MediaAsset.key == key)
            .values(stored_at=None, created_at=clock.now() - (2 * DAY if old else timedelta(hours=1)))
        )
        db.session.commit()


class TestSweep:
    def test_cleanup_runs_every_six_hours(self) -> None:
        assert registry["media.sweep"].every == timedelta(hours=6)

    def test_object_without_a_row_is_deleted_after_a_day(self, app: Flask, objects: LocalStore, world: World) -> None:
        young = put(objects, ORPHAN.replace("b", "c"), old=False)
        put(objects, ORPHAN, old=True)
        sweep(app, objects, world)
        assert objects.head(ORPHAN) is None
        assert objects.head(young) is not None
        objects.delete(young)

    def test_variant_without_an_asset_is_deleted(self, app: Flask, objects: LocalStore, world: World) -> None:
        asset = upload(world.person()).ok(201)
        kept = put(objects, f"variants/{asset['key']}/64", old=True)
        lost = put(objects, f"variants/{ORPHAN}/64", old=True)
        sweep(app, objects, world)
        assert (objects.head(kept) is not None, objects.head(lost)) == (True, None)

    def test_object_outside_the_media_folders_is_not_deleted(
        self, app: Flask, objects: LocalStore, world: World
    ) -> None:
        put(objects, "backup/of-somebody", old=True)
        sweep(app, objects, world)
        assert objects.head("backup/of-somebody") is not None

    def test_unfinished_upload_is_deleted_with_its_object_after_a_day(
        self, app: Flask, objects: LocalStore, world: World
    ) -> None:
        dead, running = (upload(world.person()).ok(201)["key"] for _ in range(2))
        unfinished(app, dead, old=True)
        unfinished(app, running, old=False)
        sweep(app, objects, world)
        with app.app_context():
            left = set(db.session.scalars(sa.select(MediaAsset.key).where(MediaAsset.key.in_([dead, running]))))
        assert left == {running}
        assert (objects.head(dead), objects.head(running) is not None) == (None, True)

    def test_row_without_an_object_is_deleted_with_its_references(
        self, app: Flask, objects: LocalStore, world: World
    ) -> None:
        me = world.person()
        key = upload(me).ok(201)["key"]
        with app.app_context():
            db.session.execute(sa.update(User).where(User.id == me.id).values(image=key))
            db.session.execute(
                sa.update(MediaAsset).where(MediaAsset.key == key).values(stored_at=clock.now() - 2 * DAY)
            )
            db.session.commit()
        objects.delete(key)
        sweep(app, objects, world)
        with app.app_context():
            assert db.session.get_one(User, me.id).image is None
            assert db.session.scalar(sa.select(MediaAsset.id).where(MediaAsset.key == key)) is None

    def test_store_with_most_objects_missing_deletes_no_row(
        self, app: Flask, objects: LocalStore, world: World, tmp_path: object
    ) -> None:
        me = world.person()
        keys = [f"users/{number:032x}-{'d' * 16}.png" for number in range(40)]
        insert_rows(me, keys)
        with reading_context(app):
            assert jobs.delete_rows_without_object(objects, DAY) == 0
            assert db.session.scalar(sa.select(sa.func.count()).where(MediaAsset.key.in_(keys))) == 40
            with write_transaction():
                db.session.execute(sa.delete(MediaAsset).where(MediaAsset.key.in_(keys)))

    def test_upload_records_are_deleted_after_a_day(self, app: Flask, objects: LocalStore, world: World) -> None:
        me = world.person()
        upload(me).ok(201)
        upload(me).ok(201)
        with app.app_context():
            one = db.session.scalars(sa.select(MediaUpload.id).where(MediaUpload.user_id == me.id)).first()
            old = sa.update(MediaUpload).where(MediaUpload.id == one).values(created_at=clock.now() - 2 * DAY)
            db.session.execute(old)
            db.session.commit()
        sweep(app, objects, world)
        with app.app_context():
            assert db.session.scalar(sa.select(sa.func.count()).where(MediaUpload.user_id == me.id)) == 1

    def test_cleanup_of_several_batches_checks_all_rows_and_objects(
        self, app: Flask, objects: LocalStore, world: World
    ) -> None:
        complete = [f"users/{number:032x}-{'e' * 16}.png" for number in range(10)]
        without_object = [f"users/{'0' * 32}-{'d' * 16}.png", f"users/{'f' * 32}-{'f' * 16}.png"]
        without_row = [f"users/{number:032x}-{'f' * 16}.gif" for number in range(10)]
        insert_rows(world.person(), complete + without_object)
        for key in complete + without_row:
            put(objects, key, old=True)
        asset = MediaAsset
        with reading_context(app):
            assert jobs.delete_objects_without_row(objects, DAY, batch_size=3) >= len(without_row)
            assert jobs.delete_rows_without_object(objects, DAY, batch_size=3) >= len(without_object)
            stored = db.session.scalars(sa.select(asset.key).where(asset.key.in_(complete + without_object))).all()
            with write_transaction():
                db.session.execute(sa.delete(asset).where(asset.key.in_(complete)))
        assert set(stored) == set(complete)
        assert all(objects.head(key) for key in complete)
        assert not any(objects.head(key) for key in without_row)
        for key in complete:
            objects.delete(key)


class TestDeleteObjects:
    def test_repeated_deletion_succeeds(self, objects: LocalStore) -> None:
        put(objects, ORPHAN, old=False)
        for _ in range(2):
            jobs.delete_objects(keys=[ORPHAN], storage=objects)
        assert objects.head(ORPHAN) is None
