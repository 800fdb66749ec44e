"""Application for fuzzing: the one of the contract tests, with every optional area enabled."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests.contract.conftest import app
from tests.contract.scene import template
from tests.fuzz.stage import Stage

__all__ = ["app"]


@pytest.fixture
def stage(app: Flask, tmp_path: Path) -> Iterator[Stage]:
    """Create users, projects and repositories that requests may change. Only failing requests are logged."""
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.WARNING)
    yield Stage(app, template(tmp_path / "site.git"))
    logging.getLogger().setLevel(before)
