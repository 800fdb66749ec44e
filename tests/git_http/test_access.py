"""Tokens, scopes, memberships and the archive state of Git requests."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core import clock
from app.core.rates import RateLimits
from app.extensions import db
from app.models.organization import ArchiveStatus, Membership, Organization
from app.models.project import Project, Provider
from app.models.user import User
from app.rate_limiting.counter import RateCounter
from tests.git_http.client import GitClient, Site, basic
from tests.support import factories
from tests.support.tokens import new_token
from tests.support.world import World

SERVICES = ["git-upload-pack", "git-receive-pack"]


def status(site: Site, token: str | None, service: str = "git-upload-pack", repository: str | None = None) -> int:
    path = f"/git/{repository or site.repository}.git/info/refs?service={service}"
    return site.get(path, token=token).status


class TestAuthentication:
    @pytest.mark.parametrize("name", SERVICES)
    def test_request_without_a_token_receives_a_challenge(self, site: Site, name: str) -> None:
        asked = site.get(f"/git/{site.repository}.git/info/refs?service={name}")
        assert (asked.status, asked.headers["WWW-Authenticate"]) == (401, 'Basic realm="Galley", charset="UTF-8"')

    @pytest.mark.parametrize(
        "header",
        [basic("glly_wrong"), basic(""), "Basic !", "Basic /w==", "Basic", "Bearer glly_wrong", "Digest a=b"],
    )
    def test_invalid_credentials_are_refused(self, site: Site, header: str) -> None:
        path = f"/git/{site.repository}.git/info/refs?service=git-upload-pack"
        refused = site.get(path, headers={"Authorization": header})
        assert refused.status == 401
        assert "WWW-Authenticate" in refused.headers

    @pytest.mark.parametrize("user", ["anyone", "", "%C3%A9", "x-access-token"])
    def test_any_user_name_is_accepted(self, site: Site, git: GitClient, user: str) -> None:
        git.clone(site.url(site.token("read"), user=user))

    @pytest.mark.parametrize("credentials", ["{}:x-oauth-basic", "{}:", "{}:anything", "anyone:{}"])
    def test_token_is_the_password_or_the_user_name(self, site: Site, git: GitClient, credentials: str) -> None:
        token = site.token("read")
        git.clone(site.url().replace("//", f"//{credentials.format(token)}@"))

    def test_token_is_a_bearer_token(self, site: Site, git: GitClient) -> None:
        git.ok("-c", f"http.extraHeader=Authorization: Bearer {site.token('read')}", "clone", site.url(), "site")

    def test_wrong_token_is_explained_to_the_user(self, site: Site, git: GitClient) -> None:
        refused = git.run("clone", site.url("glly_wrong"), "site")
        assert refused.code != 0
        assert "remote: The API token is not valid" in refused.messages

    def test_unverified_owner_is_refused(self, site: Site) -> None:
        token = site.token("read")
        with site.world.app.app_context(), db.engine.begin() as connection:
            connection.execute(sa.update(User).where(User.id == site.owner.id).values(email_verified=False))
        assert status(site, token) == 403

    def test_owner_without_a_required_second_factor_is_refused(self, site: Site, git: GitClient) -> None:
        token, own = (
            site.token("read"),
            sa.select(Membership.organization_id).where(Membership.user_id == site.owner.id),
        )
        organizations = sa.update(Organization).where(Organization.id.in_(own))
        with site.world.app.app_context(), db.engine.begin() as connection:
            connection.execute(organizations.values(second_factor_from=clock.now() + timedelta(days=1)))
        assert status(site, token) == 200
        with site.world.app.app_context(), db.engine.begin() as connection:
            connection.execute(organizations.values(second_factor_from=clock.now() - timedelta(days=1)))
        assert [status(site, token, service) for service in SERVICES] == [403, 403]
        assert "second factor" in git.run("clone", site.url(token), "site").messages

    def test_revoked_token_is_refused(self, site: Site) -> None:
        made = new_token(site.owner, "read")
        assert status(site, made["token"]) == 200
        site.owner.delete(f"/tokens/{made['id']}").ok()
        assert status(site, made["token"]) == 401


class TestRates:
    def test_wrong_tokens_are_counted_and_first_requests_are_not(self, app: Flask, world: World) -> None:
        [rate] = RateLimits().git_failures_address
        valid = basic(new_token(world.person(), "read")["token"])
        counter = app.extensions["rates"]
        app.extensions["rates"] = RateCounter()
        try:
            anonymous = [self.status(app, None) for _ in range(2 * rate.times)]
            wrong = [self.status(app, basic("glly_wrong")) for _ in range(rate.times + 1)]
            assert set(anonymous) == {401}
            assert wrong == [401] * rate.times + [429]
            assert self.status(app, valid) == 429
            assert self.status(app, valid, address="192.0.2.78") == 404
        finally:
            app.extensions["rates"] = counter

    @staticmethod
    def status(app: Flask, header: str | None, *, address: str = "192.0.2.77") -> int:
        url = "/git/acme/unknown.git/info/refs?service=git-upload-pack"
        headers = {"Authorization": header} if header is not None else {}
        client = app.test_client()
        return client.get(url, headers=headers, environ_overrides={"REMOTE_ADDR": address}).status_code


class TestScopes:
    @pytest.mark.parametrize(
        ("scopes", "read", "write"),
        [
            (("read",), 200, 403),
            (("write",), 403, 200),
            (("publish",), 403, 200),
            (("admin",), 403, 403),
            (("read", "write", "publish", "admin"), 200, 200),
        ],
    )
    def test_service_needs_a_scope(self, site: Site, scopes: tuple[str, ...], read: int, write: int) -> None:
        token = site.token(*scopes)
        assert [status(site, token, service) for service in SERVICES] == [read, write]

    def test_scope_of_a_refused_push_is_named(self, site: Site, git: GitClient) -> None:
        git.clone(site.url(site.token("read")))
        git.commit("site", {"a.md": b"a"})
        refused = git.run("push", within="site")
        assert refused.code != 0
        assert "remote: The API token needs the scope publish or write" in refused.messages


class TestMembership:
    @pytest.mark.parametrize("role", ["owner", "admin", "editor"])
    def test_every_role_may_read_and_push(self, site: Site, role: str) -> None:
        person = site.member(role)
        token = site.token(person=person)
        assert [status(site, token, service) for service in SERVICES] == [200, 200]

    def test_other_users_and_tokens_of_other_projects_receive_404(self, site: Site) -> None:
        stranger = site.world.person()
        other_name, _ = factories.repository(site.world, {"a.md": b"a"})
        other = factories.project(site.world, site.owner, site.organization, other_name)
        tokens = [site.token(person=stranger), site.token(projects=[other])]
        assert [status(site, token, service) for token in tokens for service in SERVICES] == [404] * 4
        assert status(site, tokens[1], repository=other_name) == 200

    def test_service_account_reads_the_projects_of_its_organization(self, site: Site) -> None:
        other = factories.organization(site.world, site.owner)
        inside = site.token("read", organization=site.organization)
        outside = site.token("read", organization=other)
        assert [status(site, token) for token in (inside, outside)] == [200, 404]

    def test_token_of_one_of_several_projects_reads_the_repository(self, site: Site) -> None:
        second = factories.project(site.world, site.owner, site.organization, site.repository)
        assert status(site, site.token("read", projects=[second])) == 200

    def test_repository_without_a_project_does_not_exist(self, site: Site) -> None:
        name, _ = factories.repository(site.world, {"a.md": b"a"})
        assert status(site, site.token(), repository=name) == 404


class TestArchive:
    @pytest.mark.parametrize("target", ["project", "organization"])
    def test_archived_project_is_read_only(self, site: Site, git: GitClient, target: str) -> None:
        url = site.url(site.token())
        git.clone(url)
        git.commit("site", {"a.md": b"a"})
        path = f"/{target}/status/{getattr(site, target)}"
        site.owner.patch(path, {"status": "archived"}).ok()
        refused = git.run("push", within="site")
        assert refused.code != 0
        assert "remote: The project is archived. It is read-only" in refused.messages
        git.ok("fetch", within="site")

    def test_repository_with_an_active_project_can_be_changed(self, site: Site, git: GitClient) -> None:
        site.project_on("drafts", status=ArchiveStatus.ARCHIVED)
        git.clone(site.url(site.token()))
        git.commit("site", {"a.md": b"a"})
        git.ok("push", within="site")
        refused = git.run("push", "origin", "main:drafts", within="site")
        assert refused.code != 0
        assert "working branch of an archived project" in refused.messages


class TestRemoteProjects:
    @pytest.mark.parametrize(
        ("provider", "name", "host"),
        [(Provider.GITHUB, "acme/site", "github.com"), (Provider.GITLAB, "group/sub/site", "gitlab.com")],
    )
    def test_project_of_another_host_names_its_address(
        self, site: Site, provider: Provider, name: str, host: str
    ) -> None:
        fields: dict[str, Any] = {"provider": provider, "repository": name, "branch": "main", "name": f"On {provider}"}
        with site.world.app.app_context():
            db.session.add(Project(organization_id=site.organization, creator_id=site.owner.id, **fields))
            db.session.commit()
        path = f"/git/{name.upper()}.git/info/refs?service=git-upload-pack"
        answer = site.get(path, token=site.token("read"))
        assert answer.status == 404
        assert f"https://{host}/{name}.git" in answer.text
        hidden = site.get(path, token=site.token("read", person=site.world.person()))
        assert hidden.status == 404
        assert host not in hidden.text
