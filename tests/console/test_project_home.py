"""The home page of a project, its activity, and its search as a page and for the command palette."""

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db
from app.models.outbound_webhook import DeliveryState, WebhookDelivery, WebhookEndpoint, WebhookMessage
from app.models.project_content import ContentIndex, IndexStatus
from tests.console.conftest import ConsoleScene
from tests.console.test_organizations import submit
from tests.resources.bucket.uploads import upload
from tests.resources.project_content.conftest import make_site
from tests.support.samples.pictures import picture
from tests.support.world import World


def test_search_returns_files_for_the_palette(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    client = console.site.owner.client
    listed = client.get(f"{base}/search?q=Another", headers={"Accept": "application/json"}).json
    path = "content/posts/first.md"
    assert listed == {"files": [{"title": "First post", "group": "Posts", "url": f"{base}/edit/{path}"}]}
    assert client.get(f"{base}/search?q=", headers={"Accept": "application/json"}).json == {"files": []}
    page = client.get(f"{base}/search?q=Another")
    assert f'href="{base}/edit/{path}"><bdi>First post</bdi></a>' in page.text
    assert f'data-palette-url="{base}/search"' in page.text


def test_search_of_a_nonmember_is_refused_as_json(console: ConsoleScene) -> None:
    headers = {"Accept": "application/json"}
    refused = console.send("nonmember", "GET", "/console/projects/:project_id/search?q=a", headers=headers)
    assert (refused.status_code, refused.json["code"]) == (403, "NOT_ALLOWED")


def test_page_is_reloaded_until_the_first_index_is_complete(world: World) -> None:
    site = make_site(world, {"content/a.md": b"A\n"}, indexed=False)
    url = f"/console/projects/{site.project}"
    assert site.owner.client.get(url).headers["Refresh"] == "3"
    world.work_off()
    assert "Refresh" not in site.owner.client.get(url).headers


def test_first_page_lists_the_pages_edited_last_and_the_drafts_with_their_titles(console: ConsoleScene) -> None:
    site, base, path = console.site, f"/console/projects/{console.ids['project_id']}", "content/posts/first.md"
    text = site.repo.show(path).decode()
    site.commit({"path": path, "action": "update", "content": text.replace("One", "A")}).ok(201)
    site.commit({"path": "static/picture.png", "action": "delete"}).ok(201)
    site.world.work_off()
    shown = latest(site.owner.client.get(base).text)
    assert [page for page, _, _ in shown] == [path, "content/posts/second.md"]
    assert shown[0][1:] == ("First post", name_of(site.owner.client.get(base).text))
    activity = site.owner.client.get(f"{base}/history?show=activity").text
    assert f'href="{base}/edit/{path}"><bdi>First post</bdi></a>' in activity
    assert f'href="{base}/history/static/picture.png"><bdi>picture.png</bdi></a>' in activity
    site.owner.put(f"/project-draft/{site.project}", {"content": "Mine\n"}, query_string={"file": path}).ok()
    assert site.owner.client.get(base).text.count("><bdi>First post</bdi></a>") == 2


def name_of(page: str) -> str:
    """Return the name of the user in the navigation."""
    return re.findall(r'<span class="sidebar__project" dir="auto">([^<]*)</span></summary>', page)[-1]


def latest(page: str) -> list[tuple[str, str, str]]:
    """Return path, title and person of the pages edited last."""
    part = page.partition('id="latest"')[2].partition("</section>")[0]
    found = re.findall(r'/edit/([^"]*)"><bdi>(.*?)</bdi>.*?latest__person.*?<bdi>(.*?)</bdi>', part, re.DOTALL)
    return [(path, html.unescape(title), html.unescape(person)) for path, title, person in found]


def test_pages_edited_last_come_from_the_history_of_git_and_have_pictures(world: World) -> None:
    files = {
        "content/posts/a/index.md": b"---\ntitle: Anchor\n---\n",
        "content/posts/a/cover.png": picture(),
        "content/posts/b.md": b"---\ntitle: Buoy\n---\n",
        "content/posts/sea-marks.md": b"Text\n",
        "static/logo.png": picture(),
        "README.md": b"# Read me\n",
    }
    site = make_site(world, files)
    url = f"/console/projects/{site.project}"
    page = site.owner.client.get(url).text
    shown = latest(page)
    assert [(path, title) for path, title, _ in shown] == [
        ("content/posts/a/index.md", "Anchor"),
        ("content/posts/b.md", "Buoy"),
        ("content/posts/sea-marks.md", "Sea marks"),
    ]
    assert page.partition('id="latest"')[2].count("/thumbnail/") == 1
    site.commit({"path": "content/posts/b.md", "action": "update", "content": "---\ntitle: Bell buoy\n---\n"}).ok(201)
    assert latest(site.owner.client.get(url).text)[0][0] == "content/posts/b.md"


def test_first_page_links_to_new_entries_and_to_the_site(console: ConsoleScene) -> None:
    base, owner = f"/console/projects/{console.ids['project_id']}", console.site.owner
    assert 'href="https://harbour.example.org"' not in owner.client.get(base).text
    settings = f"/project/{console.ids['project_id']}"
    owner.patch(settings, {"site_url": "https://harbour.example.org/"}).ok()
    page = owner.client.get(base).text
    assert re.search(r'href="[^"]*/new/[^"]*" aria-label="New entry: Posts"', page)
    assert 'href="https://harbour.example.org/"' in page
    assert 'href="https://harbour.example.org/"' in owner.client.get("/console").text
    assert (
        'href="https://harbour.example.org/posts/first/"'
        in owner.client.get(f"{base}/edit/content/posts/first.md").text
    )


def test_first_page_shows_the_last_build_and_publication(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    assert "requested" in console.send("editor", "GET", base).text
    with console.app.app_context():
        hook = db.session.get_one(WebhookEndpoint, console.ids["hook_id"])
        message = WebhookMessage(
            organization_id=hook.organization_id, project_id=hook.project_id, type="webhook.test", body=b"{}"
        )
        db.session.add(message)
        db.session.flush()
        db.session.add(WebhookDelivery(message_id=message.id, endpoint_id=hook.id, state=DeliveryState.FAILED))
        db.session.commit()
    assert "refused by the host" in console.send("editor", "GET", base).text


def test_navigation_shows_the_state_of_the_index_only_while_the_content_is_incomplete(world: World) -> None:
    site = make_site(world, {"content/a.md": b"A\n"}, indexed=False)
    url, client = f"/console/projects/{site.project}", site.owner.client
    assert "The content is being read" in client.get(f"{url}/media").text
    world.work_off()
    complete = client.get(f"{url}/media").text
    assert "The content is being read" not in complete
    assert "sidebar__state" not in complete
    with world.app.app_context():
        own = ContentIndex.project_id == site.project
        db.session.execute(sa.update(ContentIndex).where(own).values(status=IndexStatus.FAILED))
        db.session.commit()
    assert f'href="{url}/settings#index"' in client.get(f"{url}/media").text
    assert "failed" in client.get(f"{url}/settings").text


def test_foot_of_the_navigation_has_the_person_and_the_settings(console: ConsoleScene) -> None:
    base, organization = f"/console/projects/{console.ids['project_id']}", console.ids["org_id"]
    links = {
        name: re.findall(r'href="([^"]+)"', console.send(name, "GET", base).text.partition("sidebar__footer")[2])
        for name in ("owner", "editor")
    }
    assert f"/console/organizations/{organization}/webhooks" in links["owner"]
    assert f"/console/organizations/{organization}/webhooks" not in links["editor"]
    assert {f"{base}/settings", f"{base}/content/", "/console/account"} <= set(links["editor"])


def test_navigation_shows_the_picture_of_the_person(console: ConsoleScene) -> None:
    owner = console.site.owner
    key = upload(owner, picture(width=80, height=80)).ok(201)["key"]
    owner.post("/auth/update-user", {"image": key}).ok()
    [source] = re.findall(r'class="avatar"[^>]*><img src="([^"]*)"', owner.client.get("/console").text)
    assert owner.client.get(html.unescape(source)).status_code == 200


def test_help_links_the_pages_of_the_project(console: ConsoleScene) -> None:
    base = f"/console/projects/{console.ids['project_id']}"
    shown = console.send("editor", "GET", "/console/projects/:project_id/help").text
    text = shown[shown.index("data-help-text") :]
    assert [f'href="{base}/{name}"' in text for name in ("collections", "preview", "changes", "history")] == [True] * 4
    assert f'href="{base}/help"' in console.send("editor", "GET", "/console/projects/:project_id").text
    assert base not in console.send("editor", "GET", "/console/help").text


def test_help_links_the_guides_of_the_documentation(
    console: ConsoleScene, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'id="guides"' not in console.send("editor", "GET", "/console/help").text
    settings = app.config["SETTINGS"]
    server = replace(settings.server, docs_url="https://docs.example.org/galley")
    monkeypatch.setitem(app.config, "SETTINGS", replace(settings, server=server))
    shown = console.send("editor", "GET", "/console/help").text
    root = Path(__file__).resolve().parents[2]
    pages = re.findall(r'href="https://docs\.example\.org/galley/([^"]*)\.html"', shown)
    nav = (root / "mkdocs.yml").read_text()
    assert len(pages) == 4
    assert [f": {name}.md\n" in nav for name in pages] == [True] * 4


def test_list_of_entries_shows_paths_in_the_developer_view_only(console: ConsoleScene) -> None:
    home = console.send("editor", "GET", "/console/projects/:project_id").text
    link = re.findall(r'href="([^"]*/collections/[^"]*)"', home)[0]
    for is_shown in (False, True):
        chosen = {"developer_view": "1"} if is_shown else {}
        submit(
            console.site.owner, "/console/account/preferences", timezone="UTC", language="en", theme="system", **chosen
        )
        pages = [console.site.owner.client.get(f"{link}?view={view}").text for view in ("list", "grid")]
        assert ['title="content/posts/first.md"' in page for page in pages] == [is_shown] * 2


def test_navigation_of_an_editor_has_no_link_to_the_connection_of_the_site(console: ConsoleScene) -> None:
    link = f'href="/console/projects/{console.ids["project_id"]}/connect"'
    pages = {name: console.send(name, "GET", "/console/projects/:project_id").text for name in ("editor", "admin")}
    assert {name: link in page for name, page in pages.items()} == {"editor": False, "admin": True}
