"""Tests of all lists: they accept `limit` and `cursor` and return `meta.next_cursor`, and their pages are complete."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from flask import Flask

from app.core.cursors import encode_position
from app.extensions import db
from app.http.openapi import build
from app.models.change_set import ChangeSet
from app.models.git_credential import GitCredential
from app.models.project import Project, Provider
from app.models.site_build import BuildState, SiteBuildFile
from app.resources.site_build.service import request as request_build
from tests.contract.test_openapi_examples import operations
from tests.resources.change_set.conftest import make_team
from tests.resources.project_content.conftest import FILES, make_site
from tests.support import factories
from tests.support.assertions.pages import read_pages
from tests.support.world import Person, World

BARE = {"listSessions", "listAccounts", "listTrustedDevices", "listPasskeys"}
"""Lists that are the bare array, as the client of better-auth reads them. They ignore the parameters of pages."""

LINKS = {
    "content/first.md": b"# First word\n\n[hello](posts/hello.md)\n",
    "content/second.md": b"# Second word\n\n[hello](posts/hello.md)\n",
    "content/third.md": b"# Third word\n\n[hello](posts/hello.md)\n",
}


class Listed(NamedTuple):
    """A list with at least three items, or two for Git accounts."""

    reader: Person
    path: str
    query: dict[str, str]


def list_organizations(world: World) -> Listed:
    me = world.person()
    for _ in range(3):
        me.new_organization()
    return Listed(me, "/organization/user", {})


def projects(world: World) -> tuple[Person, str]:
    me = world.person()
    organization = factories.organization(world, me)
    for number in range(3):
        factories.project(world, me, organization, f"acme/{organization[-12:]}{number}")
    return me, organization


def list_organization_projects(world: World) -> Listed:
    me, organization = projects(world)
    return Listed(me, f"/project/orgs/{organization}", {})


def list_user_projects(world: World) -> Listed:
    me, _ = projects(world)
    return Listed(me, f"/project/user/{me.id}", {"status": "active"})


def list_api_tokens(world: World) -> Listed:
    me = world.person()
    for number in range(3):
        me.post("/tokens", {"name": f"Token {number}", "scopes": ["read"]}).ok(201)
    return Listed(me, "/tokens", {})


def list_service_accounts(world: World) -> Listed:
    me = world.person()
    path = f"/organization/{factories.organization(world, me)}/service-accounts"
    for number in range(3):
        me.post(path, {"name": f"Account {number}", "scopes": ["read"]}).ok(201)
    return Listed(me, path, {})


def list_webhooks(world: World) -> Listed:
    me = world.person()
    path = f"/organization/{factories.organization(world, me)}/webhooks"
    for number in range(3):
        body = {"url": f"https://hooks.harbour.example.org/{number}", "events": ["content.committed"]}
        me.post(path, body).ok(201)
    return Listed(me, path, {})


def list_webhook_deliveries(world: World) -> Listed:
    me, path, _ = list_webhooks(world)
    webhook = f"/webhook/{me.get(path).ok()[0]['id']}"
    for _ in range(3):
        me.post(f"{webhook}/test").ok(202)
    return Listed(me, f"{webhook}/deliveries", {})


def list_git_credentials(world: World) -> Listed:
    me = world.person()
    with world.app.app_context():
        for provider in (Provider.GITHUB, Provider.GITLAB):
            db.session.add(GitCredential(user_id=me.id, provider=provider))
        db.session.commit()
    return Listed(me, f"/git-provider/{me.id}", {})


def list_branches(world: World) -> Listed:
    site = make_site(world, FILES, indexed=False)
    path = f"/project/{site.project}/branches"
    for name in ("a", "b/c"):
        site.owner.post(path, {"branch": name}).ok(201)
    return Listed(site.owner, path, {})


def list_backlinks(world: World) -> Listed:
    site = make_site(world, FILES | LINKS)
    return Listed(site.owner, site.path("/backlinks"), {"file": "content/posts/hello.md"})


def search_content(world: World) -> Listed:
    site = make_site(world, FILES | LINKS)
    return Listed(site.owner, site.path("/search"), {"q": "word"})


def list_drafts(world: World) -> Listed:
    site = make_site(world, FILES)
    path = f"/project-draft/{site.project}"
    for name in ("first.md", "second.md", "third.md"):
        site.owner.put(path, {"content": "Text"}, query_string={"file": name}).ok()
    return Listed(site.owner, path, {})


def list_change_sets(world: World) -> Listed:
    team = make_team(world)
    for number in range(3):
        team.new(f"Set {number}")
    return Listed(team.editor, team.sets, {})


def list_reviews(world: World) -> Listed:
    team = make_team(world)
    change_set = team.new()
    for _ in range(3):
        team.call(change_set, "reviews", {"verdict": "comment", "body": "Text"}).ok(201)
    return Listed(team.editor, f"/change-set/{change_set['id']}/reviews", {})


def list_comments(world: World) -> Listed:
    team = make_team(world)
    change_set = team.new()
    for _ in range(3):
        team.call(change_set, "comments", {"body": "Text"}).ok(201)
    return Listed(team.editor, f"/change-set/{change_set['id']}/comments", {})


def list_review_links(world: World) -> Listed:
    team = make_team(world)
    path = f"/change-set/{team.edited()['id']}/review-links"
    for number in range(3):
        team.editor.again().post(path, {"receiver": f"Guest {number}"}).ok(201)
    return Listed(team.editor, path, {})


def list_builds(world: World) -> Listed:
    team = make_team(world)
    with world.app.app_context():
        project = db.session.get_one(Project, team.project)
        for number in range(3):
            request_build(project, f"{number}" * 40, user_id=None, limit_mb=1)
        db.session.commit()
    return Listed(team.editor, f"/project/{team.project}/builds", {})


def list_changed_pages(world: World) -> Listed:
    team = make_team(world)
    change_set = team.new()
    team.commit(change_set, {"path": "content/hours.md", "action": "create", "content": "# Hours"}).ok(201)
    with world.app.app_context():
        row = db.session.get_one(ChangeSet, change_set["id"])
        for sha, paths in ((row.base_sha, []), (row.head_sha, ["a.html", "b.html", "c.html"])):
            build, _ = request_build(db.session.get_one(Project, team.project), sha, user_id=None, limit_mb=1)
            build.state = BuildState.READY
            for path in paths:
                file = {"sha256": path, "size": 1, "mimetype": "text/html", "title": path}
                db.session.add(SiteBuildFile(build_id=build.id, project_id=team.project, path=path, **file))
        db.session.commit()
    return Listed(team.editor, f"/change-set/{change_set['id']}/pages", {})


LISTS: dict[str, Callable[[World], Listed]] = {
    "listOrganizations": list_organizations,
    "listOrganizationProjects": list_organization_projects,
    "listUserProjects": list_user_projects,
    "listApiTokens": list_api_tokens,
    "listServiceAccounts": list_service_accounts,
    "listWebhooks": list_webhooks,
    "listWebhookDeliveries": list_webhook_deliveries,
    "listGitCredentials": list_git_credentials,
    "listProjectBranches": list_branches,
    "listBacklinks": list_backlinks,
    "searchContent": search_content,
    "getProjectDraft": list_drafts,
    "listBuilds": list_builds,
    "listReviewLinks": list_review_links,
    "listChangedPages": list_changed_pages,
    "listChangeSets": list_change_sets,
    "listChangeSetReviews": list_reviews,
    "listChangeSetComments": list_comments,
}
OTHERS = {
    "listPullRequests": "tests/resources/project/routes/test_pull_requests.py",
    "listRepositories": "tests/resources/git_provider",
    "listEntries": "tests/resources/project_content/test_entries.py",
    "listFileHistory": "tests/resources/project_content/test_history.py",
}
"""Lists whose pages another test reads."""


def success_of(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation["responses"].get("200", {}).get("content", {})
    schema: dict[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


def returns_list(operation: dict[str, Any]) -> bool:
    schema = success_of(operation)
    result = schema.get("properties", {}).get("result", schema)
    return any(one.get("type") == "array" for one in result.get("anyOf", [result]))


@pytest.mark.one_database
class TestShape:
    def test_every_list_has_pages(self, app: Flask) -> None:
        listed = {}
        for method, path, operation in operations(build(app, with_examples=False)):
            if method == "get" and returns_list(operation):
                listed[operation["operationId"].removesuffix("Alias")] = path
                if operation["operationId"] not in BARE:
                    names = {parameter.get("name") for parameter in operation["parameters"]}
                    assert {"limit", "cursor"} <= names, path
                    meta = success_of(operation)["properties"]["meta"]
                    assert "$ref" in meta or "next_cursor" in meta["properties"], path
        assert set(listed) == {*LISTS, *OTHERS, *BARE}


@pytest.mark.parametrize("name", LISTS)
class TestPages:
    def test_pages_are_the_whole_list(self, world: World, name: str) -> None:
        reader, path, query = LISTS[name](world)
        answer = reader.get(path, query_string=query)
        whole = answer.ok()
        assert len(whole) >= (2 if name == "listGitCredentials" else 3)
        assert answer.json["meta"]["next_cursor"] is None
        assert answer.json["meta"]["total"] in (len(whole), None)
        assert read_pages(reader, path, **query) == whole

    def test_cursor_of_another_list_returns_400(self, world: World, name: str) -> None:
        reader, path, query = LISTS[name](world)
        other = "entries" if name == "searchContent" else "search"
        cursor = encode_position(other, 1, "a")
        reader.get(path, query_string=query | {"cursor": cursor}).fails(400, "VALIDATION_FAILED", "cursor")
        reader.get(path, query_string=query | {"cursor": "?"}).fails(400, "VALIDATION_FAILED", "cursor")


def test_list_continues_after_the_last_item_was_removed(world: World) -> None:
    me, path, _ = list_api_tokens(world)
    whole = me.get(path).ok()
    first = me.get(path, query_string={"limit": 1})
    me.delete(f"{path}/{whole[0]['id']}").ok()
    following = me.get(path, query_string={"cursor": first.json["meta"]["next_cursor"]}).ok()
    assert following == whole[1:]
