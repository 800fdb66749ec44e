"""Every page and form of the console, called by every caller."""

import re

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.console.pages import Page
from app.http.endpoint import declaration_of
from tests.console.conftest import ConsoleScene
from tests.console.pages import CALLERS, PAGES, Row

_VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")


def _served(app: Flask) -> set[tuple[str, str]]:
    rules = [rule for rule in app.url_map.iter_rules() if isinstance(_declared(app, rule.endpoint), Page)]
    return {
        (method, _VARIABLE.sub(r":\1", str(rule)))
        for rule in rules
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def _declared(app: Flask, endpoint: str) -> object:
    return declaration_of(app.view_functions[endpoint])


def test_data_lists_every_page(app: Flask) -> None:
    assert _served(app) == {(row.method, row.path) for row in PAGES}


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
    if expected == "deny":
        return response.status_code == 403
    if expected in ("sign-in", "verify"):
        if row.method == "POST":
            return response.status_code == (401 if expected == "sign-in" else 403)
        return response.status_code == 303 and location.startswith(f"/console/{expected}")
    return response.status_code not in (403, 500) and not location.startswith("/console/sign-in?next")


def test_forms_refuse_other_origins(console: ConsoleScene) -> None:
    forms = [row for row in PAGES if row.method == "POST"]
    for headers in ({"Origin": "https://other.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        statuses = {console.send("owner", row.method, row.path, headers=headers).status_code for row in forms}
        assert statuses == {403}


def test_unknown_ids_return_an_error_page(console: ConsoleScene) -> None:
    for path in ("/console/organizations/org_x", "/console/nothing/here"):
        response = console.people["owner"].client.get(path)
        assert response.status_code == 404
        assert "<h1" in response.text
