"""Tests of the routes of organizations."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.media import MediaAsset
from app.models.user import User
from app.resources.user.events import email_verified, user_deleting
from tests.support.assertions.mailbox import Mailbox
from tests.support.assertions.statements import counted
from tests.support.factories import organization, project, repository
from tests.support.samples.sites import SMALL
from tests.support.world import Person, World

Later = Callable[..., AbstractContextManager[None]]
OBJECT = {
    *("org_id", "org_name", "org_image", "settings", "owner", "default", "status"),
    *("members", "projectCount", "createdAt", "updatedAt", "require_second_factor", "second_factor_from"),
}
MEMBER = {"user_id", "email", "full_name", "image", "role", "status", "joined_at", "access", "projects"}


def invite(by: Person, org: str, email: str, role: str = "editor") -> dict[str, object]:
    result: dict[str, object] = by.patch(f"/organization/member/{org}", {"email": email, "role": role}).ok()
    return result


def roles_by_email(who: Person, org: str) -> dict[str, tuple[str, str]]:
    """Return role and status of each member by e-mail."""
    return {m["email"]: (m["role"], m["status"]) for m in who.get(f"/organization/{org}").ok()["members"]}


def verify_email(app: Flask, user_id: str) -> None:
    """Verify the e-mail and publish the event in one transaction."""
    with app.app_context():
        user = db.session.get_one(User, user_id)
        user.email_verified = True
        email_verified.publish(user)
        db.session.commit()


class TestCreate:
    def test_create_returns_the_caller_as_owner(self, world: World) -> None:
        me = world.person()
        created = me.post("/organization", {"org_name": "Acme", "settings": {"a": 1}}).ok(201)
        assert (set(created), set(created["members"][0])) == (OBJECT, MEMBER)
        assert (created["org_name"], created["owner"], created["default"], created["status"]) == (
            "Acme",
            me.id,
            False,
            "active",
        )
        (member,) = created["members"]
        assert (member["user_id"], member["role"], member["status"]) == (me.id, "owner", "active")
        assert me.get(f"/organization/{created['org_id']}").ok() == created

    @pytest.mark.one_database
    @pytest.mark.parametrize("name", ["https://evil.example.org", "Win at www.evil.example.org", "evil.com/login"])
    def test_name_with_a_url_returns_400_with_path(self, world: World, name: str) -> None:
        me = world.person()
        me.post("/organization", {"org_name": name}).fails(400, "VALIDATION_FAILED", "org_name")
        me.patch(f"/organization/{me.new_organization()}", {"org_name": name}).fails(400, None, "org_name")
        me.post("/auth/update-user", {"name": name}).fails(400, None, "name")

    def test_existing_name_of_the_owner_returns_409(self, world: World) -> None:
        me = world.person()
        me.new_organization("Acme")
        me.post("/organization", {"org_name": "Acme"}).fails(409, "NAME_TAKEN")
        world.person().new_organization("Acme")

    def test_name_is_trimmed(self, world: World) -> None:
        me = world.person()
        assert me.post("/organization", {"org_name": "  Acme \n"}).ok(201)["org_name"] == "Acme"
        me.post("/organization", {"org_name": " Acme"}).fails(409, "NAME_TAKEN")
        me.post("/organization", {"org_name": f" {'x' * 80} "}).ok(201)

    def test_empty_image_is_stored_as_null(self, world: World) -> None:
        me = world.person()
        created = me.post("/organization", {"org_name": "Acme", "org_image": ""}).ok(201)
        assert me.patch(f"/organization/{created['org_id']}", {"org_image": ""}).ok()["org_image"] is None

    @pytest.mark.one_database
    def test_invalid_field_has_one_error(self, world: World) -> None:
        response = world.person().post("/organization", {"org_name": ""}).fails(400, None, "org_name")
        assert len(response["errorMessage"]) == 1

    def test_create_above_the_limit_returns_403(self, world: World) -> None:
        me = world.person()
        for _ in range(10):
            me.new_organization()
        me.post("/organization", {"org_name": "Eleventh"}).fails(403, "LIMIT_REACHED")

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({}, "org_name"),
            ({"org_name": "  "}, "org_name"),
            ({"org_name": "x" * 81}, "org_name"),
            ({"org_name": "Acme\r\nhttps://evil.example.org"}, "org_name"),
            ({"org_name": "\u200b"}, "org_name"),
            ({"org_name": 5}, "org_name"),
            ({"org_name": "ok", "settings": []}, "settings"),
            ({"org_name": "ok", "settings": {"a": "x" * 70_000}}, "settings"),
            ({"org_name": "ok", "org_image": "orgs/nobodys.png"}, "org_image"),
        ],
    )
    def test_invalid_field_returns_400_with_path(self, world: World, body: dict[str, object], path: str) -> None:
        world.person().post("/organization", body).fails(400, "VALIDATION_FAILED", path)


class TestEnsureDefault:
    def test_repeated_call_returns_the_first_organization(self, world: World) -> None:
        me = world.person()
        first = me.post("/organization/ensure-default", {}).ok()
        assert first["default"] is True
        assert me.post("/organization/ensure-default", {}).ok() == first

    def test_existing_default_name_is_numbered(self, world: World) -> None:
        me = world.person()
        me.new_organization("Personal")
        assert me.post("/organization/ensure-default", {}).ok()["org_name"] == "Personal 2"

    def test_default_organization_is_exempt_from_the_limit(self, world: World) -> None:
        me = world.person()
        for _ in range(10):
            me.new_organization()
        me.post("/organization/ensure-default", {}).ok()


class TestList:
    def test_list_contains_role_and_active_projects(self, world: World) -> None:
        owner, editor = world.person(), world.person()
        org = organization(world, owner, (editor, Role.EDITOR))
        name, _ = repository(world, SMALL)
        shown, put_away = project(world, owner, org, name), project(world, owner, org, name)
        owner.patch(f"/project/status/{put_away}", {"status": "archived"}).ok()
        (entry,) = editor.get("/organization/user").ok()
        assert set(entry) == OBJECT | {"role", "projects"}
        assert (entry["role"], entry["projectCount"]) == ("editor", 2)
        assert [one["project_id"] for one in entry["projects"]] == [shown]

    def test_list_filters_by_status(self, world: World) -> None:
        me = world.person()
        active, archived = me.new_organization(), me.new_organization()
        me.patch(f"/organization/status/{archived}", {"status": "archived"}).ok()
        values = {
            status: [one["org_id"] for one in me.get(f"/organization/user?status={status}").ok()]
            for status in ("active", "archived", "all")
        }
        assert values == {"active": [active], "archived": [archived], "all": [active, archived]}
        me.get("/organization/user?status=gone").fails(400, "VALIDATION_FAILED", "status")

    def test_list_runs_at_most_three_statements(self, app: Flask, world: World) -> None:
        me = world.person()
        for _ in range(3):
            org = me.new_organization()
            invite(me, org, "guest@mail.example.org")
            project(world, me, org, repository(world, SMALL)[0])
        with counted(app) as statements:
            assert len(me.get("/organization/user").ok()) == 3
        assert len(statements) <= 3, statements


class TestInvite:
    def test_email_is_trimmed(self, world: World) -> None:
        me, other = world.person(), world.person()
        assert invite(me, me.new_organization(), f" {other.email}\n")["user_id"] == other.id

    @pytest.mark.one_database
    @pytest.mark.parametrize("role", ["Admin", "owner", ""])
    def test_invalid_role_returns_400_with_the_valid_roles(self, world: World, role: str) -> None:
        me = world.person()
        response = me.patch(f"/organization/member/{me.new_organization()}", {"email": "a@example.org", "role": role})
        assert response.fails(400, None, "role")["errorMessage"][0]["message"] == "Must be one of: admin, editor."

    def test_verified_user_becomes_a_member_and_receives_a_mail(self, app: Flask, world: World) -> None:
        me, other = world.person(), world.person()
        org = me.new_organization()
        expected = {"email": other.email, "role": "admin", "user_id": other.id, "status": "active"}
        assert invite(me, org, other.email.upper(), "admin") == expected
        world.work_off()
        assert roles_by_email(other, org)[other.email] == ("admin", "active")
        assert len(Mailbox(app.config["SETTINGS"].mail.directory, other.email).texts()) == 1
        me.patch(f"/organization/member/{org}", {"email": other.email, "role": "editor"}).fails(409, "ALREADY_MEMBER")

    def test_unknown_email_is_stored_as_invitation_with_the_last_role(self, app: Flask, world: World) -> None:
        me = world.person()
        org, guest = me.new_organization(), f"{me.id[-8:]}@mail.example.org"
        for role in ("admin", "editor"):
            expected = {"email": guest, "role": role, "user_id": None, "status": "invited"}
            assert invite(me, org, guest, role) == expected
        world.work_off()
        assert roles_by_email(me, org)[guest] == ("editor", "invited")
        assert len(Mailbox(app.config["SETTINGS"].mail.directory, guest).texts()) == 2

    @pytest.mark.parametrize("verified", [False, None])
    def test_invitation_mail_names_organization_and_inviter_below_a_fixed_subject(
        self, app: Flask, world: World, verified: bool | None
    ) -> None:
        """An unverified account is treated like an unknown address."""
        me = world.person()
        guest = world.person(verified=False).email if verified is False else f"{me.id[-8:]}i@mail.example.org"
        invite(me, me.new_organization("Acme.com"), guest)
        world.work_off()
        (text,) = Mailbox(app.config["SETTINGS"].mail.directory, guest).texts()
        assert text.startswith("You are invited to an organization\n")
        assert re.search("Person [0-9a-f]+ invites you to work on the sites of Acme.\u2060com.", " ".join(text.split()))

    def test_membership_mail_to_a_verified_user_has_a_fixed_subject(self, app: Flask, world: World) -> None:
        me, other = world.person(), world.person()
        invite(me, me.new_organization("Acme.com"), other.email)
        world.work_off()
        (text,) = Mailbox(app.config["SETTINGS"].mail.directory, other.email).texts()
        assert text.startswith("You are now a member of an organization\n")
        assert "Acme.\u2060com" in text

    def test_invitation_becomes_a_membership_when_its_email_is_verified(self, app: Flask, world: World) -> None:
        me, guest = world.person(), world.person(verified=False)
        org = me.new_organization()
        assert invite(me, org, guest.email)["status"] == "invited"
        verify_email(app, world.person(email=guest.email.replace("@", "x@")).id)
        assert roles_by_email(me, org)[guest.email] == ("editor", "invited")
        verify_email(app, guest.id)
        assert roles_by_email(guest, org)[guest.email] == ("editor", "active")

    def test_invitation_expires_after_seven_days(self, app: Flask, world: World, later: Later) -> None:
        me, guest = world.person(), world.person(verified=False)
        org = me.new_organization()
        invite(me, org, guest.email)
        with later(days=7, seconds=1):
            assert guest.email not in {m["email"] for m in _members(app, org)}
            verify_email(app, guest.id)
        guest.get(f"/organization/{org}").fails(403)

    def test_members_and_invitations_above_the_limit_return_403(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        for number in range(49):
            invite(me, org, f"g{number}@mail.example.org")
        me.patch(f"/organization/member/{org}", {"email": "late@mail.example.org", "role": "editor"}).fails(
            403, "LIMIT_REACHED"
        )
        assert invite(me, org, "g1@mail.example.org", "admin")["role"] == "admin", "renewing takes no place"
        me.patch(f"/organization/remove-member/{org}", {"email": "g0@mail.example.org"}).ok()
        invite(me, org, "late@mail.example.org")

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "path"), [({"role": "owner"}, "role"), ({"role": "viewer"}, "role"), ({"email": "nobody"}, "email")]
    )
    def test_invalid_field_returns_400_with_path(self, world: World, change: dict[str, str], path: str) -> None:
        me = world.person()
        body = {"email": "guest@mail.example.org", "role": "editor"} | change
        me.patch(f"/organization/member/{me.new_organization()}", body).fails(400, "VALIDATION_FAILED", path)


def _members(app: Flask, org: str) -> list[dict[str, str]]:
    from app.models.organization import Organization
    from app.resources.organization import queries

    with app.app_context():
        found = db.session.get_one(Organization, org)
        viewer = db.session.get_one(User, found.owner_id)
        result: list[dict[str, str]] = queries.details(found, viewer=viewer)["members"]
        return result


@pytest.fixture
def team(world: World) -> tuple[Person, Person, Person, str]:
    """The owner, an admin, an editor and their organization."""
    owner, admin, editor = world.person(), world.person(), world.person()
    return owner, admin, editor, organization(world, owner, (admin, Role.ADMIN), (editor, Role.EDITOR))


Team = tuple[Person, Person, Person, str]


class TestUpdateRole:
    def test_member_is_selected_by_id_or_email(self, team: Team) -> None:
        owner, admin, editor, org = team
        path = f"/organization/update-role/{org}"
        expected = {"user_id": editor.id, "role": "admin"}
        assert owner.patch(path, {"member_id": editor.id, "role": "admin"}).ok() == expected
        assert admin.patch(path, {"email": editor.email, "role": "editor"}).ok()["role"] == "editor"

    def test_user_id_is_accepted_as_member_id(self, team: Team) -> None:
        owner, admin, editor, org = team
        path = f"/organization/update-role/{org}"
        assert owner.patch(path, {"user_id": editor.id, "role": "admin"}).ok()["role"] == "admin"
        removed = owner.patch(f"/organization/remove-member/{org}", {"user_id": admin.id}).ok()
        assert removed == {"user_id": admin.id, "removed": True}

    @pytest.mark.one_database
    def test_member_id_with_an_email_returns_400_without_a_change(self, team: Team) -> None:
        owner, _, editor, org = team
        invite(owner, org, "both@mail.example.org")
        body = {"member_id": editor.id, "email": "both@mail.example.org"}
        owner.patch(f"/organization/remove-member/{org}", body).fails(400, "VALIDATION_FAILED", "member_id", "email")
        role = body | {"role": "admin"}
        owner.patch(f"/organization/update-role/{org}", role).fails(400, "VALIDATION_FAILED", "member_id", "email")
        assert {editor.email, "both@mail.example.org"} <= set(roles_by_email(owner, org))

    @pytest.mark.one_database
    def test_owner_or_caller_as_target_returns_403(self, team: Team) -> None:
        owner, admin, _, org = team
        for who, target in ((admin, owner), (owner, owner), (admin, admin)):
            who.patch(f"/organization/update-role/{org}", {"member_id": target.id, "role": "editor"}).fails(403)
            who.patch(f"/organization/remove-member/{org}", {"member_id": target.id}).fails(403)

    @pytest.mark.one_database
    def test_role_owner_returns_400_with_path(self, team: Team) -> None:
        owner, _, editor, org = team
        body = {"member_id": editor.id, "role": "owner"}
        owner.patch(f"/organization/update-role/{org}", body).fails(400, "VALIDATION_FAILED", "role")

    @pytest.mark.one_database
    def test_unknown_member_returns_404_and_invalid_member_400(self, team: Team, world: World) -> None:
        owner, *_, org = team
        stranger = world.person()
        for target, status in (({"member_id": stranger.id}, 404), ({"email": stranger.email}, 404)):
            owner.patch(f"/organization/update-role/{org}", target | {"role": "admin"}).fails(status)
            owner.patch(f"/organization/remove-member/{org}", target).fails(status)
        owner.patch(f"/organization/remove-member/{org}", {"member_id": "x"}).fails(400, None, "member_id")
        owner.patch(f"/organization/remove-member/{org}", {}).fails(400, None, "member_id")


class TestLeave:
    def test_leave_succeeds_for_members_and_returns_403_for_the_owner(self, team: Team) -> None:
        owner, admin, editor, org = team
        owner.patch(f"/organization/leave/{org}").fails(403, "OWNER_CANNOT_LEAVE")
        for who in (admin, editor):
            who.patch(f"/organization/leave/{org}").ok()
            who.get(f"/organization/{org}").fails(403)


class TestTransfer:
    def test_transfer_makes_the_previous_owner_an_admin(self, team: Team) -> None:
        owner, admin, editor, org = team
        shown = owner.post(f"/organization/transfer/{org}", {"member_id": editor.id}).ok()
        assert shown["owner"] == editor.id
        assert {email: role for email, (role, _) in roles_by_email(owner, org).items()} == {
            owner.email: "admin",
            admin.email: "admin",
            editor.email: "owner",
        }

    def test_unknown_member_self_or_default_organization_is_rejected(self, team: Team, world: World) -> None:
        owner, *_, org = team
        owner.post(f"/organization/transfer/{org}", {"member_id": world.person().id}).fails(404)
        owner.post(f"/organization/transfer/{org}", {"member_id": owner.id}).fails(403)
        default = owner.post("/organization/ensure-default", {}).ok()["org_id"]
        other = world.person()
        invite(owner, default, other.email)
        owner.post(f"/organization/transfer/{default}", {"member_id": other.id}).fails(409, "DEFAULT_ORGANIZATION")

    def test_limit_and_names_of_the_new_owner_apply(self, team: Team) -> None:
        owner, _, editor, org = team
        name = owner.get(f"/organization/{org}").ok()["org_name"]
        clash = editor.new_organization(name)
        owner.post(f"/organization/transfer/{org}", {"member_id": editor.id}).fails(409, "NAME_TAKEN")
        editor.delete(f"/organization/{clash}").ok()
        for _ in range(10):
            editor.new_organization()
        owner.post(f"/organization/transfer/{org}", {"member_id": editor.id}).fails(403, "LIMIT_REACHED")
        assert roles_by_email(owner, org)[owner.email][0] == "owner"


class TestUpdate:
    def test_update_changes_only_the_given_writable_fields(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        before = me.get(f"/organization/{org}").ok()
        forged = {
            "owner": "x",
            "status": "archived",
            "default": True,
            "members": [],
            "is_default": True,
            "owner_id": "x",
        }
        after = me.patch(f"/organization/{org}", forged | {"org_name": "Renamed", "settings": {"c": 1}}).ok()
        changed = {key for key in before if before[key] != after[key]}
        assert changed <= {"org_name", "settings", "updatedAt"}
        assert (after["org_name"], after["settings"]) == ("Renamed", {"c": 1})

    def test_existing_name_of_the_owner_returns_409(self, world: World) -> None:
        me = world.person()
        me.new_organization("Taken")
        me.patch(f"/organization/{me.new_organization()}", {"org_name": "Taken"}).fails(409, "NAME_TAKEN")

    @pytest.mark.one_database
    def test_image_of_another_user_returns_400_with_path(self, app: Flask, world: World) -> None:
        me, other = world.person(), world.person()
        org, key = me.new_organization(), f"orgs/{me.id}.png"
        with app.app_context():
            facts = {"mimetype": "image/png", "size": 1, "width": 1, "height": 1, "hash": "0" * 64}
            db.session.add(MediaAsset(key=key, uploader_id=me.id, stored_at=utcnow_ms(), **facts))
            db.session.commit()
        theirs = other.new_organization()
        other.patch(f"/organization/{theirs}", {"org_image": key}).fails(400, None, "org_image")
        assert me.patch(f"/organization/{org}", {"org_image": key}).ok()["org_image"] == key
        assert me.patch(f"/organization/{org}", {"org_image": None}).ok()["org_image"] is None

    def test_stale_if_match_returns_412(self, world: World) -> None:
        me = world.person()
        path = f"/organization/{me.new_organization()}"
        tag = me.get(path).headers["ETag"]
        me.patch(path, {"org_name": "One"}, headers={"If-Match": tag}).ok()
        me.patch(path, {"org_name": "Two"}, headers={"If-Match": tag}).fails(412)

    def test_stale_if_match_on_member_and_status_changes_returns_412(self, team: Team, world: World) -> None:
        owner, admin, editor, org = team
        stale = owner.get(f"/organization/{org}").headers["ETag"]
        owner.patch(f"/organization/{org}", {"settings": {"a": 1}}).ok()
        changes = [
            (owner, "member", {"email": world.person().email, "role": "editor"}),
            (owner, "update-role", {"member_id": editor.id, "role": "admin"}),
            (owner, "remove-member", {"member_id": editor.id}),
            (admin, "leave", {}),
            (owner, "status", {"status": "archived"}),
        ]
        before = owner.get(f"/organization/{org}")
        for who, what, body in changes:
            who.patch(f"/organization/{what}/{org}", body, headers={"If-Match": stale}).fails(412)
        assert owner.get(f"/organization/{org}").ok() == before.ok()
        for who, what, body in changes:
            tag = owner.get(f"/organization/{org}").headers["ETag"]
            who.patch(f"/organization/{what}/{org}", body, headers={"If-Match": tag}).ok()


class TestStatus:
    def test_archived_organization_returns_409_except_for_the_permitted_changes(self, team: Team) -> None:
        owner, admin, editor, org = team
        assert owner.patch(f"/organization/status/{org}", {"status": "archived"}).ok()["status"] == "archived"
        owner.patch(f"/organization/{org}", {"org_name": "X"}).fails(409, "ARCHIVED")
        body = {"email": "g@mail.example.org", "role": "editor"}
        owner.patch(f"/organization/member/{org}", body).fails(409, "ARCHIVED")
        owner.post(f"/organization/transfer/{org}", {"member_id": admin.id}).fails(409, "ARCHIVED")
        owner.patch(f"/organization/remove-member/{org}", {"member_id": editor.id}).ok()
        admin.patch(f"/organization/leave/{org}").ok()
        owner.patch(f"/organization/status/{org}", {"status": "active"}).ok()
        owner.patch(f"/organization/{org}", {"org_name": "X"}).ok()

    def test_archive_or_delete_of_the_default_organization_returns_409(self, world: World) -> None:
        me = world.person()
        org = me.post("/organization/ensure-default", {}).ok()["org_id"]
        me.patch(f"/organization/status/{org}", {"status": "archived"}).fails(409, "DEFAULT_ORGANIZATION")
        me.delete(f"/organization/{org}").fails(409, "DEFAULT_ORGANIZATION")


class TestDelete:
    def test_delete_removes_the_projects_and_retains_the_repository(self, world: World) -> None:
        me = world.person()
        org, (name, git) = me.new_organization(), repository(world, SMALL)
        made = me.new_project(org, name)
        assert me.delete(f"/organization/{org}").ok() == {"org_id": org, "deleted": True}
        for path in (f"/organization/{org}", f"/project/{made}"):
            me.get(path).fails(404)
        assert git.head("main")
        body = {"org_id": me.new_organization(), "project_name": "P", "provider": "local", "repository": name}
        me.post("/project/create", body | {"branch": "main"}).fails(422, "REPO_UNAVAILABLE")


class TestUserDeleting:
    def test_deleted_user_removes_only_their_organizations(self, app: Flask, world: World) -> None:
        me, other = world.person(), world.person()
        mine = me.new_organization()
        theirs = organization(world, other, (me, Role.EDITOR))
        with app.app_context():
            user_deleting.publish(db.session.get_one(User, me.id))
            db.session.commit()
        me.get(f"/organization/{mine}").fails(404)
        assert roles_by_email(other, theirs) == {other.email: ("owner", "active")}

    def test_owner_of_shared_organizations_returns_409_with_their_names(self, world: World) -> None:
        me, other = world.person(), world.person()
        me.new_organization("Alone")
        shared = me.new_organization("Shared")
        invite(me, shared, other.email)
        response = me.delete(f"/user/delete/{me.id}", {}).fails(409, "OWNS_ORGANIZATIONS")
        assert response["result"] == {"organizations": [{"org_id": shared, "org_name": "Shared"}]}
        assert "Shared" in response["message"]
        me.patch(f"/organization/remove-member/{shared}", {"member_id": other.id}).ok()
        me.delete(f"/user/delete/{me.id}", {}).ok()
