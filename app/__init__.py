"""The composition root: `create_app`, read top to bottom.

What it composes is imported where it is called: to import a part of `app` is not to import all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson
from flask import Flask
from flask.json.provider import JSONProvider
from flask_compress import Compress

if TYPE_CHECKING:
    from config import Settings


class OrjsonProvider(JSONProvider):
    """Flask's JSON by orjson."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        """Serialise to text."""
        return orjson.dumps(obj, option=orjson.OPT_NON_STR_KEYS).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        """Parse."""
        return orjson.loads(s)


class Service(Flask):
    """Flask, save that it does not ask of every view and hook whether it is a coroutine: none is."""

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Take the function as it is."""
        return func


def create_app(settings: Settings | None = None, drivers: Mapping[str, object] | None = None) -> Flask:
    """Build the application.

    Without settings the environment's are read; `drivers` replaces single kinds by name (tests).

    Raises:
        ConfigError: the environment does not fit; the message names every fault.
    """
    from app import cli, surfaces
    from app.core import logging
    from app.http import error_handlers, openapi, preview_proxy
    from app.resources import subscriptions
    from config import Settings

    settings = settings or Settings.from_environment()
    logging.configure(settings.log.format, settings.log.level)
    app = _flask(settings)
    _connect_stores(app, settings)
    _connect_drivers(app, settings, drivers or {})
    _hook_requests(app, settings)
    error_handlers.init_app(app)
    surfaces.register(app)
    openapi.init_app(app)
    subscriptions.connect()
    preview_proxy.init_app(app)
    cli.register(app)
    return app


def _flask(settings: Settings) -> Flask:
    from app.core import database

    app = Service(__name__, static_folder=None)
    app.json = OrjsonProvider(app)
    # A path is what it is: a redirect would name the Host of the request, which may be anybody's.
    app.url_map.strict_slashes = app.url_map.merge_slashes = False
    app.config.update(
        SETTINGS=settings,
        SECRET_KEY=settings.security.secret_key,
        SQLALCHEMY_DATABASE_URI=settings.database.url,
        SQLALCHEMY_ENGINE_OPTIONS=database.engine_options(settings.database.url, **_pool(settings)),
        COMPRESS_MIN_SIZE=1024,
        COMPRESS_STREAMS=False,
        COMPRESS_ALGORITHM=["gzip", "br", "zstd"],
        COMPRESS_EVALUATE_CONDITIONAL_REQUEST=False,
    )
    return app


def _pool(settings: Settings) -> dict[str, int]:
    """How many connections a pool keeps, and takes at most; a test run holds many applications at once."""
    return {"kept": 2 if settings.env == "test" else 10, "most": settings.database.pool}


def _connect_stores(app: Flask, settings: Settings) -> None:
    from app.core import database
    from app.core.rates import RateCounter
    from app.extensions import db, limiter, migrate

    db.init_app(app)
    migrate.init_app(app, db)
    with app.app_context():
        database.prepare_engine(db.engine)
        reading = database.reading_engine(settings.database.url, db.engine, **_pool(settings))
        app.extensions["reading_engine"] = reading
    redis, server = settings.redis_url, settings.server
    counter = RateCounter(redis_url=redis, workers=server.web_concurrency, scale=server.rate_limit_scale)
    limiter.init_app(app, counter)


def _connect_drivers(app: Flask, settings: Settings, replaced: Mapping[str, object]) -> None:
    from app.drivers import registry
    from app.extensions import db, drivers, jobs

    with app.app_context():
        built = {**registry.build(settings, db.engine), **replaced}
    drivers.init_app(app, built)
    jobs.init_app(app, built["jobs"])


def _hook_requests(app: Flask, settings: Settings) -> None:
    """What runs before and after every request; Flask runs what comes after in reverse order of registration."""
    from app.http import caching, headers, login, metrics, tracing

    headers.init_app(app, settings.server.allowed_origins)
    tracing.init_app(app)
    login.init_app(app)
    metrics.init_app(app)
    caching.init_app(app)
    Compress(app)
    caching.init_after_compression(app)
