"""The outer world of the contract tests: a model, a payment service and Git hosts on loopback."""

import tempfile
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from config import Settings
from tests.doubles.ai import AiDouble
from tests.doubles.paddle import KEY, Paddle
from tests.doubles.paddle_data import event, subscription
from tests.git_hosts import Hosts, OnGitHub
from tests.payments import SECRETS, TOKEN, notify
from tests.world import Person, World


class Outside:
    """Doubles that answer well; closed at the end."""

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
        """A repository that has our app."""
        return self.hosts.on_github("somebody")

    def subscribed(self, person: Person) -> str:
        """A fresh subscription of that person: the payment service's id of it."""
        data = subscription(user_id=person.id)
        self.paddle.keep(data)
        notify(World(person.app), event("subscription.created", data, datetime.now(UTC))).ok()
        return str(data["id"])

    def settings(self, store: str, home: Path, **more: object) -> Settings:
        """Settings under which every endpoint can answer what the contract says, and `more` variables."""
        return Settings.for_tests(
            home,
            **more,
            DATABASE_URL=store,
            MAIL_DRIVER="file",
            MAIL_DIR=home / "mail",
            RATE_LIMIT_SCALE=100_000,
            GIT_BOT_NAME="Galley Bot",
            GIT_BOT_EMAIL="bot@galley.example.org",
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
