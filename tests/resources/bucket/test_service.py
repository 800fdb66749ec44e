"""Tests of the storage and upload limits under concurrency, and of uploads whose object cannot be stored."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.limits import MIB, Limits, UploadLimits
from app.core.rates import Rate, RateLimits
from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.images.worker import ReencodedImage
from app.models.media import MediaAsset, MediaUpload
from app.models.user import User
from app.resources.bucket import service
from app.resources.bucket.service import AssetTarget
from config import Settings
from tests.resources.bucket.uploads import OrganizationTeam, served, upload
from tests.support.samples.pictures import picture
from tests.support.world import Person, World


def count_uploads(app: Flask, person: Person) -> tuple[int, int]:
    """Return the numbers of assets and of counted uploads of a person."""
    with app.app_context():
        return (
            db.session.scalar(sa.select(sa.func.count()).where(MediaAsset.uploader_id == person.id)) or 0,
            db.session.scalar(sa.select(sa.func.count()).where(MediaUpload.user_id == person.id)) or 0,
        )


def store_asset(app: Flask, person: Person, size: int) -> None:
    """Insert an asset of this size for a person."""
    with app.app_context():
        db.session.add(
            MediaAsset(key=f"users/{size}-{person.id}", uploader_id=person.id, mimetype="image/png", size=size,
                       width=1, height=1, hash="0" * 64, stored_at=clock.now())
        )  # fmt: skip
        db.session.commit()


@contextmanager
def with_limits(app: Flask, *, daily: int = 200 * MIB, kept: int = 500 * MIB) -> Iterator[None]:
    """Apply other upload limits within the block."""
    before: Settings = app.config["SETTINGS"]
    rates = RateLimits(upload_bytes=(Rate(daily, 86_400),))
    limits = replace(before.limits, rates=rates, upload=UploadLimits(stored_bytes=kept))
    app.config["SETTINGS"] = replace(before, limits=limits, server=replace(before.server, rate_limit_scale=1.0))
    try:
        yield
    finally:
        app.config["SETTINGS"] = before


class TestQuota:
    def test_stored_bytes_above_the_limit_return_403_until_a_deletion(self, app: Flask, world: World) -> None:
        me = world.person()
        store_asset(app, me, 500 * MIB - 100)
        with with_limits(app):
            asset = upload(me).ok(201)
            assert asset["size"] <= 100
            upload(me).fails(403, "LIMIT_REACHED")
            me.delete(f"/bucket/delete/{asset['key']}").ok()
            upload(me).ok(201)

    def test_uploaded_bytes_above_the_daily_limit_return_429_after_deletions(self, app: Flask, world: World) -> None:
        me, content = world.person(), picture()
        with with_limits(app, daily=len(content) * 2):
            for _ in range(2):
                me.delete(f"/bucket/delete/{upload(me, content).ok(201)['key']}").ok()
            response = upload(me, content)
            response.fails(429, "TOO_MANY_REQUESTS")
            assert 86_000 < int(response.headers["Retry-After"]) <= 86_401
            with clock.shifted(timedelta(hours=25)):
                upload(me, content).ok(201)

    def test_rejected_upload_is_not_counted(self, app: Flask, world: World) -> None:
        me = world.person()
        upload(me, b"words").fails(415)
        assert count_uploads(app, me) == (0, 0)

    def test_parallel_uploads_respect_the_limit(self, app: Flask, world: World) -> None:
        me = world.person()
        size = upload(me).ok(201)["size"]
        with with_limits(app, kept=size * 4), ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: upload(me.again()).status, range(8)))
        assert sorted(answers) == [201] * 3 + [403] * 5
        assert count_uploads(app, me)[0] == 4

    def test_uploads_of_another_user_are_not_counted(self, app: Flask, world: World) -> None:
        store_asset(app, world.person(), 500 * MIB)
        with with_limits(app):
            upload(world.person()).ok(201)


class TestReserve:
    def test_deleted_user_raises_not_found(self, app: Flask, world: World) -> None:
        me = world.person()
        with app.app_context():
            db.session.execute(sa.delete(User).where(User.id == me.id))
            db.session.commit()
            with pytest.raises(service.NotFound):
                reserve(me.id, AssetTarget("users", None, None))

    def test_unknown_organization_raises_not_found(self, app: Flask, world: World) -> None:
        me = world.person()
        with app.app_context():
            with pytest.raises(service.NotFound):
                reserve(me.id, AssetTarget("orgs", "org_01h455vb4pex5vsknk084sn02q", None))
            db.session.rollback()
        assert count_uploads(app, me) == (0, 0)

    def test_confirm_of_a_deleted_row_raises_not_found(self, app: Flask, world: World) -> None:
        me = world.person()
        with app.app_context():
            reserved = reserve(me.id, AssetTarget("users", None, None))
            db.session.execute(sa.delete(MediaAsset).where(MediaAsset.id == reserved.id))
            db.session.commit()
            with pytest.raises(service.NotFound):
                service.confirm(reserved)


class TestUnavailableStore:
    @pytest.fixture
    def unavailable_store(self, objects: LocalStore) -> Iterator[None]:
        """Replace the folder of the store with a file."""
        folder = objects._root
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder.rename(folder.with_name("away"))
        folder.write_text("in the way")
        try:
            yield
        finally:
            if folder.is_file():
                folder.unlink()
                kept.rename(folder)

    def test_upload_returns_503_without_a_row(self, app: Flask, world: World, unavailable_store: None) -> None:
        me = world.person()
        response = upload(me)
        response.fails(503)
        assert int(response.headers["Retry-After"]) > 0
        assert count_uploads(app, me) == (0, 0)

    def test_existing_asset_returns_503(self, world: World, objects: LocalStore, request: Any) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        request.getfixturevalue("unavailable_store")
        served(me, asset).fails(503)

    def test_deletion_succeeds_and_the_object_is_deleted_after_the_recovery(
        self, app: Flask, world: World, objects: LocalStore, team: OrganizationTeam
    ) -> None:
        asset = upload(team.owner).ok(201)
        folder = objects._root
        kept = folder.rename(folder.with_name("away"))
        folder.write_text("in the way")
        team.owner.delete(f"/bucket/delete/{asset['key']}").ok()
        served(team.owner, asset).fails(404)
        folder.unlink()
        kept.rename(folder)
        assert objects.head(asset["key"]) is not None
        world.work_off()
        assert objects.head(asset["key"]) is None


def reserve(user_id: str, where: AssetTarget) -> service.ReservedAsset:
    made = ReencodedImage("image/png", "png", 1, 1, 1, 10, "ab" * 32)
    return service.reserve(user_id, where, 10, made, Limits(), scale=1.0)
