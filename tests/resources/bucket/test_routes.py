"""Tests of the routes for uploads, deletion and downloads."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask import Flask

from app.drivers.storage.local import LocalStore
from app.extensions import db
from app.images.worker import ImageProcesses, uploads
from app.models.media import MediaAsset
from app.models.organization import ArchiveStatus, Organization
from app.models.project import Project
from app.models.user import User
from app.resources.bucket import responses
from tests.resources.bucket.uploads import OrganizationTeam, form, served, upload
from tests.support.samples.pictures import FORMATS, MARK, SCRIPT, animation, noise, opened, picture
from tests.support.world import World

GHOST = "01h455vb4pex5vsknk084sn02q"


def count_assets(app: Flask, *where: Any) -> int:
    with app.app_context():
        return db.session.scalar(sa.select(sa.func.count()).select_from(MediaAsset).where(*where)) or 0


class TestUpload:
    @pytest.mark.one_database
    @pytest.mark.parametrize("name", FORMATS)
    def test_upload_of_each_format_returns_the_facts_of_the_stored_object(self, world: World, name: str) -> None:
        me = world.person()
        asset = upload(me, picture(name, 40, 30)).ok(201)
        content = served(me, asset).response.data
        assert set(asset) == {"key", "url", "mimetype", "size", "width", "height", "hash"}
        assert (asset["mimetype"], asset["width"], asset["height"]) == (FORMATS[name], 40, 30)
        assert (len(content), hashlib.sha256(content).hexdigest()) == (asset["size"], asset["hash"])
        assert asset["url"].endswith(f"/media/{asset['key']}")

    def test_file_name_is_not_part_of_the_key(self, world: World) -> None:
        assert upload(world.person()).ok(201)["key"].startswith("users/")

    def test_equal_bytes_are_stored_as_two_objects(self, world: World) -> None:
        one, other = world.person(), world.person()
        first, second = upload(one).ok(201), upload(other).ok(201)
        assert first["hash"] == second["hash"]
        assert first["key"] != second["key"]
        one.delete(f"/bucket/delete/{first['key']}").ok()
        world.work_off()
        assert served(one, second).status == 200

    @pytest.mark.one_database
    def test_images_of_a_user_hold_no_slot_of_another_one(self, world: World) -> None:
        me = world.person()
        with uploads.slot("usr_other"):
            asset = upload(me, picture("PNG", 4000, 10)).ok(201)
            assert served(me, asset).status == 200

    @pytest.mark.one_database
    def test_metadata_is_removed(self, world: World) -> None:
        me = world.person()
        asset = upload(me, picture("JPEG", comment=MARK)).ok(201)
        assert MARK not in served(me, asset).response.data

    @pytest.mark.one_database
    def test_animation_retains_its_frames(self, world: World) -> None:
        me = world.person()
        asset = upload(me, animation("GIF", 4)).ok(201)
        assert opened(served(me, asset).response.data).n_frames == 4  # type: ignore[attr-defined]

    @pytest.mark.one_database
    @pytest.mark.parametrize("content", [SCRIPT, b"<svg/>", b"words", b"%PDF-1.7", b""])
    def test_unsupported_content_returns_415(self, world: World, content: bytes) -> None:
        upload(world.person(), content).fails(415, "UNSUPPORTED_IMAGE")

    @pytest.mark.one_database
    def test_truncated_picture_returns_400(self, world: World) -> None:
        upload(world.person(), picture()[:40]).fails(400, "INVALID_IMAGE", "file")

    @pytest.mark.one_database
    def test_animation_above_the_frame_limit_returns_413(self, world: World) -> None:
        upload(world.person(), animation("GIF", 101)).fails(413, "IMAGE_TOO_LARGE")

    @pytest.mark.one_database
    def test_body_above_the_limit_returns_413(self, world: World) -> None:
        upload(world.person(), picture() + bytes(10_500_000)).fails(413, "TOO_LARGE")

    @pytest.mark.one_database
    def test_file_in_another_field_returns_400(self, world: World) -> None:
        me = world.person()
        me.call("POST", "/bucket/upload", **form(picture(), name="other")).fails(400, None, "file")

    @pytest.mark.one_database
    def test_json_body_returns_415(self, world: World) -> None:
        world.person().post("/bucket/upload", {"file": "x"}).fails(415, "WRONG_MEDIA_TYPE")

    @pytest.mark.parametrize(
        ("field", "value"), [("folder", "../etc"), ("org_id", "x"), ("project_id", f"org_{GHOST}")]
    )
    @pytest.mark.one_database
    def test_invalid_field_returns_400_with_path(self, world: World, field: str, value: str) -> None:
        upload(world.person(), **{field: value}).fails(400, "VALIDATION_FAILED", field)

    @pytest.mark.one_database
    def test_unknown_folder_returns_the_known_ones(self, world: World) -> None:
        error = upload(world.person(), folder="avatars").fails(400, "VALIDATION_FAILED", "folder")
        assert "users, orgs, sites" in error["errorMessage"][0]["message"]

    @pytest.mark.one_database
    def test_empty_fields_are_ignored(self, world: World) -> None:
        assert upload(world.person(), folder="", org_id="", project_id="").ok(201)["key"].startswith("users/")

    def test_anonymous_returns_401_and_unverified_403(self, world: World) -> None:
        upload(world.anonymous()).fails(401)
        upload(world.person(verified=False)).fails(403, "EMAIL_NOT_VERIFIED")

    def test_repeated_idempotency_key_returns_the_first_response(self, world: World, app: Flask) -> None:
        me = world.person()
        answers = [
            me.call("POST", "/bucket/upload", headers={"Idempotency-Key": "once"}, **form(content))
            for content in 2 * (picture(width=100),) + (picture("GIF"),)
        ]
        assert answers[0].ok(201) == answers[1].ok(201)
        assert answers[0].headers["Link"] == answers[1].headers["Link"]
        answers[2].fails(422, "IDEMPOTENCY_KEY_REUSED")
        assert count_assets(app, MediaAsset.uploader_id == me.id) == 1


class TestUploadTarget:
    @pytest.mark.parametrize("target", ["org_id", "project_id"])
    def test_attach_is_allowed_for_owner_and_admin_and_forbidden_for_others(
        self, world: World, team: OrganizationTeam, target: str
    ) -> None:
        for person in (team.owner, team.admin):
            upload(person, **{target: getattr(team, target)}).ok(201)
        for person in (team.editor, world.person(), world.person(admin=True)):
            upload(person, **{target: getattr(team, target)}).fails(403, "NOT_ALLOWED")

    @pytest.mark.one_database
    @pytest.mark.parametrize("target", [{"org_id": f"org_{GHOST}"}, {"project_id": f"prj_{GHOST}"}])
    def test_unknown_target_returns_404(self, world: World, target: dict[str, str]) -> None:
        upload(world.person(), **target).fails(404)

    def test_permission_is_checked_before_the_picture(self, team: OrganizationTeam) -> None:
        upload(team.editor, b"words", org_id=team.org_id).fails(403)

    def test_two_targets_require_both_permissions(self, world: World, app: Flask, team: OrganizationTeam) -> None:
        other = OrganizationTeam(app, world)
        upload(team.owner, org_id=other.org_id, project_id=team.project_id).fails(403)
        upload(team.owner, org_id=team.org_id, project_id=other.project_id).fails(403)
        assert upload(team.owner, org_id=team.org_id, project_id=team.project_id).ok(201)

    @pytest.mark.one_database
    def test_project_of_another_organization_returns_400_with_path(
        self, app: Flask, team: OrganizationTeam, world: World
    ) -> None:
        other = OrganizationTeam(app, world)
        with app.app_context():
            db.session.execute(
                sa.update(Organization).where(Organization.id == other.org_id).values(owner_id=team.owner.id)
            )
            db.session.execute(
                sa.text("UPDATE memberships SET user_id = :me WHERE organization_id = :org AND role = 'owner'"),
                {"me": team.owner.id, "org": other.org_id},
            )
            db.session.commit()
        upload(team.owner, org_id=team.org_id, project_id=other.project_id).fails(400, None, "project_id")

    def test_archived_project_returns_409(self, app: Flask, team: OrganizationTeam) -> None:
        with app.app_context():
            db.session.execute(
                sa.update(Project).where(Project.id == team.project_id).values(status=ArchiveStatus.ARCHIVED)
            )
            db.session.commit()
        upload(team.owner, project_id=team.project_id).fails(409, "ARCHIVED")

    def test_attach_does_not_set_the_image(self, app: Flask, team: OrganizationTeam) -> None:
        upload(team.owner, org_id=team.org_id).ok(201)
        with app.app_context():
            assert db.session.get_one(Organization, team.org_id).image is None


class TestDelete:
    def test_deleted_asset_returns_404_and_its_object_is_deleted_by_the_job(
        self, world: World, objects: LocalStore
    ) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        assert me.delete(f"/bucket/delete/{asset['key']}").ok() == {"key": asset["key"], "deleted": True}
        served(me, asset).fails(404)
        world.work_off()
        assert objects.head(asset["key"]) is None
        me.delete(f"/bucket/delete/{asset['key']}").fails(404)

    def test_encoded_key_is_accepted(self, world: World) -> None:
        me = world.person()
        key = upload(me).ok(201)["key"]
        me.delete(f"/bucket/delete/{quote(key, safe='')}").ok()

    @pytest.mark.parametrize("target", ["org_id", "project_id"])
    def test_attached_asset_is_deletable_by_owner_admin_and_platform_admin(
        self, world: World, team: OrganizationTeam, target: str
    ) -> None:
        fields = {target: getattr(team, target)}
        for allowed in (team.owner, team.admin, world.person(admin=True)):
            key = upload(team.owner, **fields).ok(201)["key"]
            for refused in (team.editor, world.person()):
                refused.delete(f"/bucket/delete/{key}").fails(403)
            world.anonymous().delete(f"/bucket/delete/{key}").fails(401)
            allowed.delete(f"/bucket/delete/{key}").ok()

    def test_unattached_asset_is_deletable_only_by_its_uploader(self, world: World, team: OrganizationTeam) -> None:
        key = upload(team.editor).ok(201)["key"]
        team.owner.delete(f"/bucket/delete/{key}").fails(403)
        team.editor.delete(f"/bucket/delete/{key}").ok()

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "key", ["users/none.png", "../../app.db", "%2e%2e%2fapp.db", "users/../../secret", "a" * 3000]
    )
    def test_invalid_key_returns_404(self, world: World, key: str) -> None:
        world.person().delete(f"/bucket/delete/{key}").fails(404)

    def test_delete_sets_referring_images_to_null(self, app: Flask, team: OrganizationTeam) -> None:
        key = upload(team.owner).ok(201)["key"]
        owners = ((User, team.owner.id), (Organization, team.org_id), (Project, team.project_id))
        with app.app_context():
            for table, which in owners:
                db.session.execute(sa.update(table).where(table.id == which).values(image=key))
            db.session.commit()
        team.owner.delete(f"/bucket/delete/{key}").ok()
        with app.app_context():
            assert [db.session.get_one(table, which).image for table, which in owners] == [None] * 3

    def test_parallel_deletions_succeed_once(self, world: World) -> None:
        me = world.person()
        key = upload(me).ok(201)["key"]
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: me.again().delete(f"/bucket/delete/{key}").status, range(6)))
        assert sorted(answers) == [200, 404, 404, 404, 404, 404]


class TestServing:
    def test_response_is_sandboxed_and_cacheable(self, world: World) -> None:
        me = world.person()
        headers = served(me, upload(me).ok(201)).headers
        assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Type"] == "image/png"

    def test_anonymous_request_returns_200(self, world: World) -> None:
        assert served(world.anonymous(), upload(world.person()).ok(201)).status == 200

    @pytest.mark.parametrize(
        ("asked", "first", "end"),
        [("bytes=0-7", 0, 8), ("bytes=10-", 10, None), ("bytes=-5", -5, None), ("bytes=8-999999", 8, None)],
    )
    def test_range_returns_206_with_the_part(self, world: World, asked: str, first: int, end: int | None) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        content = served(me, asset).response.data
        part = served(me, asset, headers={"Range": asked})
        assert part.status == 206
        assert part.response.data == content[first:end]
        start = first % len(content)
        assert part.headers["Content-Range"] == f"bytes {start}-{start + len(part.response.data) - 1}/{len(content)}"

    @pytest.mark.parametrize("asked", ["bytes=5000-", "bytes=5000-6000"])
    def test_range_beyond_the_end_returns_416(self, world: World, asked: str) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        response = served(me, asset, headers={"Range": asked})
        assert response.status == 416
        assert response.headers["Content-Range"] == f"bytes */{asset['size']}"

    @pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "lines=1-2", "bytes=x", "bytes=5-2"])
    def test_unsupported_range_returns_the_whole_object(self, world: World, asked: str) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        response = served(me, asset, headers={"Range": asked})
        assert (response.status, len(response.response.data)) == (200, asset["size"])

    def test_if_range_with_another_etag_returns_the_whole_object(self, world: World) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        for state, status in ((f'"{asset["hash"]}"', 206), ('"other"', 200)):
            assert served(me, asset, headers={"Range": "bytes=0-3", "If-Range": state}).status == status

    def test_if_none_match_with_the_etag_returns_304(self, world: World) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        tag = served(me, asset).headers["ETag"]
        again = served(me, asset, headers={"If-None-Match": tag})
        assert (again.status, again.response.data, again.headers["ETag"]) == (304, b"", tag)
        assert not tag.startswith("W/")

    def test_head_returns_the_headers_without_a_body(self, world: World) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        response = me.call("HEAD", f"/media/{asset['key']}")
        assert (response.status, response.response.data) == (200, b"")
        assert response.headers["Content-Length"] == str(asset["size"])

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        "key", ["users/none.png", "../app.db", "%2e%2e/%2e%2e/app.db", ".parts/x", "variants/x/64"]
    )
    def test_invalid_key_returns_404(self, world: World, key: str) -> None:
        world.anonymous().get(f"/media/{key}").fails(404)

    @pytest.mark.one_database
    def test_unconfirmed_upload_returns_404(self, app: Flask, world: World) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        with app.app_context():
            db.session.execute(sa.update(MediaAsset).where(MediaAsset.key == asset["key"]).values(stored_at=None))
            db.session.commit()
        served(me, asset).fails(404)
        me.delete(f"/bucket/delete/{asset['key']}").fails(404)

    @pytest.mark.one_database
    def test_asset_without_an_object_returns_404(self, world: World, objects: LocalStore) -> None:
        me = world.person()
        asset = upload(me).ok(201)
        objects.delete(asset["key"])
        served(me, asset).fails(404)


class TestVariants:
    def test_upload_response_links_the_smaller_widths(self, world: World, objects: LocalStore) -> None:
        me = world.person()
        response = upload(me, noise(300, 150))
        asset = response.ok(201)
        addresses = [part.split(">")[0].strip(" <") for part in response.headers["Link"].split(", ")]
        assert [address.split("w=")[1].split("&")[0] for address in addresses] == ["64", "128", "256"]
        for width, address in zip((64, 128, 256), addresses, strict=True):
            for _ in range(2):
                variant = me.get(f"/media/{address.split('/media/')[1]}")
                assert opened(variant.response.data).size == (width, width // 2)
                assert variant.headers["ETag"] == f'"{asset["hash"]}-{width}"'
        assert len(list(objects.list(f"variants/{asset['key']}/"))) == 3

    @pytest.mark.one_database
    def test_unsigned_url_returns_403_without_a_variant(self, world: World, objects: LocalStore) -> None:
        me = world.person()
        asset = upload(me, picture("PNG", 300, 150)).ok(201)
        me.get(f"/media/{asset['key']}?w=64").fails(403, "INVALID_SIGNATURE")
        me.get(f"/media/{asset['key']}?w=64&s={'0' * 32}").fails(403, "INVALID_SIGNATURE")
        me.get(f"/media/{asset['key']}?w=65&s={'0' * 32}").fails(400, None, "w")
        assert list(objects.list(f"variants/{asset['key']}/")) == []

    @pytest.mark.one_database
    def test_variant_without_a_slot_returns_503(
        self, world: World, objects: LocalStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        me, processes = world.person(), ImageProcesses(wait_s=0.1)
        address = upload(me, picture("PNG", 300, 150)).headers["Link"].split(">")[0].split("/media/")[1]
        monkeypatch.setattr(responses, "uploads", processes)
        with processes.slot(me.id):
            me.get(f"/media/{address}").fails(503)
        assert me.get(f"/media/{address}").status == 200

    def test_variants_are_deleted_with_their_asset(self, world: World, objects: LocalStore) -> None:
        me = world.person()
        response = upload(me, picture("PNG", 300, 150))
        asset = response.ok(201)
        address = response.headers["Link"].split(">")[0].split("/media/")[1]
        assert me.get(f"/media/{address}").status == 200
        me.delete(f"/bucket/delete/{asset['key']}").ok()
        me.get(f"/media/{address}").fails(404)
        world.work_off()
        assert list(objects.list(f"variants/{asset['key']}/")) == []
