"""Application with Paddle's double. Modules that import the fixtures use it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from config import Settings
from tests.support.applications import application
from tests.support.doubles.paddle import KEY, Paddle
from tests.support.doubles.paddle_data import Entity, signature
from tests.support.world import Answer, World

SECRETS = ("whsec-new-of-the-tests", "whsec-old-of-the-tests")
TOKEN = "test_token_of_the_browser"


@pytest.fixture(scope="session")
def paddle() -> Iterator[Paddle]:
    """Run Paddle for the whole session. Tests separate their subscriptions by id."""
    double = Paddle()
    yield double
    double.close()


@pytest.fixture(autouse=True)
def faultless(paddle: Paddle) -> Iterator[None]:
    """Remove the faults of a test at its end."""
    yield
    paddle.faults.clear()


@pytest.fixture(scope="session")
def settings(store: str, paddle: Paddle, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return paying(store, tmp_path_factory.mktemp("paying"), paddle.url)


def paying(store: str, home: Path, api_url: str) -> Settings:
    """Return the settings of an application with payments."""
    return Settings.for_tests(
        home,
        DATABASE_URL=store,
        MAIL_DRIVER="file",
        MAIL_DIR=home / "mail",
        RATE_LIMIT_SCALE=100_000,
        BILLING_DRIVER="paddle",
        PADDLE_API_KEY=KEY,
        PADDLE_API_URL=api_url,
        PADDLE_WEBHOOK_SECRET=",".join(SECRETS),
        PADDLE_CLIENT_TOKEN=TOKEN,
        PLAN_LIMITS="Patron: organizations=11, projects=101, projects_per_organization=26, members=51",
    )


@pytest.fixture(scope="session")
def app(settings: Settings) -> Iterator[Flask]:
    with application(settings) as flask_app:
        yield flask_app


def notify(world: World, payload: Entity, *, secret: str = SECRETS[0], at: datetime | None = None) -> Answer:
    """Send an event as Paddle does."""
    body = json.dumps(payload).encode()
    return send(world, body, signature(body, secret, at or datetime.now(UTC)))


def send(world: World, body: bytes, header: str | None, **kwargs: Any) -> Answer:
    """Send arbitrary bytes."""
    headers = {"Paddle-Signature": header} if header is not None else {}
    return world.anonymous().post(
        "/api/webhooks/billing", data=body, headers=headers, content_type="application/json", **kwargs
    )
