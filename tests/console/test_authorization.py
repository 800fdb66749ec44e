"""Every page and form of the console, called by every caller."""

import html
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.console.shell.pages import Page
from app.core.api_tokens import TokenScope
from app.http.endpoint import find_endpoint
from tests.console.conftest import ConsoleScene
from tests.console.pages import CALLERS, LEAD, PAGES, Row

_LINK = re.compile(r'<(?:a|form)(?![^>]*method="post") [^>]*(?:href|action)="(/console[^"#]*)')
_NAME = re.compile(r'<(?:input|select|textarea|button)[^>]* name="([^"]*)"')
_VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")


@pytest.fixture
def console(console: ConsoleScene) -> ConsoleScene:
    """Add a set of changes with a comment to the project, which the owner can publish."""
    site, editor = console.site, console.people["editor"]
    site.owner.patch(f"/project/{site.project}", {"required_approvals": 0}).ok()
    made = editor.post(f"/project/{site.project}/change-sets", {"title": "New words"}).ok(201)
    files = [{"path": f"content/p{number}.md", "action": "create", "content": "New\n"} for number in range(4)]
    body = {"message": "Add pages", "base_sha": made["head_sha"], "files": files}
    editor.post(f"/change-set/{made['id']}/commit", body).ok(201)
    comment = editor.post(f"/change-set/{made['id']}/comments", {"body": "Look"}).ok(201)
    link = editor.post(f"/change-set/{made['id']}/review-links", {}).ok(201)
    console.ids |= {"change_set_id": made["id"], "comment_id": comment["id"], "link_id": link["id"]}
    console.ids["secret"] = link["url"].rpartition("/")[2]
    return console


