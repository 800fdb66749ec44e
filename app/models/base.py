"""Common parts of all tables: metadata, UTC times, prefixed ids and timestamp columns."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.core import clock
from app.core.ids import new_id

ID_LENGTH = 40
SHA_LENGTH = 64


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC time in whole milliseconds, for databases with and without time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Convert to UTC, and to a naive time for SQLite."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Convert to an aware UTC time."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """The base class of all tables. Constraint names are fixed so that migrations can refer to them."""

    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 (SQLAlchemy reads it as a class attribute)
        datetime: UtcDateTime(),
        dict[str, Any]: sa.JSON(),
        list[str]: sa.JSON(),
        str: sa.Text(),
    }


Row = sa.Row[*tuple[object, ...]]
"""A row of a statement. Its columns are attributes."""


def utcnow_ms() -> datetime:
    """Return the present time, truncated to the milliseconds that responses show."""
    now = clock.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def id_column(prefix: str) -> Mapped[str]:
    """Return a primary key column with TypeIDs of the prefix."""
    return mapped_column(sa.String(ID_LENGTH), primary_key=True, default=lambda: new_id(prefix))


def foreign_key(target: str, *, ondelete: str = "CASCADE", index: bool = True) -> Any:
    """Return a foreign key column to `table.column`."""
    return mapped_column(sa.String(ID_LENGTH), sa.ForeignKey(target, ondelete=ondelete), index=index)


def enum_column(values: type[StrEnum], name: str, **kwargs: Any) -> Any:
    """Return a column for the values of an enumeration, with a check constraint."""
    return mapped_column(
        sa.Enum(
            values,
            name=name,
            native_enum=False,
            create_constraint=True,
            length=32,
            values_callable=lambda enum: [member.value for member in enum],
        ),
        **kwargs,
    )


class Timestamps:
    """The times at which a row was created and last changed."""

    created_at: Mapped[datetime] = mapped_column(default=utcnow_ms)
    updated_at: Mapped[datetime] = mapped_column(default=utcnow_ms, onupdate=utcnow_ms)
