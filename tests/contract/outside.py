"""External services of the contract tests on loopback: a model provider, a payment service and Git hosts."""

import tempfile
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from config import Settings
from tests.support.applications import settings_for
from tests.support.doubles.ai import AiDouble
from tests.support.doubles.paddle import KEY, Paddle
from tests.support.doubles.paddle_data import event, subscription
from tests.support.git_hosts import Hosts, OnGitHub
from tests.support.payments import SECRETS, TOKEN, notify
from tests.support.world import Person, World


class Outside:
    """The running doubles. They stop at the end of the block."""

    def __init__(self) -> None:
        self.models, self.paddle = AiDouble(), Paddle()
        self._folder = tempfile.TemporaryDirectory()
        self.hosts = Hosts(Path(self._folder.name))

    def __enter__(self) -> "Outside":
        return self

    def __exit__(self, *_: object) -> None:
        self.models.close()
        self.paddle.close()
        self.hosts.close()
        self._folder.cleanup()

    @cached_property
    def on_github(self) -> OnGitHub:
        """Create a repository with the installed GitHub App."""
        return self.hosts.on_github("somebody")

    def subscribed(self, person: Person) -> str:
        """Create a subscription of the user and return its id at the payment service."""
        data = subscription(user_id=person.id)
        self.paddle.add(data)
        notify(World(person.app), event("subscription.created", data, datetime.now(UTC))).ok()
        return str(data["id"])

    def settings(self, store: str, home: Path, **more: object) -> Settings:
        """Return settings that enable every endpoint, with the variables in `more`."""
        return settings_for(
            home,
            store,
            **more,
            SOCIAL_A_CLIENT_ID="client-a",
            SOCIAL_A_CLIENT_SECRET="word-of-client-a",
            SOCIAL_B_CLIENT_ID="client-b",
            SOCIAL_B_CLIENT_SECRET="word-of-client-b",
            AI_PROVIDER="openai",
            AI_MODEL="model",
            OPENAI_API_KEY="key-of-the-operator",
            OPENAI_BASE_URL=self.models.url,
            BILLING_DRIVER="paddle",
            PADDLE_API_KEY=KEY,
            PADDLE_API_URL=self.paddle.url,
            PADDLE_WEBHOOK_SECRET=",".join(SECRETS),
            PADDLE_CLIENT_TOKEN=TOKEN,
            **self.hosts.environment(),
        )
