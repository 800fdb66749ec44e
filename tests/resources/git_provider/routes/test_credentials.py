"""Tests of the routes for local repositories and connected providers."""

from functools import partial
from pathlib import Path

import pytest
from flask import Flask

from app.core.permissions import Role
from app.extensions import db
from app.models.git_credential import GitCredential
from app.models.project import Provider
from tests.support.factories import organization
from tests.support.parallel import statuses, together
from tests.support.world import Person, World

ITEM = {"id", "full_name", "owner", "name", "default_branch", "private", "url", "updated_at"}


def create_repository(who: Person, org: str, name: str) -> str:
    return str(who.post("/git-provider/repositories", _body(org, name)).ok(201)["full_name"])


def _body(org: str, name: str) -> dict[str, str]:
    return {"provider": "local", "org_id": org, "name": name}


class TestCreateRepository:
    def test_create_returns_a_repository_that_can_be_connected(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        created = me.post("/provider/repositories", _body(org, "site")).ok(201)
        assert set(created) == ITEM
        assert (created["owner"], created["name"], created["default_branch"]) == (org, "site", "main")
        assert (world.git_root / f"{created['full_name']}.git").is_dir()
        assert me.new_project(org, created["full_name"])

    def test_existing_name_of_the_organization_returns_409(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        create_repository(me, org, "site")
        me.post("/git-provider/repositories", _body(org, "site")).fails(409, "NAME_TAKEN")
        create_repository(me, me.new_organization(), "site")

    def test_parallel_requests_create_one_repository(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        requests = [partial(me.again().post, "/git-provider/repositories", _body(org, "site")) for _ in range(8)]
        assert statuses(together(requests)) == {201: 1, 409: 7}

    def test_repository_without_an_owner_after_a_crash_is_adopted(self, app: Flask, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        app.extensions["drivers"].git.local.create(f"{org}/site")
        assert create_repository(me, org, "site") == f"{org}/site"

    @pytest.mark.one_database
    def test_editor_returns_403(self, world: World) -> None:
        owner, editor = world.person(), world.person()
        org = organization(world, owner, (editor, Role.EDITOR))
        editor.post("/git-provider/repositories", _body(org, "site")).fails(403)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"org_id": "x"}, "org_id"),
            ({"name": "../x"}, "name"),
            ({"name": "--x"}, "name"),
            ({"name": ""}, "name"),
            ({"name": "x.git"}, "name"),
            ({"name": "a/b"}, "name"),
            ({"provider": "github"}, "provider"),
        ],
    )
    def test_invalid_field_returns_400_with_path(self, world: World, change: dict[str, str], path: str) -> None:
        me = world.person()
        body = _body(me.new_organization(), "site") | change
        me.post("/git-provider/repositories", body).fails(400, "VALIDATION_FAILED", path)


class TestListRepositories:
    def test_list_contains_repositories_of_the_callers_organizations(self, world: World) -> None:
        owner, editor, stranger = world.person(), world.person(), world.person()
        org = organization(world, owner, (editor, Role.EDITOR))
        name = create_repository(owner, org, "site")
        for who in (owner, editor):
            (item,) = who.get("/git-provider/repositories?provider=local").ok()
            assert (item["full_name"], set(item)) == (name, ITEM)
        assert stranger.get("/git-provider/repositories?provider=local").ok() == []

    def test_list_supports_search_and_pagination(self, world: World) -> None:
        me = world.person()
        org = me.new_organization()
        names = [create_repository(me, org, name) for name in ("alpha", "beta_1", "beta-2")]
        result = me.get("/git-provider/repositories?provider=local&search=BETA_").ok()
        assert [item["name"] for item in result] == ["beta_1"]
        seen, cursor = [], ""
        for _ in range(3):
            page = me.get(f"/git-provider/repositories?provider=local&limit=1{cursor}")
            seen += [item["full_name"] for item in page.ok()]
            assert page.json["meta"]["total"] == 3
            cursor = f"&cursor={page.json['meta']['next_cursor']}"
        assert (seen, cursor) == (sorted(names), "&cursor=None")
        me.get("/git-provider/repositories?provider=local&cursor=made-up").fails(400, None, "cursor")

    def test_list_omits_repositories_missing_on_disk(self, world: World) -> None:
        me = world.person()
        name = create_repository(me, me.new_organization(), "site")
        folder: Path = world.git_root / f"{name}.git"
        folder.rename(folder.with_suffix(".away"))
        assert me.get("/git-provider/repositories?provider=local").ok() == []

    @pytest.mark.one_database
    def test_provider_without_a_connected_account_returns_422(self, world: World) -> None:
        me = world.person()
        me.get("/git-provider/repositories?provider=provider_a").fails(422, "REPO_UNAVAILABLE")
        me.get("/git-provider/repositories").fails(400, None, "provider")
        me.get("/git-provider/repositories?provider=svn").fails(400, None, "provider")


class TestListConnectedProviders:
    def test_list_contains_no_token(self, app: Flask, world: World) -> None:
        me = world.person()
        with app.app_context():
            db.session.add(
                GitCredential(
                    user_id=me.id,
                    provider=Provider.GITLAB,
                    account_login="me",
                    access_token_secret="sealed-access",
                    refresh_token_secret="sealed-refresh",
                    token_hint="1234",
                )
            )
            db.session.commit()
        answer = me.get(f"/git-provider/{me.id}")
        (item,) = answer.ok()
        assert (item["provider"], item["token_hint"], item["status"]) == ("gitlab", "1234", "active")
        assert item["provider_account"] == {"id": None, "login": "me", "name": None}
        assert "sealed" not in answer.response.get_data(as_text=True)
        assert me.get(f"/provider/{me.id}").ok() == [item]
