"""Positions of marks in a file, and the file with its marks."""

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Position(NamedTuple):
    """The text that a mark names.

    Attributes:
        pointer: the JSON pointer of a value of the front matter or of a data file, else None.
        block: the index of the block in the formatted editor of the console, else None. Texts of HTML have neither.
        lines: the first and the last line of the value or the block in the file, from 1.
        kind: a text of the body, a value, or the alternative text of an image in the body.
    """

    pointer: str | None
    block: int | None
    lines: tuple[int, int]
    kind: Literal["text", "value", "alt"]


class MarkInsertion(NamedTuple):
    """A position in the text of a file, and what the mark there names."""

    offset: int
    position: Position


@dataclass(frozen=True)
class MarkedFile:
    """A file with marks. The number of the mark of `positions[i]` is the first number and i.

    `offsets` are the characters before each mark in the text without marks.
    """

    data: bytes
    positions: tuple[Position, ...]
    offsets: tuple[int, ...]
