"""Sign-up, verification, sign-in, forgotten password and sign-out with plain forms."""

import re
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.extensions import db
from app.models.base import utcnow_ms
from app.models.organization import Invitation, Membership, Role
from tests.resources.project_content.conftest import make_site
from tests.support.assertions.mailbox import Mailbox
from tests.support.new_account import Newcomer
from tests.support.world import World

pytestmark = pytest.mark.one_database


def submit(client: FlaskClient, path: str, **fields: str) -> TestResponse:
    """Send a form as a browser does."""
    return client.post(f"/console{path}", data=fields, headers={"Origin": "http://127.0.0.1:8000"})


def test_account_forms_without_scripts_complete_the_account_life_cycle(app: Flask, world: World) -> None:
    person = Newcomer(app, world)
    client = person.client
    refused = submit(client, "/sign-up", email=person.email, password="short", name="Nell")
    assert refused.status_code == 400
    assert 'id="password-error"' in refused.text
    assert f'value="{person.email}"' in refused.text
    sent = submit(client, "/sign-up", email=person.email, password=person.password, name="Nell")
    assert (sent.status_code, urlsplit(sent.headers["Location"]).path) == (303, "/console/verify")
    world.work_off()
    wrong = submit(client, "/verify", email=person.email, code="000000")
    assert wrong.status_code == 400
    assert "The code is wrong or expired" in wrong.text
    assert submit(client, "/verify", email=person.email, code=person.mailbox.codes()[-1]).location == "/console"
    home = client.get("/console")
    assert home.status_code == 200
    assert "<h1" in home.text
    assert submit(client, "/sign-out").location == "/console/sign-in?done=signed-out"
    assert client.get("/console").location == "/console/sign-in?next=%2Fconsole"
    back = submit(client, "/sign-in?next=/console/account", email=person.email, password=person.password, remember="1")
    assert back.location == "/console/account"
    outside = submit(client, "/sign-in?next=//evil.example", email=person.email, password=person.password)
    assert outside.location == "/console"


def test_sign_in_leads_to_the_only_project_else_to_the_home_page(app: Flask, world: World) -> None:
    person = Newcomer(app, world).join()
    site = make_site(world, {"content/a.md": b"A\n"})
    user_id = person.get("/auth/get-session").ok()["user"]["id"]
    with app.app_context():
        db.session.add(Membership(organization_id=site.organization, user_id=user_id, role=Role.EDITOR))
        db.session.commit()

    def leads_to(path: str) -> str:
        sent = submit(app.test_client(), path, email=person.email, password=person.password)
        return sent.location

    for path in ("/sign-in", "/sign-in?next=/console"):
        assert leads_to(path) == f"/console/projects/{site.project}"
    assert leads_to("/sign-in?next=/console/account") == "/console/account"
    site.owner.new_project(site.organization, site.name)
    assert leads_to("/sign-in") == "/console"


def test_reset_link_redirects_to_the_console_and_changes_the_password(app: Flask, world: World) -> None:
    person = Newcomer(app, world).join()
    client = app.test_client()
    assert submit(client, "/forgot-password", email=person.email).location == "/console/forgot-password?done=reset"
    world.work_off()
    link = re.findall(r"http://\S+token=\S+", person.mailbox.texts()[-1])[0]
    assert link.startswith("http://127.0.0.1:8000/console/reset-password?token=")
    token = link.partition("token=")[2]
    page = client.get(link.removeprefix("http://127.0.0.1:8000"))
    assert f'value="{token}"' in page.text
    weak = submit(client, "/reset-password", token=token, password="short")
    assert (weak.status_code, f'value="{token}"' in weak.text) == (400, True)
    assert submit(client, "/reset-password", token=token, password="Another-Harbour-7").location.endswith(
        "done=password"
    )
    assert submit(client, "/sign-in", email=person.email, password="Another-Harbour-7").location == "/console"


def test_invitation_page_names_the_organization_and_the_inviter(app: Flask, world: World) -> None:
    owner, guest = world.person(), "invited-guest@mail.example.org"
    org_id = owner.new_organization("Harbour & Sons")
    owner.patch(f"/organization/member/{org_id}", {"email": guest, "role": "editor"}).ok()
    world.work_off()
    (text,) = Mailbox(app.config["SETTINGS"].mail.directory, guest).texts()
    [link] = re.findall(r"http://127\.0\.0\.1:8000(/console/invitation\?invitation=inv_\w+)", text)
    client = app.test_client()
    page = client.get(link).text
    assert "<bdi>Harbour &amp; Sons</bdi>" in page
    assert "<bdi>Person " in page
    [target] = re.findall(r'"(/console/sign-up\?email=[^"]+)"', page)
    assert f'value="{guest}"' in client.get(target).text
    other = client.get(f"{link[:-1]}{'0' if link[-1] != '0' else '1'}")
    assert (other.status_code, "Harbour" in other.text) == (200, False)
    with app.app_context():
        db.session.execute(sa.update(Invitation).values(expires_at=utcnow_ms()))
        db.session.commit()
    assert "Harbour" not in client.get(link).text


def test_pages_have_a_strict_policy_and_no_foreign_url(app: Flask) -> None:
    client = app.test_client()
    for name in ("sign-in", "sign-up", "verify", "forgot-password", "reset-password", "invitation"):
        response = client.get(f"/console/{name}", headers={"Accept-Language": "ar"})
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith(
            "default-src 'none'; script-src localhost/console/static/ 127.0.0.1:8000/console/static/;"
        )
        assert "'self'" not in {source for part in policy.split("; ")[1:4] for source in part.split()}
        assert "unsafe" not in policy
        assert response.headers["Referrer-Policy"] == "same-origin"
        assert '<html lang="ar" dir="rtl"' in response.text
        assert response.text.count("<h1") == response.text.count("<main") == 1
        assert not re.search(r"(src|href)=\"(https?:)?//", response.text)


def test_root_redirects_browsers_to_the_console_and_returns_text_to_other_clients(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/", headers={"Accept": "text/html,*/*;q=0.8"}).location == "/console"
    assert client.get("/").mimetype == "text/plain"
    assert client.get("/", headers={"Accept": "*/*"}).mimetype == "text/plain"
    assert client.get("/reset-password?x=1").location == "/console/reset-password?x=1"
