"""Webhooks and their deliveries with plain forms, and a receiver on loopback."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from standardwebhooks import Webhook
from werkzeug.test import TestResponse

from app.core import clock
from app.database.transactions import reading_context
from app.extensions import db, drivers
from app.models.outbound_webhook import DisabledReason, WebhookEndpoint, WebhookState
from app.resources.outbound_webhook import delivery
from config import Settings
from tests.console.conftest import ConsoleScene
from tests.console.test_token_pages import submit
from tests.support.applications import application, settings_for
from tests.support.doubles.server import Reply
from tests.support.doubles.webhook_receiver import WebhookReceiver

SECRET = re.compile(r'id="secret" value="(whsec_[^"]+)"')
DELIVERY = re.compile(r'href="([^"]*/deliveries/dlv_\w+)"')


@pytest.fixture(scope="session")
def settings(store: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_for(tmp_path_factory.mktemp("webhook-pages"), store, WEBHOOK_ALLOWED_NETWORKS="127.0.0.1/32")


@pytest.fixture(scope="session")
def app(settings: Settings) -> Iterator[Flask]:
    with application(settings) as made:
        yield made


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    double = WebhookReceiver()
    yield double
    double.close()


class Pages:
    """The pages of the webhooks of the scene, as the owner opens them."""

    def __init__(self, console: ConsoleScene, receiver: WebhookReceiver) -> None:
        self.console, self.receiver = console, receiver
        self.owner, self.url = console.site.owner, f"/console/organizations/{console.ids['org_id']}/webhooks"

    def show(self, path: str = "") -> str:
        response = self.owner.client.get(self.url + path)
        assert response.status_code == 200, response.text
        return response.text

    def send(self, path: str = "", **fields: Any) -> TestResponse:
        return submit(self.owner, self.url + path, **fields)

    def create(self, name: str = "one", **fields: Any) -> tuple[str, str]:
        """Create a webhook and return its path and its secret, which only this response contains."""
        sent = {"url": f"{self.receiver.url}/{name}", "events": ["content.committed"], "project": ""} | fields
        made = self.send(**sent)
        assert (made.status_code, made.headers["Cache-Control"]) == (200, "no-store"), made.text
        found = SECRET.search(made.text)
        assert found is not None
        path = re.search(rf'href="{self.url}(/whe_\w+)"', made.text)
        assert path is not None
        return path[1], found[1]

    def deliver(self, path: str) -> None:
        """Run the delivery of a webhook, as the worker does."""
        with reading_context(self.console.app):
            delivery.run(path.strip("/"), drivers.webhooks)

    def newest(self, path: str, query: str = "") -> str:
        """Return the page of the first delivery of the list."""
        found = DELIVERY.search(self.show(path + query))
        assert found is not None
        return self.show(found[1].removeprefix(self.url))


@pytest.fixture
def pages(console: ConsoleScene, receiver: WebhookReceiver) -> Pages:
    return Pages(console, receiver)


def test_webhook_is_created_tested_rotated_and_deleted(pages: Pages) -> None:
    path, first = pages.create(description="Search <index>", project=pages.console.ids["project_id"])
    listed = pages.show()
    assert first not in listed
    assert "Search &lt;index&gt;" in listed
    sent = pages.send(f"{path}/test")
    shown = sent.location.removeprefix(pages.url)
    assert (sent.status_code, shown.endswith("?done=tested")) == (303, True)
    assert "No attempt yet." in pages.show(shown)
    pages.deliver(path)
    [call] = pages.receiver.received("one")
    event = Webhook(first).verify(call.body, {name.lower(): value for name, value in call.headers.items()})
    assert event["type"] == "webhook.test"
    page = pages.newest(path)
    assert f"webhook-id: {call.headers['webhook-id']}" in page
    assert "webhook.test" in page
    assert first not in page
    assert '<span class="badge badge--success">delivered</span>' in pages.show()
    rotated = SECRET.search(pages.send(f"{path}/rotate").text)
    assert rotated is not None
    assert rotated[1] != first
    assert pages.send(f"{path}/delete").location == f"{pages.url}?done=deleted"
    assert path not in pages.show()
    assert pages.owner.client.get(pages.url + path).status_code == 404


def test_delivery_shows_its_failure_and_is_sent_again(pages: Pages) -> None:
    path, _secret = pages.create()
    pages.receiver.replies["one"] = [Reply(503, b"<b>maintenance</b>")]
    pages.send(f"{path}/test")
    pages.deliver(path)
    page = pages.newest(path, "?state=waiting&type=webhook.test")
    assert "The receiver answered with the status 503" in page
    assert "&lt;b&gt;maintenance&lt;/b&gt;" in page
    assert "is tried again" in pages.show(path)
    found = DELIVERY.search(pages.show(path))
    assert found is not None
    replayed = pages.send(f"{found[1].removeprefix(pages.url)}/replay")
    assert replayed.location == f"{found[1]}?done=resent"
    pages.deliver(path)
    first, second = pages.receiver.received("one")
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert DELIVERY.search(pages.show(f"{path}?state=waiting")) is None
    assert DELIVERY.search(pages.show(f"{path}?state=delivered")) is not None


@pytest.mark.parametrize(
    ("reason", "text"), [(DisabledReason.REFUSED, "(status 410)"), (DisabledReason.FAILING, "failed for five days")]
)
def test_disabled_webhook_says_why_and_recovers(pages: Pages, reason: DisabledReason, text: str) -> None:
    path, _secret = pages.create()
    pages.send(f"{path}/test")
    with pages.console.app.app_context():
        row = db.session.get(WebhookEndpoint, path.strip("/"))
        assert row is not None
        row.state, row.disabled_reason = WebhookState.DISABLED, reason
        db.session.commit()
    assert text in pages.show(path)
    assert "select “Activate”" in pages.show(path)
    assert '<span class="badge badge--danger">disabled</span>' in pages.show()
    assert pages.send(f"{path}/state", state="active").location == f"{pages.url}{path}?done=saved"
    assert text not in pages.show(path)
    today = clock.now().date()
    early = pages.send(f"{path}/recover", since=(today - timedelta(days=31)).isoformat())
    assert (early.status_code, 'id="since-error"' in early.text) == (400, True)
    assert pages.send(f"{path}/recover", since=today.isoformat()).location == f"{pages.url}{path}?done=resent"


def test_webhook_is_paused_and_its_settings_change(pages: Pages) -> None:
    path, _secret = pages.create()
    pages.send(f"{path}/state", state="paused")
    assert "Messages wait until it is active." in pages.show(path)
    pages.send(f"{path}/state", state="active")
    sent = {"url": f"{pages.receiver.url}/two", "events": ["media.uploaded", "media.deleted"], "description": "Two"}
    assert pages.send(f"{path}/settings", **sent).location == f"{pages.url}{path}?done=saved"
    shown = pages.show(path)
    assert f"{pages.receiver.url}/two" in shown
    assert "An image was deleted, An image was uploaded" in shown
    refused = pages.send(f"{path}/settings", **sent | {"events": []})
    assert (refused.status_code, 'id="events-error"' in refused.text) == (400, True)
    assert refused.text.count(" checked>") == 0


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "ftp://hooks.example.org"}, "url"),
        ({"url": "https://10.0.0.1/x"}, "url"),
        ({"url": "https://user@hooks.example.org/"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["content.unknown"]}, "events"),
        ({"project": "prj_x"}, "project"),
        ({"description": "x" * 201}, "description"),
    ],
)
def test_refused_webhook_keeps_its_values(pages: Pages, fields: dict[str, Any], field: str) -> None:
    sent = {"url": f"{pages.receiver.url}/one", "events": ["media.deleted"], "project": "", "description": "Mine"}
    refused = pages.send(**sent | fields)
    assert refused.status_code == 400
    assert f'id="{field}-error"' in refused.text
    assert 'value="{}"'.format((sent | fields)["url"]) in refused.text


@pytest.mark.one_database
def test_webhook_of_another_organization_is_not_found(pages: Pages) -> None:
    other = pages.owner.new_organization("Pier")
    for path in ("", f"/deliveries/{pages.console.ids['delivery_id']}"):
        url = f"/console/organizations/{other}/webhooks/{pages.console.ids['webhook_id']}{path}"
        assert pages.owner.client.get(url).status_code == 404
    for action in ("settings", "state", "test", "rotate", "recover", "delete"):
        url = f"/console/organizations/{other}/webhooks/{pages.console.ids['webhook_id']}/{action}"
        assert submit(pages.owner, url, state="active", since=clock.now().date().isoformat()).status_code == 404
    assert pages.console.ids["webhook_id"] in pages.show()


@pytest.mark.one_database
def test_deliveries_have_pages(pages: Pages) -> None:
    path, _secret = pages.create()
    for _ in range(51):
        pages.send(f"{path}/test")
    first = pages.show(path)
    assert len(DELIVERY.findall(first)) == 50
    more = re.search(r'href="[^"]*(\?state=&amp;type=&amp;cursor=[^"]+)"', first)
    assert more is not None
    assert len(DELIVERY.findall(pages.show(path + more[1].replace("&amp;", "&")))) == 1
