"""The table of imports: repositories that a job clones from a URL and connects as projects."""

import json
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from app.core.errors import ErrorMessage
from app.models.base import Base, Timestamps, enum_column, foreign_key, id_column


class ImportStatus(StrEnum):
    """The status of an import. `connected` and `failed` are final."""

    WAITING = "waiting"
    RUNNING = "running"
    CONNECTED = "connected"
    FAILED = "failed"


class MessageText(sa.types.TypeDecorator[str]):
    """A message: its text, or its template and values as JSON."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Convert a message with values to JSON."""
        if isinstance(value, ErrorMessage) and value.values:
            return json.dumps({"template": value.template, **value.values})
        return value

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Convert JSON to a message."""
        return ErrorMessage(**json.loads(value)) if value and value.startswith('{"template": ') else value


class RepositoryImport(Timestamps, Base):
    """A repository that is cloned from `url` as the local repository `repository`.

    `problem` is the code of the error of a failed import, `problem_text` its message.
    """

    __tablename__ = "repository_imports"

    id: Mapped[str] = id_column("imp")
    organization_id: Mapped[str] = foreign_key("organizations.id")
    user_id: Mapped[str] = foreign_key("users.id")
    project_id: Mapped[str | None] = foreign_key("projects.id", ondelete="SET NULL")
    repository: Mapped[str] = mapped_column(sa.String(255))
    project_name: Mapped[str] = mapped_column(sa.String(100))
    url: Mapped[str]
    status: Mapped[ImportStatus] = enum_column(ImportStatus, "import_status", default=ImportStatus.WAITING)
    received_bytes: Mapped[int] = mapped_column(sa.BigInteger, default=0)
    problem: Mapped[str | None] = mapped_column(sa.String(40))
    problem_text: Mapped[str | None] = mapped_column(MessageText)
