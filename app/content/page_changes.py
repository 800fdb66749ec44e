"""The difference of two versions of a page as a person sees it: changed fields and paragraphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.content.front_matter.item_diff import changed_values
from app.content.page_text import read_page
from app.content.sequence_diff import RangeChange, find_changes
from app.content.unified_diff import InlineDiff

MAX_PAIRS = 1_000_000
"""Above this number of pairs of paragraphs, all between the first and the last change is one change."""


@dataclass(frozen=True)
class TextChange:
    """Paragraphs that were replaced. `removed` and `added` are the changed characters of the texts."""

    before: str
    after: str
    paragraphs: int
    removed: Sequence[tuple[int, int]]
    added: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class PageChanges:
    """The names of the changed fields at the top of the front matter, and the changes of the text."""

    fields: tuple[str, ...]
    texts: tuple[TextChange, ...]

    @property
    def paragraphs(self) -> int:
        """The number of changed paragraphs."""
        return sum(change.paragraphs for change in self.texts)


def page_changes(path: str, before: bytes, after: bytes) -> PageChanges | None:
    """Return the changes between two versions of a page, or None if one of them is not text."""
    old, new = read_page(path, before), read_page(path, after)
    if old is None or new is None:
        return None
    names = [change.pointer[1:].partition("/")[0] for change in changed_values(old.values, new.values)]
    fields = dict.fromkeys(name.replace("~1", "/").replace("~0", "~") for name in names)
    paragraphs, new_paragraphs = list(_paragraphs(old.body)), list(_paragraphs(new.body))
    inline = InlineDiff()
    changes = find_changes(paragraphs, new_paragraphs, max_pairs=MAX_PAIRS)
    return PageChanges(
        tuple(fields), tuple(_text_change(change, paragraphs, new_paragraphs, inline) for change in changes)
    )


def _text_change(change: RangeChange, old: Sequence[str], new: Sequence[str], inline: InlineDiff) -> TextChange:
    removed, added = old[change.start : change.end], new[change.new_start : change.new_end]
    before, after = "\n\n".join(removed), "\n\n".join(added)
    return TextChange(before, after, max(len(removed), len(added)), *inline.changed_ranges(before, after))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the parts of a text between empty lines."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
