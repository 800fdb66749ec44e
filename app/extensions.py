"""The Flask extensions. `create_app` binds them to an application."""

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import sqlalchemy as sa
from flask import Flask, current_app
from flask_login import LoginManager
from flask_migrate import Migrate
from werkzeug.local import LocalProxy

from app.core.jobs import JobCall, registry
from app.core.rates import Rate
from app.database.engines import SideConnections
from app.database.transactions import db, reading_context
from app.observability import correlation
from app.rate_limiting.counter import RateCounter
from app.security.secrets import Keyring
from config import Settings

if TYPE_CHECKING:
    from app.drivers.registry import Drivers

__all__ = [
    "current_keyring",
    "current_settings",
    "current_side",
    "db",
    "drivers",
    "jobs",
    "keyring",
    "limiter",
    "login_manager",
    "migrate",
    "side",
    "start_background",
]

migrate = Migrate()
login_manager = LoginManager()  # type: ignore[no-untyped-call]
T = TypeVar("T")


def current_settings() -> Settings:
    """Return the settings of the running application."""
    settings: Settings = current_app.config["SETTINGS"]
    return settings


def start_background(name: str, function: Callable[[], None]) -> None:
    """Run a function in a daemon thread with an application context, in READING.

    The thread is a greenlet if the library is patched.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]

    def run() -> None:
        with reading_context(app):
            function()

    threading.Thread(target=run, name=name, daemon=True).start()


class _Engine(Protocol):
    """The part of `app.drivers.jobs.port.JobEngine` that a request needs."""

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None: ...


class Jobs:
    """The job queue. Job calls are part of the running transaction."""

    def init_app(self, app: Flask, engine: _Engine) -> None:
        """Bind the engine that stores the calls."""
        app.extensions["jobs"] = engine

    def enqueue(
        self,
        name: str,
        /,
        *,
        delay: timedelta = timedelta(0),
        unique: str | None = None,
        lock: str | None = None,
        priority: int | None = None,
        **args: object,
    ) -> str | None:
        """Enqueue a call of the job `name`. Return its id, or None if a call with the same `unique` key waits.

        Raises:
            KeyError: no job of that name is declared.
        """
        declared = registry[name]
        call_priority = declared.priority if priority is None else priority
        call = JobCall(name, args, delay, unique, lock, call_priority, correlation.inject_context())
        engine: _Engine = current_app.extensions["jobs"]
        return engine.defer(db.session.connection(), call)


jobs = Jobs()


def current_drivers() -> "Drivers":
    """Return the drivers of the running application. The object may be passed to any thread."""
    drivers: Drivers = current_app.extensions["drivers"]
    return drivers


drivers = cast("Drivers", LocalProxy(current_drivers))
"""The drivers of the running application."""


def context_runner() -> Callable[[Callable[[], T]], T]:
    """Return a function that runs another one in a new application context, in READING.

    It can be called in any thread and after the end of the request.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]

    def run(function: Callable[[], T]) -> T:
        with reading_context(app):
            return function()

    return run


class Limiter:
    """The rate counter of the running application."""

    def init_app(self, app: Flask, counter: RateCounter) -> None:
        app.extensions["rates"] = counter

    def try_acquire(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """Count an event and return 0. If a rate is exceeded, count nothing and return the seconds to wait."""
        return self._counter.try_acquire(rates, name, key)

    def wait_s(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """Return the seconds until the next event is permitted, or 0."""
        return self._counter.wait_s(rates, name, key)

    def reset(self, rates: Sequence[Rate], name: str, key: str) -> None:
        self._counter.reset(rates, name, key)

    def ping(self) -> bool | None:
        """Return whether the shared counter is available, or None if each process counts for itself."""
        return self._counter.ping()

    @property
    def _counter(self) -> RateCounter:
        counter: RateCounter = current_app.extensions["rates"]
        return counter


limiter = Limiter()


def current_side() -> SideConnections:
    """Return the side connections of the running application. The object may be passed to any thread."""
    connections: SideConnections = current_app.extensions["side"]
    return connections


def current_keyring() -> Keyring:
    """Return the keyring of the running application. The object may be passed to any thread."""
    ring: Keyring = current_app.extensions["keyring"]
    return ring


side = cast(SideConnections, LocalProxy(current_side))
"""The connections that are independent of the database session."""

keyring = cast(Keyring, LocalProxy(current_keyring))
"""The keys that encrypt and decrypt stored secrets."""
