"""Marks as visible characters, for tests of marked files."""

import re

from app.content.marks import MarkedFile, MarkRules, find_marks, mark_file

MARK = re.compile("\u2063\u2060\u2063[\u2060-\u2063]{13}")


class Marker:
    """A marker of files that writes `◆` for each mark."""

    def __init__(self) -> None:
        self.rules = MarkRules()

    def file(self, path: str, text: str | bytes) -> MarkedFile:
        """Return a marked file. The text of the marks is that of their numbers."""
        data = text if isinstance(text, bytes) else text.encode()
        marked = mark_file(path, data, 100, self.rules)
        if marked is None:
            return MarkedFile(data, (), ())
        numbers = [mark.number for mark in find_marks(marked.data.decode())]
        assert numbers == list(range(100, 100 + len(marked.positions)))
        assert MARK.sub("", marked.data.decode()).encode() == data
        return marked

    def text(self, path: str, text: str) -> str:
        """Return a file with `◆` for each mark."""
        return MARK.sub("◆", self.file(path, text).data.decode())

    def pointers(self, path: str, text: str) -> list[str | None]:
        """Return the pointers of the marks."""
        return [position.pointer for position in self.file(path, text).positions]
