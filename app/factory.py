"""The application factory `create_app`.

Functions import the modules that they need, so that importing a part of `app` does not import all of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson
from flask import Flask
from flask.json.provider import JSONProvider
from flask_compress import Compress

if TYPE_CHECKING:
    from config import Settings


class OrjsonProvider(JSONProvider):
    """The JSON provider of Flask with orjson."""

    def dumps(self, obj: object, **_kwargs: object) -> str:
        """Serialise an object to text."""
        return orjson.dumps(obj, option=orjson.OPT_NON_STR_KEYS).decode()

    def loads(self, s: str | bytes, **_kwargs: object) -> object:
        """Parse a JSON text."""
        return orjson.loads(s)


class Application(Flask):
    """A Flask application without coroutine functions. Flask's check of every view and hook is skipped."""

    def ensure_sync(self, func: Callable[..., object]) -> Callable[..., object]:
        """Return the function unchanged."""
        return func


def create_app(settings: Settings | None = None, drivers: Mapping[str, object] | None = None) -> Flask:
    """Build the application.

    Without settings, read them from the environment. `drivers` replaces fields of `Drivers` (tests).

    Raises:
        ConfigError: a setting is invalid. The message names every invalid setting.
    """
    from app import blueprints, cli
    from app.git_http import middleware as git_http
    from app.http import error_handlers, openapi
    from app.observability import logging
    from app.preview_proxy import middleware as preview_proxy
    from app.resources import event_wiring
    from config import Settings

    settings = settings or Settings.from_environment()
    logging.configure(settings.log.format, settings.log.level, is_final=settings.is_production)
    app = _flask(settings)
    _init_database(app, settings)
    _init_drivers(app, settings, drivers or {})
    _register_request_hooks(app, settings)
    error_handlers.init_app(app)
    blueprints.register(app)
    openapi.init_app(app)
    event_wiring.register_jobs_and_subscribers()
    # The preview proxy is the outer one: a preview host has no other URLs than those of its site.
    git_http.init_app(app)
    preview_proxy.init_app(app)
    cli.register(app)
    return app


def _flask(settings: Settings) -> Flask:
    from app.database import engines

    app = Application(__name__, static_folder=None)
    app.json = OrjsonProvider(app)
    # Paths are matched exactly: a redirect would contain the Host header of the request, which is not trusted.
    app.url_map.strict_slashes = app.url_map.merge_slashes = False
    app.config.update(
        SETTINGS=settings,
        SECRET_KEY=settings.security.secret_key,
        SQLALCHEMY_DATABASE_URI=settings.database.url,
        SQLALCHEMY_ENGINE_OPTIONS=engines.engine_options(settings.database.url, **_pool(settings)),
        COMPRESS_MIN_SIZE=1024,
        COMPRESS_STREAMS=False,
        COMPRESS_ALGORITHM=["gzip", "br", "zstd"],
        COMPRESS_EVALUATE_CONDITIONAL_REQUEST=False,
    )
    return app


def _pool(settings: Settings) -> dict[str, int]:
    """Return the pool sizes of an engine. A test process has many applications at once, so their pools are small."""
    return {"pool_size": 2 if settings.env == "test" else 10, "pool_max": settings.database.pool}


def _init_database(app: Flask, settings: Settings) -> None:
    from sqlalchemy import event

    from app.database import engines, transactions
    from app.database.engines import SideConnections
    from app.extensions import db, limiter, migrate
    from app.rate_limiting.counter import RateCounter
    from app.security.secrets import Keyring

    db.init_app(app)
    transactions.check_outbound_calls()
    migrate.init_app(app, db)
    with app.app_context():
        engines.prepare_engine(db.engine)
        reading = engines.reading_engine(settings.database.url, db.engine, **_pool(settings))
        app.extensions["reading_engine"] = reading
        app.extensions["side"] = side = SideConnections(db.engine.url)
        event.listen(db.engine, "engine_disposed", lambda _engine: side.dispose())
    app.extensions["keyring"] = Keyring(settings.security.encryption_keys)
    redis, server = settings.redis_url, settings.server
    counter = RateCounter(redis_url=redis, workers=server.web_concurrency, scale=server.rate_limit_scale)
    limiter.init_app(app, counter)


def _init_drivers(app: Flask, settings: Settings, replaced: Mapping[str, Any]) -> None:
    from app.drivers import registry
    from app.extensions import db, jobs

    with app.app_context():
        drivers = dataclasses.replace(registry.build_drivers(settings, db.engine), **replaced)
    app.extensions["drivers"] = drivers
    jobs.init_app(app, drivers.jobs)


def _register_request_hooks(app: Flask, settings: Settings) -> None:
    """Register the request hooks. Flask runs `after_request` hooks in reverse order of registration."""
    from app.access import authentication
    from app.http import body_admission, caching, gunicorn_hooks, headers, request_metrics, tracing

    headers.init_app(app, settings.server.allowed_origins)
    tracing.init_app(app)
    authentication.init_app(app)
    request_metrics.init_app(app)
    body_admission.init_app(app, settings.limits.input)
    gunicorn_hooks.init_app(app)
    caching.init_app(app)
    Compress(app)
    headers.init_before_compression(app)
    caching.init_after_compression(app)
