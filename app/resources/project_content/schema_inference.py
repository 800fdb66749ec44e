"""Inference of collections from the index: the database counts the values, so that no front matter is loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from app.content.field_values import SEPARATOR, ValueKind
from app.content.schema.inferred import (
    IGNORED,
    MAX_OPTIONS,
    MIN_OPTION_FILES,
    FieldCounts,
    FolderFiles,
    collection_from,
    counted,
    folders_of,
)
from app.content.schema.model import Collection
from app.extensions import db
from app.models.content_search import ContentField, ContentText
from app.models.project_content import ContentFile, ContentIndex
from app.resources.project_content.entry_conditions import is_entry
from app.resources.project_content.entry_statements import SYMLINK

MAX_ROWS, MAX_CANDIDATES = 20_000, 200


@dataclass(frozen=True)
class _NumberedFiles:
    """The files of a branch with the number of their collection.

    Values are joined with files by an outer join, because SQLite would scan all values for each file otherwise. A value
    without a file has the number -1.
    """

    number: sa.ColumnElement[int]
    condition: sa.ColumnElement[bool]


def infer(project_id: str, index: ContentIndex) -> tuple[Collection, ...]:
    """Return the collections of a branch with the types of their fields. Folders without front matter are left out."""
    folders = folders_of(db.session.scalars(_paths(project_id, index)))
    if not folders:
        return ()
    files = _NumberedFiles(_number_of(folders), sa.and_(*_in(index)))
    kinds = _kinds(project_id, files)
    options = _options(project_id, files, kinds)
    return tuple(
        collection_from(folder, FieldCounts(kinds[number], options.get(number, {})))
        for number, folder in enumerate(folders)
        if number in kinds
    )


def _paths(project_id: str, index: ContentIndex) -> sa.Select[str]:
    return sa.select(ContentFile.path).where(*_in(index), is_entry(project_id))


def _in(index: ContentIndex) -> tuple[sa.ColumnElement[bool], ...]:
    file = ContentFile
    return file.index_id == index.id, file.generation == index.generation, file.type == "blob", file.mode != SYMLINK


def _number_of(folders: Sequence[FolderFiles]) -> sa.ColumnElement[int]:
    """Return the number of the collection of a file, or -1. The deepest folder decides, as in `folders_of`."""
    path = ContentFile.path
    deepest = sorted(enumerate(folders), key=lambda item: -len(item[1].folder))
    whens = [(sa.and_(path > f"{name}/", path < f"{name}0"), sa.literal(-1)) for name in sorted(IGNORED)]
    for number, folder in deepest:
        name = folder.folder
        within = sa.and_(path > f"{name}/", path < f"{name}0") if name else path.not_like("%/%")
        whens.append((within, sa.literal(number)))
    return sa.case(*whens, else_=-1)


def _kinds(project_id: str, files: _NumberedFiles) -> dict[int, dict[str, dict[ValueKind, int]]]:
    value = ContentField
    statement = (
        sa.select(files.number.label("number_of"), value.name, value.kind, sa.func.count())
        .outerjoin(ContentFile, sa.and_(ContentFile.sha == value.sha, files.condition))
        .where(value.project_id == project_id)
        .group_by("number_of", value.name, value.kind)
        .order_by(sa.func.count().desc(), value.name)
        .limit(MAX_ROWS)
    )
    rows: dict[int, list[tuple[str, str, int]]] = {}
    for number, name, kind, count in db.session.execute(statement):
        if number >= 0:
            rows.setdefault(number, []).append((name, kind, count))
    return {number: counted(listed) for number, listed in rows.items()}


def _options(
    project_id: str, files: _NumberedFiles, kinds: Mapping[int, Mapping[str, Mapping[ValueKind, int]]]
) -> dict[int, dict[str, list[str]]]:
    """Return the values of texts with few different values. Two spellings of a value are two options."""
    names = {name for counts in kinds.values() for name, own in counts.items() if _may_have_options(name, own)}
    value = ContentField
    few = (
        sa.select(files.number.label("number_of"), value.name)
        .outerjoin(ContentFile, sa.and_(ContentFile.sha == value.sha, files.condition))
        .where(value.project_id == project_id)
        .where(value.number == 0, value.name.in_(sorted(names)[:MAX_CANDIDATES]))
        .group_by("number_of", value.name)
        .having(sa.func.count(value.key.distinct()) <= MAX_OPTIONS)
    )
    options: dict[int, dict[str, list[str]]] = {}
    for number, name in db.session.execute(few).all() if names else ():
        if number >= 0 and _may_have_options(name, kinds[number].get(name, {})):
            spellings = _spellings(project_id, files, number, name)
            if 0 < len(spellings) <= MAX_OPTIONS:
                options.setdefault(number, {})[name] = spellings
    return options


def _may_have_options(name: str, kinds: Mapping[ValueKind, int]) -> bool:
    is_plain = SEPARATOR not in name and not set('"\\') & set(name)
    return is_plain and set(kinds) == {ValueKind.STRING} and kinds[ValueKind.STRING] >= MIN_OPTION_FILES


def _spellings(project_id: str, files: _NumberedFiles, number: int, name: str) -> list[str]:
    text = ContentText
    value = text.front_matter[name].as_string()
    statement = (
        sa.select(value)
        .join(ContentFile, ContentFile.sha == text.sha)
        .where(text.project_id == project_id, files.condition, files.number == number, value.is_not(None))
        .distinct()
        .limit(MAX_OPTIONS + 1)
    )
    return sorted(db.session.scalars(statement))
