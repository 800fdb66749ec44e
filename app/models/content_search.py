"""Tables of the full-text search and of fields: texts, links, front matter and sets of fields of blobs.

All branches share the rows of a blob.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, SHA_LENGTH, Base
from app.models.project_content import EXPRESSION_INDEXES, PathText

FTS_TABLE = "content_words"
"""The full-text table of SQLite over `ContentText.words`, maintained by triggers. PostgreSQL has an index instead."""

TEXT_INDEX = "ix_content_texts_words"


def is_search_table(kind: str, name: str) -> bool:
    """Return whether a table or index belongs to the full-text search of a database, or is an index of an expression.

    The models cannot declare these.
    """
    return (kind == "table" and name.startswith(FTS_TABLE)) or (
        kind == "index" and name in (TEXT_INDEX, *EXPRESSION_INDEXES)
    )


class ContentText(Base):
    """The text of a blob. `words` is the searched text, `body` the beginning of the text, for snippets.

    `front_matter` contains the values of the front matter, JSON null if the file has none. It is SQL NULL if a version
    without this column has read the blob. `version` is that of the reader (`search_indexing.READER_VERSION`).
    """

    __tablename__ = "content_texts"
    __table_args__ = (sa.UniqueConstraint("project_id", "sha"),)

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True)
    project_id: Mapped[str] = mapped_column(sa.String(ID_LENGTH), sa.ForeignKey("projects.id", ondelete="CASCADE"))
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    title: Mapped[str | None]
    body: Mapped[str]
    words: Mapped[str] = mapped_column(sa.Text().with_variant(TSVECTOR(), "postgresql"))
    front_matter: Mapped[dict[str, Any] | None]
    version: Mapped[int] = mapped_column(sa.SmallInteger(), server_default="0")


class ContentLink(Base):
    """A link in a blob as written. `key` is the folded name at the end of its target."""

    __tablename__ = "content_links"
    __table_args__ = (sa.Index("ix_content_links_project_id_key", "project_id", "key"),)

    project_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    key: Mapped[str]
    url: Mapped[str]
    kind: Mapped[str] = mapped_column(sa.String(12))


class ContentField(Base):
    """A value of the front matter of a blob, in the form of `app.content.field_values`.

    `number` is 0, or the position of an item of a list. The primary key is the order of sorted entries. The index is
    for checks whether a file matches a filter.
    """

    __tablename__ = "content_fields"
    __table_args__ = (
        sa.Index("ix_content_fields_sha", "project_id", "sha", "name"),
        {"sqlite_with_rowid": False},
    )

    project_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(PathText, primary_key=True)
    key: Mapped[str] = mapped_column(PathText, primary_key=True)
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(sa.String(1))


class ContentShape(Base):
    """The set of fields of a blob that is an entry, as a digest of the names of its values with the number 0.

    Few sets exist, so entries without a field are selected by the sets without it.
    """

    __tablename__ = "content_shapes"
    __table_args__ = (
        sa.Index("ix_content_shapes_shape", "project_id", "shape", "sha"),
        {"sqlite_with_rowid": False},
    )

    project_id: Mapped[str] = mapped_column(
        sa.String(ID_LENGTH), sa.ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True
    )
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH), primary_key=True)
    shape: Mapped[str] = mapped_column(sa.String(16))
