"""The application of the contract tests: every optional area switched on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from config import Settings
from tests.apps import another_database, application


@pytest.fixture(scope="session")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application under whose settings every endpoint can answer what the contract says."""
    home = tmp_path_factory.mktemp("contract")
    with another_database(store, home) as url, application(contract_settings(url, home)) as made:
        yield made


def contract_settings(store: str, home: Path) -> Settings:
    """Its settings, for a database and a folder."""
    return Settings.for_tests(
        home,
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
    )
