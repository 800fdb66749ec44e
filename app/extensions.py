"""The Flask extensions, unbound; `create_app` binds them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

import sqlalchemy as sa
from flask import Flask, current_app, g
from flask_login import LoginManager
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session

from app.core import causes
from app.core.database import Aside
from app.core.jobs import JobCall, registry
from app.core.limits import Rate
from app.core.rates import RateCounter
from app.core.secrets import Keyring

READING = "galley_reading"
"""The key of a session's `info` that says whether it reads without transactions (`app.transactions` sets it).

As long as an application context has no session, its `g` keeps the word for the one that may be made.
"""


class TwoWaySession(Session):
    """A session that asks the reading engine while it is told to read, and the writing one else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.info[READING] = g.pop(READING, False)

    def get_bind(self, mapper: Any = None, clause: Any = None, bind: Any = None, **kwargs: Any) -> Any:
        """The engine of the next statement.

        Raises:
            RuntimeError: something is flushed while reading, where no transaction would hold it together.
        """
        if bind is None and self.info.get(READING):
            if self._flushing:
                raise RuntimeError("the session was told to read; nothing can be written now")
            return current_app.extensions["reading_engine"]
        return super().get_bind(mapper, clause, bind, **kwargs)


db = SQLAlchemy(disable_autonaming=True, session_options={"class_": TwoWaySession, "expire_on_commit": False})
migrate = Migrate()
login_manager = LoginManager()  # type: ignore[no-untyped-call]


class _Engine(Protocol):
    """The part of `app.drivers.jobs.port.JobEngine` that a request needs."""

    def defer(self, connection: sa.Connection, call: JobCall) -> str | None: ...


class Jobs:
    """Puts job calls into the running transaction: they become visible with its commit and go with its rollback."""

    def init_app(self, app: Flask, engine: _Engine) -> None:
        """Bind the engine that keeps the calls."""
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
        """Ask for a run of the job `name`; returns its id, or None when a call with the same `unique` key waits.

        Raises:
            KeyError: no job of that name is declared.
        """
        declared = registry[name]
        urgency = declared.priority if priority is None else priority
        call = JobCall(name, args, delay, unique, lock, urgency, causes.carried())
        engine: _Engine = current_app.extensions["jobs"]
        return engine.defer(db.session.connection(), call)


jobs = Jobs()


class Drivers:
    """The drivers of the running application by kind (`git`, `mail`, …), for routes and jobs to pass on."""

    def init_app(self, app: Flask, drivers: Mapping[str, object]) -> None:
        """Bind what `app.drivers.registry.build` made."""
        app.extensions["drivers"] = drivers

    def __getitem__(self, kind: str) -> Any:
        drivers: Mapping[str, Any] = current_app.extensions["drivers"]
        return drivers[kind]


drivers = Drivers()


class Limiter:
    """The rate counter of the running application."""

    def init_app(self, app: Flask, counter: RateCounter) -> None:
        """Bind the counter."""
        app.extensions["rates"] = counter

    def spend(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """Count an event where every rate has room for it; otherwise the seconds to wait, and nothing is counted."""
        return self._counter.spend(rates, name, key)

    def wait_s(self, rates: Sequence[Rate], name: str, key: str) -> int:
        """The seconds to wait until there is room for one more; 0 when there is."""
        return self._counter.wait_s(rates, name, key)

    def forgive(self, rates: Sequence[Rate], name: str, key: str) -> None:
        """Forget what was counted."""
        self._counter.forgive(rates, name, key)

    def reach(self) -> bool | None:
        """Whether the shared counter answers; None where every process counts for itself."""
        return self._counter.reach()

    @property
    def _counter(self) -> RateCounter:
        counter: RateCounter = current_app.extensions["rates"]
        return counter


limiter = Limiter()


class Vault:
    """What secrets at rest need, made when first asked for; both may be carried into threads without the application."""

    @property
    def ring(self) -> Keyring:
        """The keys that seal and open secrets."""
        settings = current_app.config["SETTINGS"]
        ring: Keyring = current_app.extensions.setdefault("keyring", Keyring(settings.security.encryption_keys))
        return ring

    @property
    def aside(self) -> Aside:
        """Connections beside the session's."""
        aside: Aside = current_app.extensions.setdefault("aside", Aside(db.engine.url))
        return aside


vault = Vault()
