"""The time zone of the browser, which a script sends with a sign-up or offers: its storage and its dismissal."""

import pytest
from flask import Flask

from tests.console.test_account_pages import submit
from tests.support.new_account import Newcomer
from tests.support.world import World


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
        ({"timezone": "../etc"}, "UTC"),
        ({"timezone": ""}, "UTC"),
        ({}, "UTC"),
    ],
)
def test_zone_of_a_sign_up_is_stored_and_the_language_remains_that_of_the_browser(
    app: Flask, world: World, sent: dict[str, str], stored: str
) -> None:
    person = Newcomer(app, world)
    client = person.client
    client.environ_base["HTTP_ACCEPT_LANGUAGE"] = "de"
    for _ in range(2):  # The second one is for a known address.
        submit(client, "/sign-up", email=person.email, password=person.password, name="Nell", **sent)
    world.work_off()
    submit(client, "/verify", email=person.email, code=person.mailbox.codes()[-1])
    page = client.get("/console/account/preferences").text
    assert f'name="timezone" type="text" value="{stored}"' in page
    assert f'data-known-zones="{stored} "' in page
    assert 'lang="de"' in page.partition("<head>")[0]
    client.environ_base["HTTP_ACCEPT_LANGUAGE"] = "fr"
    assert 'lang="fr"' in client.get("/console").text.partition("<head>")[0]


@pytest.mark.one_database
def test_used_zone_is_stored_with_the_shown_language_and_leads_back(app: Flask, world: World) -> None:
    client = Newcomer(app, world).join().client
    client.environ_base["HTTP_ACCEPT_LANGUAGE"] = "de"
    used = submit(client, "/account/time-zone", timezone="Asia/Tokyo", use="1", next="/console/account/sessions")
    assert used.location == "/console/account/sessions"
    page = client.get("/console/account/sessions").text
    assert 'data-known-zones="Asia/Tokyo "' in page
    assert 'lang="de"' in page.partition("<head>")[0]
    refused = submit(client, "/account/time-zone", timezone="Moon/Sea", use="1", next="//evil.example")
    assert refused.status_code == 400
    assert 'id="timezone-error"' in refused.text
    assert "data-known-zones" not in refused.text


@pytest.mark.one_database
def test_dismissed_zones_are_not_offered_again(app: Flask, world: World) -> None:
    client = Newcomer(app, world).join().client
    for zone in ("Asia/Tokyo", "Europe/Berlin", "Moon/Sea"):
        assert submit(client, "/account/time-zone", timezone=zone, next="//evil.example").location == "/console"
    assert 'data-known-zones="UTC Asia/Tokyo Europe/Berlin"' in client.get("/console").text
    assert "Max-Age" in submit(client, "/account/time-zone", timezone="Asia/Seoul").headers["Set-Cookie"]
