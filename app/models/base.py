"""What all tables share: the metadata, UTC times, prefixed ids and the two time columns."""

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
    """An aware UTC time, whole milliseconds, on stores with and without time zones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Store UTC; SQLite keeps it naive."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Read back as aware UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """The base of every table; constraint names are fixed so that migrations can name them."""

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
        list[Any]: sa.JSON(),
        str: sa.Text(),
    }


def moment() -> datetime:
    """Now, cut to the milliseconds that answers show."""
    now = clock.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def id_column(prefix: str) -> Mapped[str]:
    """A primary key holding a TypeID of that prefix."""
    return mapped_column(sa.String(ID_LENGTH), primary_key=True, default=lambda: new_id(prefix))


def reference(target: str, *, ondelete: str = "CASCADE", index: bool = True) -> Any:
    """A foreign key column to `table.column`."""
    return mapped_column(sa.String(ID_LENGTH), sa.ForeignKey(target, ondelete=ondelete), index=index)


def word_column(words: type[StrEnum], name: str, **kwargs: Any) -> Any:
    """A column holding one of a closed set of words, checked by the database."""
    return mapped_column(
        sa.Enum(
            words,
            name=name,
            native_enum=False,
            create_constraint=True,
            length=32,
            values_callable=lambda enum: [word.value for word in enum],
        ),
        **kwargs,
    )


class Timestamps:
    """When a row was made and last changed."""

    created_at: Mapped[datetime] = mapped_column(default=moment)
    updated_at: Mapped[datetime] = mapped_column(default=moment, onupdate=moment)
