"""Tests of the rules for images of users, organizations and projects, and of their deletion."""

from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.extensions import db
from app.models.media import MediaAsset
from app.models.organization import Organization
from app.models.project import Project, Provider
from app.models.user import User
from app.resources.media_asset.service import delete_assets, image_error, release_image
from tests.support.world import World

KEYS = iter(range(10**9))


class People:
    """Two users. The first owns an organization with a project."""

    def __init__(self, world: World) -> None:
        self.me, self.other = world.person().id, world.person().id
        organization = Organization(name="One", owner_id=self.me)
        db.session.add(organization)
        db.session.flush()
        project = Project(organization_id=organization.id, name="Site", provider=Provider.LOCAL)
        db.session.add(project)
        db.session.flush()
        self.org, self.project = organization.id, project.id


def add_asset(uploader: str | None, *, stored: bool = True, **attached: str) -> str:
    key = f"users/rule-{next(KEYS)}.png"
    db.session.add(
        MediaAsset(key=key, uploader_id=uploader, mimetype="image/png", size=1, width=1, height=1, hash="0" * 64,
                   stored_at=clock.now() if stored else None, **attached)
    )  # fmt: skip
    db.session.flush()
    return key


def exists(key: str) -> bool:
    return db.session.scalar(sa.select(MediaAsset.id).where(MediaAsset.key == key)) is not None


def set_image(table: Any, which: str, key: str | None) -> None:
    db.session.execute(sa.update(table).where(table.id == which).values(image=key))


@pytest.fixture
def people(app: Flask, world: World) -> Any:
    with app.app_context():
        yield People(world)
        db.session.rollback()


class TestImageError:
    def test_own_upload_is_accepted_for_every_target(self, people: People) -> None:
        key = add_asset(people.me)
        assert image_error(key, people.me) is None
        assert image_error(key, people.me, people.org) is None
        assert image_error(key, people.me, people.org, people.project) is None

    def test_attached_asset_is_accepted_for_its_target_only(self, people: People) -> None:
        logo, cover = add_asset(people.me, organization_id=people.org), add_asset(people.me, project_id=people.project)
        assert image_error(logo, people.other, people.org) is None
        assert image_error(logo, people.other, people.org, people.project) is None
        assert image_error(cover, people.other, people.org, people.project) is None
        assert image_error(cover, people.other, people.org) is not None

    @pytest.mark.parametrize("key", ["users/none.png", "https://evil.example.org/a.png", "", "../../a", "\ud800"[:0]])
    def test_unknown_key_returns_an_error(self, people: People, key: str) -> None:
        assert image_error(key, people.me, people.org, people.project) is not None

    def test_asset_of_another_user_returns_an_error(self, people: People) -> None:
        assert image_error(add_asset(people.other), people.me) is not None
        assert image_error(add_asset(people.me, organization_id=people.org), people.other) is not None

    def test_unconfirmed_asset_returns_an_error(self, people: People) -> None:
        assert image_error(add_asset(people.me, stored=False), people.me) is not None


class TestReleaseImage:
    def test_own_asset_is_deleted(self, people: People) -> None:
        avatar = add_asset(people.me)
        logo, cover = (
            add_asset(people.me, organization_id=people.org),
            add_asset(people.other, project_id=people.project),
        )
        release_image(avatar, user_id=people.me)
        release_image(logo, organization_id=people.org)
        release_image(cover, project_id=people.project)
        assert [exists(key) for key in (avatar, logo, cover)] == [False] * 3

    def test_asset_of_another_target_is_not_deleted(self, people: People) -> None:
        mine, theirs = add_asset(people.me), add_asset(people.other)
        logo = add_asset(people.me, organization_id=people.org)
        release_image(theirs, user_id=people.me)
        release_image(logo, user_id=people.me)
        release_image(mine, organization_id=people.org)
        release_image(logo, project_id=people.project)
        assert [exists(key) for key in (mine, theirs, logo)] == [True] * 3

    def test_asset_with_another_reference_is_not_deleted(self, people: People) -> None:
        key = add_asset(people.me)
        set_image(Organization, people.org, key)
        release_image(key, user_id=people.me)
        assert exists(key)

    @pytest.mark.parametrize("key", [None, "users/none.png"])
    def test_missing_image_is_ignored(self, people: People, key: str | None) -> None:
        release_image(key, user_id=people.me)


class TestDeleteAssets:
    def test_referring_images_become_null(self, people: People) -> None:
        key = add_asset(people.me)
        owners = ((User, people.me), (Organization, people.org), (Project, people.project))
        for table, which in owners:
            set_image(table, which, key)
        assert delete_assets([key]) == 1
        for table, which in owners:
            assert db.session.scalar(sa.select(table.image).where(table.id == which)) is None

    def test_objects_are_deleted_in_jobs_of_a_hundred(self, app: Flask, people: People) -> None:
        keys = [add_asset(people.me) for _ in range(250)]
        before = app.extensions["jobs"].counts(db.session.connection()).waiting
        assert delete_assets(keys) == 250
        assert app.extensions["jobs"].counts(db.session.connection()).waiting == before + 3

    def test_unknown_key_enqueues_no_job(self, app: Flask, people: People) -> None:
        before = app.extensions["jobs"].counts(db.session.connection()).waiting
        assert delete_assets(["users/none.png"]) == 0
        assert app.extensions["jobs"].counts(db.session.connection()).waiting == before
