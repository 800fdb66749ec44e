"""SQL conditions that a path or a name contains a text, regardless of case, and literals in statements."""

import sqlalchemy as sa

from app.content.words import fold
from app.models.project_content import ContentFile

ESCAPE = "\\"


def path_contains(term: str) -> sa.ColumnElement[bool]:
    """Return the condition that the path contains a text. Accents of paths that are not ASCII are ignored."""
    path, folded = sa.func.lower(ContentFile.path), ContentFile.folded
    return sa.or_(contains(path, term.casefold()), contains(folded, fold(term)))


def name_contains(term: str, *, folder: str | None) -> sa.ColumnElement[bool]:
    """Return the condition that the last segment of the path contains a text.

    `folder` is the folder of all files with its last slash, or None if they are in several folders.
    """
    path, folded, part = sa.func.lower(ContentFile.path), ContentFile.folded, term.casefold()
    if folder is None:
        # Most paths do not contain the text. Their names are not extracted.
        name = sa.and_(contains(path, part), contains(name_of(path), part))
    else:
        name = contains(sa.func.substr(path, sa.literal_column(str(len(folder) + 1), sa.Integer())), part)
    return sa.or_(name, sa.and_(folded.is_not(None), contains(name_of(folded), fold(term))))


def contains(column: sa.SQLColumnExpression[str | None], part: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column contains a text."""
    return column.like(f"%{escaped(part)}%", escape=ESCAPE)


def name_of(path: object) -> sa.ColumnElement[str]:
    """Return the last segment of a path."""
    return sa.func.replace(path, sa.func.rtrim(path, sa.func.replace(path, "/", "")), "")


def escaped(part: str) -> str:
    """Return a text as a part of a pattern."""
    for character in (ESCAPE, "%", "_"):
        part = part.replace(character, ESCAPE + character)
    return part


def literal_number(number: int) -> sa.ColumnElement[int]:
    """Return a number that is part of the text of a statement, not a parameter."""
    return sa.literal_column(str(number), sa.Integer())
