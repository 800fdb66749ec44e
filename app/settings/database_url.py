"""Marshmallow field for database URLs."""

from pathlib import Path
from typing import Any

from marshmallow import ValidationError, fields
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


class DatabaseUrlField(fields.Field[str]):
    """A database URL of SQLite or PostgreSQL. A relative SQLite file starts at `base`."""

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(**options)
        self.base = base

    def _deserialize(self, value: str, *_: Any, **__: Any) -> str:
        try:
            url = make_url(value.strip())
        except (ArgumentError, ValueError) as error:
            raise ValidationError("Must be a database URL.") from error
        if url.drivername not in DRIVERS:
            raise ValidationError("Must start with sqlite:/// or postgresql+psycopg://.")
        url = url.set(drivername=DRIVERS[url.drivername])
        if url.drivername == "sqlite":
            if url.database in (None, "", ":memory:"):
                raise ValidationError("Must name a file, because the server and the worker share the database.")
            url = url.set(database=str(self.base / str(url.database)))
        return url.render_as_string(hide_password=False)
