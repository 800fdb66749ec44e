"""The page "Connect", the assistant "Rebuild my site" and the hint after a save, with a host on loopback."""

import re
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from flask import Flask
from werkzeug.test import TestResponse

from app.database.transactions import reading_context
from app.extensions import db, drivers
from app.models.outbound_webhook import WebhookEndpoint, WebhookState
from app.models.project import Project, Provider
from app.resources.outbound_webhook import delivery
from config import Settings
from tests.console.conftest import ConsoleScene
from tests.console.test_token_pages import submit
from tests.support.applications import application, settings_for
from tests.support.doubles.server import Reply
from tests.support.doubles.webhook_receiver import WebhookReceiver

NAME = "builds/3f2a9c"


@pytest.fixture(scope="session")
def settings(store: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_for(tmp_path_factory.mktemp("rebuild"), store, WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32")


@pytest.fixture(scope="session")
def app(settings: Settings) -> Iterator[Flask]:
    with application(settings) as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    double = WebhookReceiver()
    yield double
    double.close()


@pytest.fixture
def bare(console: ConsoleScene) -> ConsoleScene:
    """The scene without webhooks."""
    with console.app.app_context():
        db.session.execute(sa.delete(WebhookEndpoint))
        db.session.commit()
    return console


def url_of(console: ConsoleScene, path: str) -> str:
    return f"/console/projects/{console.ids['project_id']}{path}"


def show(console: ConsoleScene, path: str, caller: str = "owner") -> TestResponse:
    response = console.people[caller].client.get(path)
    assert response.status_code == 200, response.text
    return response


def deliver(console: ConsoleScene, hook_id: str) -> None:
    with reading_context(console.app):
        delivery.run(hook_id, drivers.webhooks)


def create(console: ConsoleScene, receiver: WebhookReceiver, host: str = "netlify") -> tuple[str, str]:
    """Create a deploy hook and return its id and the page that follows."""
    made = submit(console.site.owner, url_of(console, f"/rebuild?host={host}"), url=f"{receiver.url}/{NAME}")
    assert made.status_code == 303, made.text
    found = re.search(r"/rebuild/(whe_\w+)", made.location)
    assert found is not None
    return found[1], made.location


def test_assistant_requests_a_build_and_saves_request_the_next_ones(
    bare: ConsoleScene, receiver: WebhookReceiver
) -> None:
    assert "No host builds the site after a save." in show(bare, url_of(bare, "/connect")).text
    steps = show(bare, url_of(bare, "/rebuild?host=vercel")).text
    assert "“Settings › Git”" in steps
    hook_id, page = create(bare, receiver, "vercel")
    waiting = show(bare, page)
    assert (waiting.headers["Refresh"], "This page shows the result." in waiting.text) == ("3", True)
    deliver(bare, hook_id)
    [call] = receiver.received(NAME)
    assert (call.method, call.body) == ("POST", b"")
    accepted = show(bare, page)
    assert "A build was requested." in accepted.text
    assert "Refresh" not in accepted.headers
    connect = show(bare, url_of(bare, "/connect")).text
    assert '<span class="badge badge--success">delivered</span>' in connect
    assert "replace its first commit: git push --force" in connect
    assert "Vercel" in connect
    for text in (accepted.text, connect, show(bare, f"/console/organizations/{bare.ids['org_id']}/webhooks").text):
        assert NAME not in text
    bare.site.commit({"path": "content/posts/second.md", "action": "update", "content": "Changed.\n"}).ok(201)
    listed = bare.site.owner.get(f"/webhook/{hook_id}/deliveries").ok()
    assert [one["type"] for one in listed] == ["content.committed", "webhook.test"]


@pytest.mark.parametrize("status", [404, 410])
def test_refused_request_shows_the_reason_and_accepts_another_url(
    bare: ConsoleScene, receiver: WebhookReceiver, status: int
) -> None:
    receiver.replies[NAME] = [Reply(status)]
    hook_id, page = create(bare, receiver)
    deliver(bare, hook_id)
    assert f"The receiver answered with the status {status}" in show(bare, page).text
    url = url_of(bare, f"/rebuild/{hook_id}/url")
    wrong = submit(bare.site.owner, url, url="https://10.0.0.1/x")
    assert (wrong.status_code, 'id="url-error"' in wrong.text) == (400, True)
    corrected = submit(bare.site.owner, url, url=f"{receiver.url}/other")
    with bare.app.app_context():
        row = db.session.get(WebhookEndpoint, hook_id)
        assert row is not None
        assert row.state == WebhookState.ACTIVE
    deliver(bare, hook_id)
    assert len(receiver.received("other")) == 1
    assert "A build was requested." in show(bare, corrected.location).text


@pytest.mark.one_database
@pytest.mark.parametrize("url", ["", "ftp://x.example.org", "https://10.0.0.1/x", "https://a:b@x.example.org/"])
def test_refused_url_is_shown_at_the_field(bare: ConsoleScene, url: str) -> None:
    refused = submit(bare.site.owner, url_of(bare, "/rebuild?host=other"), url=url)
    assert (refused.status_code, 'id="url-error"' in refused.text) == (400, True)
    assert f'value="{url}"' in refused.text
    assert 'rebuild?host=other" aria-current="page"' in refused.text


@pytest.mark.one_database
def test_hook_of_another_kind_or_project_is_not_found(console: ConsoleScene) -> None:
    owner = console.site.owner
    assert owner.client.get(url_of(console, f"/rebuild/{console.ids['webhook_id']}")).status_code == 404
    made = submit(owner, f"/console/organizations/{console.ids['org_id']}/connect", repository="new", new_name="docs")
    other = made.location.partition("?")[0]
    for path in ("", "/test", "/url"):
        url = f"{other}/rebuild/{console.ids['hook_id']}{path}"
        answer = owner.client.get(url) if not path else submit(owner, url, url="https://hooks.example.org/two")
        assert answer.status_code == 404


@pytest.mark.one_database
def test_editor_sees_the_git_address_only(console: ConsoleScene) -> None:
    url = f"http://127.0.0.1:8000/git/{console.site.name}.git"
    for caller, sees_hooks in (("editor", False), ("admin", True)):
        page = show(console, url_of(console, "/connect"), caller).text
        assert f'id="git-url" value="{url}"' in page
        assert ("hooks.example.org" in page) is sees_hooks
        assert ("/service-accounts" in page) is sees_hooks
        assert ("/rebuild" in page) is sees_hooks


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("provider", "name", "shown"),
    [
        (Provider.GITHUB, "acme/site", "https://github.com/acme/site.git"),
        (Provider.GITLAB, "acme/web/site", "https://gitlab.com/acme/web/site.git"),
        (Provider.LOCAL, "", "Connect a repository to this project first"),
    ],
)
def test_address_of_another_host_is_shown(console: ConsoleScene, provider: Provider, name: str, shown: str) -> None:
    with console.app.app_context():
        row = db.session.get(Project, console.ids["project_id"])
        assert row is not None
        row.provider, row.repository = provider, name
        db.session.commit()
    page = show(console, url_of(console, "/connect")).text
    assert shown in page
    assert "/git/" not in page
    assert "GALLEY_TOKEN" not in show(console, url_of(console, "/rebuild")).text


@pytest.mark.one_database
def test_links_to_tokens_select_rights_and_project(console: ConsoleScene) -> None:
    project = console.ids["project_id"]
    pages = {
        f"/console/account/tokens?scopes=read,write,publish&project={project}": {"read", "write", "publish"},
        f"/console/organizations/{console.ids['org_id']}/service-accounts?scopes=read&project={project}": {"read"},
    }
    connect = show(console, url_of(console, "/connect")).text.replace("&amp;", "&")
    for url, scopes in pages.items():
        assert f'href="{url}#new-token"' in connect
        page = show(console, url).text
        assert set(re.findall(r'name="scopes" value="(\w+)"[^>]* checked', page)) == scopes
        assert re.search(rf'name="projects" value="{project}" checked', page)
        assert re.search(r'id="reach-some"[^>]* checked', page)
    own = "/console/account/tokens"
    assert console.site.owner.client.get(f"{own}?scopes=read,other").status_code == 400
    assert re.search(r'id="reach-all"[^>]* checked', show(console, f"{own}?project=prj_x").text)


def saved_page(console: ConsoleScene, caller: str = "owner") -> str:
    sha = "0" * 40
    return show(
        console, url_of(console, f"/edit/content/posts/first.md?since={sha}&change={sha}&done=saved"), caller
    ).text


@pytest.mark.one_database
def test_hint_after_a_save_ends_with_a_webhook_or_when_it_is_hidden(
    bare: ConsoleScene, receiver: WebhookReceiver
) -> None:
    hint = "No host builds the site after a save yet."
    assert hint in saved_page(bare)
    assert hint not in saved_page(bare, "editor")
    assert hint not in show(bare, url_of(bare, "/edit/content/posts/first.md")).text
    hidden = submit(bare.site.owner, url_of(bare, "/rebuild-hint"), file="content/posts/first.md")
    assert hidden.location == url_of(bare, "/edit/content/posts/first.md")
    assert hint not in saved_page(bare)
    members = {"url": f"{receiver.url}/members", "events": ["member.joined"]}
    bare.site.owner.post(f"/organization/{bare.ids['org_id']}/webhooks", members).ok(201)
    assert hint in saved_page(bare, "admin")
    create(bare, receiver)
    assert hint not in saved_page(bare, "admin")
