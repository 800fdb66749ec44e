"""Tests of the deletion of media with their user, organization or project."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from flask import Flask

from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.models.media import MediaAsset
from app.models.organization import Organization
from app.models.project import Project
from app.models.user import User
from app.resources.organization.events import organization_deleting
from app.resources.project.events import project_deleting
from app.resources.user.events import user_deleting
from tests.resources.bucket.uploads import OrganizationTeam, upload
from tests.support.world import World


def publish_project_deletion(team: OrganizationTeam) -> None:
    project_deleting.publish(db.session.get_one(Project, team.project_id))


def publish_organization_deletion(team: OrganizationTeam) -> None:
    organization_deleting.publish(db.session.get_one(Organization, team.org_id))


def publish_user_deletion(team: OrganizationTeam) -> None:
    user_deleting.publish(db.session.get_one(User, team.editor.id))


class TestSubscribers:
    @pytest.mark.parametrize(
        ("announce", "gone"),
        [
            (publish_project_deletion, {"cover"}),
            (publish_organization_deletion, {"cover", "logo"}),
            (publish_user_deletion, {"avatar"}),
        ],
    )
    def test_deletion_deletes_only_the_attached_media(
        self,
        app: Flask,
        world: World,
        team: OrganizationTeam,
        objects: LocalStore,
        announce: Callable[[OrganizationTeam], None],
        gone: set[str],
    ) -> None:
        keys = {
            "avatar": upload(team.editor).ok(201)["key"],
            "logo": upload(team.owner, folder="orgs", org_id=team.org_id).ok(201)["key"],
            "cover": upload(team.admin, folder="sites", project_id=team.project_id).ok(201)["key"],
            "other": upload(world.person()).ok(201)["key"],
        }
        with app.app_context():
            announce(team)
            db.session.commit()
            left = set(db.session.scalars(sa.select(MediaAsset.key).where(MediaAsset.key.in_(keys.values()))))
        world.work_off()
        assert {name for name, key in keys.items() if key not in left} == gone
        assert {name for name, key in keys.items() if objects.head(key) is None} == gone

    def test_rollback_deletes_no_media(
        self, app: Flask, world: World, team: OrganizationTeam, objects: LocalStore
    ) -> None:
        key = upload(team.owner, org_id=team.org_id).ok(201)["key"]
        with app.app_context():
            publish_organization_deletion(team)
            db.session.rollback()
        world.work_off()
        assert objects.head(key) is not None

    def test_deletion_of_the_uploader_leaves_attached_media(
        self, app: Flask, world: World, team: OrganizationTeam
    ) -> None:
        key = upload(team.admin, org_id=team.org_id).ok(201)["key"]
        with app.app_context():
            user = db.session.get_one(User, team.admin.id)
            user_deleting.publish(user)
            db.session.delete(user)
            db.session.commit()
            asset = db.session.scalars(sa.select(MediaAsset).where(MediaAsset.key == key)).one()
            assert asset.uploader_id is None
        team.owner.delete(f"/bucket/delete/{key}").ok()
