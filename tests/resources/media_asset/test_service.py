"""Which image may stand where, and what becomes of one that no longer does."""

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
    """Two people; the first owns an organization with a project."""

    def __init__(self, world: World) -> None:
        self.me, self.other = world.person().id, world.person().id
        organization = Organization(name="One", owner_id=self.me)
        db.session.add(organization)
        db.session.flush()
        project = Project(organization_id=organization.id, name="Site", provider=Provider.LOCAL)
        db.session.add(project)
        db.session.flush()
        self.org, self.project = organization.id, project.id


def asset(uploader: str | None, *, stored: bool = True, **attached: str) -> str:
    key = f"users/rule-{next(KEYS)}.png"
    db.session.add(
        MediaAsset(key=key, uploader_id=uploader, mimetype="image/png", size=1, width=1, height=1, hash="0" * 64,
                   stored_at=clock.now() if stored else None, **attached)
    )  # fmt: skip
    db.session.flush()
    return key


def exists(key: str) -> bool:
    return db.session.scalar(sa.select(MediaAsset.id).where(MediaAsset.key == key)) is not None


def name(table: Any, which: str, key: str | None) -> None:
    db.session.execute(sa.update(table).where(table.id == which).values(image=key))


@pytest.fixture
def people(app: Flask, world: World) -> Any:
    with app.app_context():
        yield People(world)
        db.session.rollback()


class TestImageFault:
    def test_the_own_upload_may_stand_anywhere(self, people: People) -> None:
        key = asset(people.me)
        assert image_error(key, people.me) is None
        assert image_error(key, people.me, people.org) is None
        assert image_error(key, people.me, people.org, people.project) is None

    def test_what_is_attached_may_be_used_there_by_whoever_may_change_it(self, people: People) -> None:
        logo, cover = asset(people.me, organization_id=people.org), asset(people.me, project_id=people.project)
        assert image_error(logo, people.other, people.org) is None
        assert image_error(logo, people.other, people.org, people.project) is None
        assert image_error(cover, people.other, people.org, people.project) is None
        assert image_error(cover, people.other, people.org) is not None

    @pytest.mark.parametrize("key", ["users/none.png", "https://evil.example.org/a.png", "", "../../a", "\ud800"[:0]])
    def test_what_is_no_asset_may_stand_nowhere(self, people: People, key: str) -> None:
        assert image_error(key, people.me, people.org, people.project) is not None

    def test_somebody_elses_may_not(self, people: People) -> None:
        assert image_error(asset(people.other), people.me) is not None
        assert image_error(asset(people.me, organization_id=people.org), people.other) is not None

    def test_one_that_is_not_stored_yet_may_not(self, people: People) -> None:
        assert image_error(asset(people.me, stored=False), people.me) is not None


class TestReleaseImage:
    def test_the_own_one_goes(self, people: People) -> None:
        avatar = asset(people.me)
        logo, cover = asset(people.me, organization_id=people.org), asset(people.other, project_id=people.project)
        release_image(avatar, user_id=people.me)
        release_image(logo, organization_id=people.org)
        release_image(cover, project_id=people.project)
        assert [exists(key) for key in (avatar, logo, cover)] == [False] * 3

    def test_one_that_belongs_to_another_stays(self, people: People) -> None:
        mine, theirs = asset(people.me), asset(people.other)
        logo = asset(people.me, organization_id=people.org)
        release_image(theirs, user_id=people.me)
        release_image(logo, user_id=people.me)
        release_image(mine, organization_id=people.org)
        release_image(logo, project_id=people.project)
        assert [exists(key) for key in (mine, theirs, logo)] == [True] * 3

    def test_one_that_another_image_names_stays(self, people: People) -> None:
        key = asset(people.me)
        name(Organization, people.org, key)
        release_image(key, user_id=people.me)
        assert exists(key)

    @pytest.mark.parametrize("key", [None, "users/none.png"])
    def test_nothing_is_released_for_no_image(self, people: People, key: str | None) -> None:
        release_image(key, user_id=people.me)


class TestDeleteAssets:
    def test_images_that_named_it_become_null(self, people: People) -> None:
        key = asset(people.me)
        owners = ((User, people.me), (Organization, people.org), (Project, people.project))
        for table, which in owners:
            name(table, which, key)
        assert delete_assets([key]) == 1
        for table, which in owners:
            assert db.session.scalar(sa.select(table.image).where(table.id == which)) is None

    def test_many_go_in_jobs_of_a_hundred(self, app: Flask, people: People) -> None:
        keys = [asset(people.me) for _ in range(250)]
        before = app.extensions["jobs"].counts(db.session.connection()).waiting
        assert delete_assets(keys) == 250
        assert app.extensions["jobs"].counts(db.session.connection()).waiting == before + 3

    def test_what_is_not_there_is_no_job(self, app: Flask, people: People) -> None:
        before = app.extensions["jobs"].counts(db.session.connection()).waiting
        assert delete_assets(["users/none.png"]) == 0
        assert app.extensions["jobs"].counts(db.session.connection()).waiting == before
