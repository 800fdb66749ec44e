"""The application of the contract tests: every optional area switched on."""

from pathlib import Path

import pytest

from config import Settings


@pytest.fixture(scope="session")
def settings(store: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings under which every endpoint can answer what the contract says."""
    return contract_settings(store, tmp_path_factory.mktemp("instance"))


def contract_settings(store: str, home: Path) -> Settings:
    """The same for a folder of one's choice."""
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
