"""Fixtures for the AI tests: the application with a scripted model and the operator's key."""

import dataclasses
from collections.abc import Iterator

import pytest
from flask import Flask

from app.drivers.ai.anthropic import Anthropic
from app.drivers.ai.openai_compatible import OpenAiCompatible
from app.drivers.ai.port import ModelRegistry
from app.drivers.http.client import HttpClient
from config import Settings
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.doubles.ai import AiDouble
from tests.support.world import Person, World

OPERATOR_KEY = "operator-secret-key"


@pytest.fixture
def double(app: Flask) -> Iterator[AiDouble]:
    """A double of every provider in both wire formats. The operator's model uses OpenAI's format."""
    with AiDouble() as made:
        http = HttpClient()
        openai = OpenAiCompatible(made.url, http=http)
        models = ModelRegistry(
            dict.fromkeys(("openai", "gemini", "xai"), openai) | {"anthropic": Anthropic(made.root, http=http)}
        )
        settings: Settings = app.config["SETTINGS"]
        upstream = dataclasses.replace(settings.ai.openai, api_key=OPERATOR_KEY, base_url=made.url)
        ai = dataclasses.replace(settings.ai, provider="openai", model="house-model", openai=upstream)
        app.config["SETTINGS"] = dataclasses.replace(settings, ai=ai)
        before, app.extensions["drivers"] = (
            app.extensions["drivers"],
            dataclasses.replace(app.extensions["drivers"], ai=models),
        )
        yield made
        app.extensions["drivers"] = before
        app.config["SETTINGS"] = settings
        http.close()


@pytest.fixture
def limits(app: Flask, double: AiDouble) -> "Limits":
    """A function object that changes the limits of AI calls."""
    return Limits(app)


class Limits:
    """AI limits of the running application. The fixture `double` restores them."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def set(self, **numbers: float) -> None:
        settings: Settings = self._app.config["SETTINGS"]
        ai = dataclasses.replace(settings.limits.ai, **numbers)  # type: ignore[arg-type]
        self._app.config["SETTINGS"] = dataclasses.replace(settings, limits=dataclasses.replace(settings.limits, ai=ai))


@pytest.fixture
def me(world: World, double: AiDouble) -> Person:
    """A verified person with the double in place."""
    return world.person()


@pytest.fixture
def site(world: World, double: AiDouble) -> Site:
    """A project of one person, indexed."""
    return make_site(world, FILES)
