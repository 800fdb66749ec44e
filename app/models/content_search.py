"""What search knows of blobs: their words and their links; kept by content, so that every branch shares it."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import ID_LENGTH, SHA_LENGTH, Base

FTS_TABLE = "content_words"
"""SQLite's full-text table over `ContentText.words`, kept by triggers; PostgreSQL has an index instead."""

WORDS_INDEX = "ix_content_texts_words"


def is_of_search(kind: str, name: str) -> bool:
    """Whether a table or index belongs to a store's full-text search, which the models cannot declare."""
    return (kind == "table" and name.startswith(FTS_TABLE)) or (kind == "index" and name == WORDS_INDEX)


def _of_project() -> Mapped[str]:
    return mapped_column(sa.String(ID_LENGTH), sa.ForeignKey("projects.id", ondelete="CASCADE"))


class ContentText(Base):
    """A blob's text. `words` is what is searched, `body` the beginning of the text, for snippets."""

    __tablename__ = "content_texts"
    __table_args__ = (sa.UniqueConstraint("project_id", "sha"),)

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True)
    project_id: Mapped[str] = _of_project()
    sha: Mapped[str] = mapped_column(sa.String(SHA_LENGTH))
    title: Mapped[str | None]
    body: Mapped[str]
    words: Mapped[str] = mapped_column(sa.Text().with_variant(TSVECTOR(), "postgresql"))


class ContentLink(Base):
    """A link as it stands in a blob; `key` is the folded name that its target ends with."""

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