def _served(app: Flask) -> set[tuple[str, str]]:
    rules = [rule for rule in app.url_map.iter_rules() if isinstance(_declared(app, rule.endpoint), Page)]
    return {
        (method, _VARIABLE.sub(r":\1", str(rule)))
        for rule in rules
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def _declared(app: Flask, endpoint: str) -> object:
    return find_endpoint(app.view_functions[endpoint])


@pytest.mark.one_database
def test_data_lists_every_page(app: Flask) -> None:
    assert _served(app) == {(row.method, row.path) for row in PAGES}


@pytest.mark.one_database
@pytest.mark.parametrize("caller", CALLERS)
def test_pages_admit_exactly_the_callers_of_the_data(console: ConsoleScene, caller: str) -> None:
    wrong = []
    for row in PAGES:
        expected = dict(zip(CALLERS, row.cells.split(), strict=True))[caller]
        if expected == "show" and row.method == "POST" and row.cells.startswith("sign-in"):
            continue  # The tests of the pages send valid forms.
        if row.path == "/console/sign-out" and caller != "anonymous":
            continue  # It would end the session of the caller.
        response = console.send(caller, row.method, row.path)
        if not _fits(response, row, expected):
            wrong.append(f"{row.method} {row.path}: expected {expected}, got {response.status_code}")
    assert wrong == []


def _fits(response: TestResponse, row: Row, expected: str) -> bool:
    location = response.headers.get("Location", "")
    if expected == "lead":
        return response.status_code == 302
    if expected in ("deny", "hide"):
        return response.status_code == (403 if expected == "deny" else 404)
    if expected in ("sign-in", "verify"):
        if row.method == "POST":
            return response.status_code == (401 if expected == "sign-in" else 403)
        return response.status_code == 303 and location.startswith(f"/console/{expected}")
    return response.status_code not in (403, 500) and not location.startswith("/console/sign-in?next")


@pytest.mark.one_database
@pytest.mark.parametrize("kind", ["every scope", *TokenScope, "one project", "service account", "invalid"])
def test_api_token_opens_no_page(console: ConsoleScene, kind: str) -> None:
    """The token belongs to the owner, who may open every page of the organization. The cookie does not count either."""
    scopes = [kind] if kind in list(TokenScope) else list(TokenScope)
    body: dict[str, Any] = {"name": "Program", "scopes": scopes}
    if kind == "one project":
        body["projects"] = [console.ids["project_id"]]
    path = f"/organization/{console.ids['org_id']}/service-accounts" if kind == "service account" else "/tokens"
    token = "glp_invalid" if kind == "invalid" else console.site.owner.post(path, body).ok(201)["token"]
    name = console.site.owner.get("/auth/get-session").ok()["user"]["name"]
    wrong = []
    for row in PAGES:
        for caller in ("anonymous", "owner"):
            response = console.send(caller, row.method, row.path, headers={"Authorization": f"Bearer {token}"})
            expected = row.cells.split()[0]
            if expected == "sign-in" and kind != "invalid":
                expected = "deny"
            if not _fits(response, row, expected) or name in response.text:
                wrong.append(f"{row.method} {row.path}: expected {expected}, got {response.status_code}")
    assert wrong == []


@pytest.mark.one_database
def test_forms_refuse_other_origins(console: ConsoleScene) -> None:
    forms = [row for row in PAGES if row.method == "POST"]
    for headers in ({"Origin": "https://other.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        statuses = {console.send("owner", row.method, row.path, headers=headers).status_code for row in forms}
        assert statuses == {403}


def test_forms_of_the_pages_have_only_declared_inputs(console: ConsoleScene) -> None:
    site, file = console.site, console.ids["file"]
    site.owner.put(f"/project-draft/{site.project}", {"content": "Mine\n"}, query_string={"file": file}).ok()
    urls, undeclared, seen = console.app.url_map.bind("127.0.0.1:8000"), set(), set()
    shown = [row for row in PAGES if row.method == "GET" and row.cells != LEAD]
    for row, caller in itertools.product(shown, ("owner", "platform_admin", "anonymous")):
        response = console.send(caller, "GET", row.path)
        for action, names in _forms(response.text):
            endpoint, _ids = urls.match(urlsplit(action or response.request.path).path, method="POST")
            declared = _declared(console.app, endpoint)
            assert isinstance(declared, Page)
            seen.add(endpoint)
            undeclared |= {(endpoint, name) for name in names if not declared.accepts(name)}
    assert undeclared == set()
    assert len(seen) > 25


def _forms(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the action of each form and the names of its inputs, also of those outside it that name its id."""
    for tag, inner in re.findall(r'<form([^>]* method="post"[^>]*)>(.*?)</form>', page, re.DOTALL):
        form_id = re.findall(r' id="([^"]*)"', tag)
        outside = re.findall(rf'<[^>]* form="{form_id[0]}"[^>]*>', page) if form_id else []
        names = [name for text in (inner, *outside) for name in _NAME.findall(text)]
        yield html.unescape("".join(re.findall(r'action="([^"]*)"', tag))), list(map(html.unescape, names))


WITHOUT_A_LINK = {
    *("/console/:unknown", "/console/static/:name", "/console/admin"),
    "/console/projects/:project_id/thumbnail/:sha",
    "/console/projects/:project_id/site/marks",
    "/console/projects/:project_id/site/field",
    "/console/projects/:project_id/activity",
    *("/console/reset-password", "/console/invitation", "/console/verify", "/console/second-factor"),
    "/console/reset-second-factor",
    *("/console/projects/:project_id/links", "/console/projects/:project_id/relations"),
    *(
        f"/console/projects/:project_id/changes/:change_set_id/{name}"
        for name in ("conflicts", "site", "site/page", "open-site")
    ),
    *("/console/projects/:project_id/images/:file", "/console/projects/:project_id/draft-image/:file"),
}
"""Files, unknown pages, old addresses, pages to which a mail or a redirect leads, searches and images of scripts, and
the site of a set, which this set has not.
"""

MAX_VISITS = 3


def test_links_lead_from_the_home_page_to_every_page(console: ConsoleScene) -> None:
    site, file = console.site, console.ids["file"]
    site.owner.put(f"/project-draft/{site.project}", {"content": "Mine\n"}, query_string={"file": file}).ok()
    change = {"path": file, "action": "update", "content": "---\ntitle: Theirs\n---\n"}
    site.commit(change).ok(201)
    site.world.work_off()
    callers = ("owner", "platform_admin", "anonymous")
    reached = {path for caller in callers for path in _reached(console, caller)}
    pages = {row.path for row in PAGES if row.method == "GET" and row.path.startswith("/console")}
    assert pages - reached == WITHOUT_A_LINK


def _reached(console: ConsoleScene, caller: str) -> set[str]:
    """Follow the links of the pages, at most three to each page, and return the paths of the pages as in the data."""
    urls, reached = console.app.url_map.bind("127.0.0.1:8000"), Counter[str]()
    waiting = ["/console/sign-in" if caller == "anonymous" else "/console"]
    while waiting:
        url = urlsplit(waiting.pop())
        rule, _values = urls.match(url.path, method="GET", return_rule=True)
        reached[path := _VARIABLE.sub(r":\1", str(rule))] += 1
        if reached[path] > MAX_VISITS:
            continue
        page = console.people[caller].client.get(f"{url.path}?{url.query}").text
        links = {html.unescape(link) for link in _LINK.findall(page)}
        waiting += sorted(links)
    return set(reached)


@pytest.mark.one_database
def test_unknown_ids_return_an_error_page(console: ConsoleScene) -> None:
    for path in ("/console/organizations/org_x", "/console/nothing/here"):
        response = console.people["owner"].client.get(path)
        assert response.status_code == 404
        assert "<h1" in response.text
