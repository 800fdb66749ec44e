"""The billing page of an account, with and without a payment provider."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from flask import Flask

from app.console.shell.rendering import money, period
from tests.console.test_organizations import submit
from tests.resources.order.test_routes import subscribe
from tests.support.applications import application
from tests.support.databases import another_database
from tests.support.doubles.paddle import Paddle
from tests.support.doubles.paddle_data import START, event, transaction
from tests.support.payments import notify, paying
from tests.support.world import World

pytestmark = pytest.mark.one_database

URL = "/console/account/billing"


@pytest.fixture
def paddle() -> Iterator[Paddle]:
    """Run the payment provider."""
    double = Paddle()
    yield double
    double.close()


@pytest.fixture
def shop(store: str, tmp_path: Path, paddle: Paddle) -> Iterator[World]:
    """An application with payments."""
    with another_database(store, tmp_path) as url, application(paying(url, tmp_path, paddle.url)) as made:
        yield World(made)


def test_page_without_payments_shows_the_limits_only(app: Flask, world: World) -> None:
    person = world.person()
    page = person.client.get(URL).text
    assert "This server takes no payments." in page
    assert "No paid plan" in page
    assert "Subscriptions" not in page
    assert "0 of" in page
    assert submit(person, f"{URL}/cancel", subscription_id="sub_x").status_code == 404


def test_page_lists_plan_subscriptions_and_orders(shop: World, paddle: Paddle) -> None:
    person = shop.person()
    empty = person.client.get(URL).text
    assert "No subscription yet." in empty
    assert "No order yet." in empty
    data = subscribe(shop, paddle, person)
    paid = transaction(2900, of=data, user_id=person.id, at=START + timedelta(days=1))
    notify(shop, event("transaction.completed", paid, START)).ok()
    page = person.client.get(URL).text
    assert "<dd>Pro</dd>" in page
    assert "$29.00 / 1 month" in page
    assert ">paid</span>" in page
    assert 'aria-label="Cancel plan Pro"' in page
    assert "No subscription yet." in shop.person().client.get(URL).text


def test_subscription_is_canceled_at_the_end_of_its_period(shop: World, paddle: Paddle) -> None:
    person = shop.person()
    subscribe(shop, paddle, person)
    (row,) = person.get(f"/order/{person.id}").ok()["subscriptions"]
    other = submit(shop.person(), f"{URL}/cancel", subscription_id=row["subscription_id"])
    assert other.status_code in (403, 404)
    assert submit(person, f"{URL}/cancel", subscription_id="").status_code == 400
    done = submit(person, f"{URL}/cancel", subscription_id=row["subscription_id"])
    assert done.location == f"{URL}?done=canceled"
    page = person.client.get(URL).text
    assert "Ends Feb 1, 2026" in page
    assert "Cancel plan" not in page
    assert [kind for _, kind in paddle.cancellations] == ["next_billing_period"]


@pytest.mark.parametrize(
    ("minor", "currency", "language", "expected"),
    [
        (2900, "USD", "en", "$29.00"),
        (2905, "EUR", "de", "29,05\N{NO-BREAK SPACE}€"),
        (500, "JPY", "en", "¥500"),
        (1, "XXX", "en", "¤0.01"),
    ],
)
def test_money_has_the_form_of_the_language(minor: int, currency: str, language: str, expected: str) -> None:
    assert money(minor, currency, language) == expected


@pytest.mark.parametrize(
    ("frequency", "interval", "language", "expected"),
    [
        (1, "month", "en", "1 month"),
        (12, "month", "en", "12 months"),
        (2, "week", "es", "2 semanas"),
        (3, "year", "de", "3 Jahre"),
        (1, "month", "it", "1 mese"),
        (3, "month", "ar", "3 أشهر"),
    ],
)
def test_period_has_the_form_of_the_language(
    frequency: int, interval: Literal["week", "month", "year"], language: str, expected: str
) -> None:
    assert period(frequency, interval, language) == expected
