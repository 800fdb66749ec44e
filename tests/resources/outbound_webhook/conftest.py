"""An application that may send webhooks to loopback, a receiver, and webhooks of a workspace."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from config import Settings
from tests.resources.outbound_webhook.hooks import Hook, Networks
from tests.support.applications import application, settings_for
from tests.support.doubles.webhook_receiver import WebhookReceiver
from tests.support.workspace import Workspace, make_workspace
from tests.support.world import World


@pytest.fixture(scope="session")
def settings(store: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_for(tmp_path_factory.mktemp("webhooks"), store, WEBHOOK_ALLOWED_NETWORKS=Networks.PERMITTED)


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
def space(world: World) -> Workspace:
    return make_workspace(world)


@pytest.fixture
def hook(space: Workspace, receiver: WebhookReceiver) -> Callable[..., Hook]:
    """A function that creates a webhook of the workspace, by default for commits of all its projects."""

    def make(name: str = "one", **body: Any) -> Hook:
        return Hook.create(space.me, space.org, receiver, name, **body)

    return make
