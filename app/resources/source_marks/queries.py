"""The source marks that editable previews gave out: their positions, and texts without them."""

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import TypeVar, cast

import orjson
import sqlalchemy as sa

from app.content.marks import START, Position, find_marks, strip_marks
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.content_search import ContentText
from app.models.sandbox import MarkRange, Sandbox

T = TypeVar("T")
_START = START.encode()
RETENTION = timedelta(days=1)
"""The time after the end of a preview in which its marks are removed from texts."""


@dataclass(frozen=True)
class MarkSource:
    """The position that a number names, and the version of its file: a Git blob id with a number of `marks`."""

    number: int
    path: str
    blob_sha: str
    position: Position
    entry_title: str | None
    marks: int = 0


def packed(positions: Sequence[Position], offsets: Sequence[int]) -> bytes:
    """Return positions and their offsets as the compressed JSON of a row."""
    rows = [[p.pointer, p.block, *p.lines, p.kind, offset] for p, offset in zip(positions, offsets, strict=True)]
    return zlib.compress(orjson.dumps(rows))


def unpacked(row: MarkRange) -> list[Position]:
    """Return the positions of a row."""
    rows = orjson.loads(zlib.decompress(row.positions))
    return [Position(pointer, block, (first, last), kind) for pointer, block, first, last, kind, _ in rows]


def offsets_of(positions: bytes) -> list[int]:
    """Return the offsets of the marks of a row."""
    return [offset for *_, offset in orjson.loads(zlib.decompress(positions))]


def find_positions(project_id: str, numbers: Iterable[int]) -> dict[int, MarkSource]:
    """Return the positions of the numbers that previews of the project gave out in the last day."""
    ranges = list(_ranges_with(project_id, sorted(set(numbers))))
    rows = _rows([key for key, _ in ranges])
    titles = _titles(project_id, {row.blob_sha for row in rows.values()})
    result = dict[int, MarkSource]()
    for key, of_range in ranges:
        row = rows[key]
        positions, title = unpacked(row), titles.get(row.blob_sha)
        for number in of_range:
            position = positions[number - row.first_number]
            result[number] = MarkSource(number, row.path, row.blob_sha, position, title, len(positions))
    return result


def sources(project_id: str, numbers: Sequence[int]) -> list[dict[str, object]]:
    """Return the source of each number as a dictionary. A number that was not given out has the status 404."""
    known = find_positions(project_id, numbers)
    return [
        _source(known[number]) if number in known else {"number": number, "status": HTTPStatus.NOT_FOUND.value}
        for number in numbers
    ]


def _source(source: MarkSource) -> dict[str, object]:
    position = source.position
    block = {"index": position.block, "lines": list(position.lines)}
    return {
        "number": source.number,
        "status": HTTPStatus.OK.value,
        "path": source.path,
        "blob_sha": source.blob_sha,
        "pointer": position.pointer,
        "block": None if position.block is None else block,
        "entry_title": source.entry_title,
        "kind": position.kind,
    }


def _titles(project_id: str, shas: Collection[str]) -> dict[str, str]:
    statement = sa.select(ContentText.sha, ContentText.title).where(ContentText.title.is_not(None))
    rows = db.session.execute(statement.where(ContentText.project_id == project_id, ContentText.sha.in_(shas)))
    return {row.sha: row.title for row in rows if row.title}


def without_marks(project_id: str, text: str) -> str:
    """Return a text without the marks that previews of the project gave out in the last day, else the same object."""
    numbers = sorted({mark.number for mark in find_marks(text)})
    known = {number for _, of_range in _ranges_with(project_id, numbers) for number in of_range}
    return strip_marks(text, known.__contains__) if known else text


def data_without_marks(project_id: str, data: bytes) -> bytes:
    """Return the content of a file without such marks. Other files than UTF-8 text have none."""
    if _START not in data:
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return without_marks(project_id, text).encode()


def values_without_marks(project_id: str, value: T) -> T:
    """Return a JSON value whose texts have no such marks."""
    result: object = value
    if isinstance(value, str):
        result = without_marks(project_id, value)
    elif isinstance(value, list):
        result = [values_without_marks(project_id, item) for item in value]
    elif isinstance(value, dict):
        result = {key: values_without_marks(project_id, item) for key, item in value.items()}
    return cast(T, result)


def _ranges_with(project_id: str, numbers: Sequence[int]) -> Iterator[tuple[tuple[str, int], list[int]]]:
    """Yield the keys of the rows that contain some of the sorted numbers, with these. A later preview is later."""
    if not numbers:
        return
    file = MarkRange
    is_recent = sa.or_(Sandbox.ended_at.is_(None), Sandbox.ended_at > utcnow_ms() - RETENTION)
    statement = (
        sa.select(file.sandbox_id, file.first_number, file.last_number)
        .join(Sandbox)
        .where(Sandbox.project_id == project_id, is_recent)
        .where(file.first_number <= numbers[-1], file.last_number >= numbers[0])
        .order_by(Sandbox.created_at, file.first_number)
    )
    for sandbox_id, first, last in db.session.execute(statement):
        of_range = list(numbers[bisect_left(numbers, first) : bisect_right(numbers, last)])
        if of_range:
            yield (sandbox_id, first), of_range


def _rows(keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], MarkRange]:
    key = sa.tuple_(MarkRange.sandbox_id, MarkRange.first_number)
    rows = db.session.scalars(sa.select(MarkRange).where(key.in_(keys)))
    return {(row.sandbox_id, row.first_number): row for row in rows}
