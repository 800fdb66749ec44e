"""Marks: numbers in invisible characters that name the source of each text of a built site.

They stand in the copy of a site that is built for a preview, never in a repository.
"""

from app.content.marks.characters import MAX_NUMBER, START, MarkMatch, encode, find_marks, strip_marks
from app.content.marks.marked_file import mark_again, mark_file
from app.content.marks.positions import MarkedFile, Position
from app.content.marks.rules import MarkRules
from app.content.marks.site_values import mark_rules

__all__ = [
    "MAX_NUMBER",
    "START",
    "MarkMatch",
    "MarkRules",
    "MarkedFile",
    "Position",
    "encode",
    "find_marks",
    "mark_again",
    "mark_file",
    "mark_rules",
    "strip_marks",
]
