"""The changed values of a page as a comparison shows them: texts with marks, pictures, and the items of lists."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from markupsafe import Markup, escape

from app.access.scope import ProjectScope
from app.console.files.simple_page import ShownValue, image_texts, shown_value, value_text, version_images
from app.console.shell.field_labels import label_of
from app.console.shell.translation import gettext as _
from app.console.shell.translation import ngettext
from app.content.front_matter.item_diff import MISSING, ValueChange
from app.content.schema.relations import title_of
from app.content.value_changes import ItemStep, RowState, ValueComparison, ValueRow

MAX_PICTURES = 24
"""The addresses of images of a version whose files are read from the Git host. Others are shown as text."""

MAX_TEXT, MAX_MARKS = 4_000, 200
"""The characters of a text without marks, and the marks of a text. A text with more marks has none."""

CONTEXT = 120
"""The characters before and after a mark that a long text shows."""

MAX_TITLE = 60

_MARKS = {
    tag: Markup(f'<bdi class="visually-hidden">{{label}} </bdi><{tag}>{{text}}</{tag}>')  # noqa: S704 (a constant)
    for tag in ("del", "ins")
}


@dataclass(frozen=True)
class ShownSide:
    """A side of a changed value: a text with marks, a picture, or the values inside.

    `note` is a sentence about the value.
    """

    value: ShownValue
    text: Markup
    note: str = ""


@dataclass(frozen=True)
class ShownField:
    """A changed value. `labels` are the names of its path, `state` says what happened to an item of a list.

    A side without a value is None.
    """

    labels: Sequence[str]
    state: str
    before: ShownSide | None
    after: ShownSide | None


@dataclass(frozen=True)
class ComparedFields:
    """The changed values of a file. `is_complete` is false if there are more."""

    rows: Sequence[ShownField]
    is_complete: bool


def compared_fields(scope: ProjectScope, file: Mapping[str, Any], *, has_pictures: bool = True) -> ComparedFields:
    """Return the changed values of a compared file, with pictures or their addresses. Calls the Git host."""
    comparison = ValueComparison()
    rows = comparison.rows(map(ValueChange.from_dict, file["front_matter"] or ()))
    before, after = (file["before"], file["after"]) if has_pictures else (None, None)
    pictures = [
        _pictures(scope, before, (row.before for row in rows)),
        _pictures(scope, after, (row.after for row in rows)),
    ]
    return ComparedFields([_field(comparison, row, pictures) for row in rows], comparison.is_complete)


def list_changes(
    comparison: ValueComparison, base: object, side: object, pictures: Callable[[Sequence[str]], Mapping[str, str]]
) -> list[ShownField]:
    """Return what a side of a conflict changed in the items of a list, or nothing for values that are no lists.

    `pictures` returns the URLs of images by their addresses.
    """
    if not isinstance(base, list) or not isinstance(side, list):
        return []
    rows = comparison.rows([ValueChange("", base, side)])
    sources = _sources(row.after for row in rows)
    urls = pictures(sources) if sources else {}
    return [_field(comparison, row, ({}, urls)) for row in rows]


def _sources(values: Iterable[object]) -> list[str]:
    return list(islice(dict.fromkeys(text for value in values for text in image_texts(value)), MAX_PICTURES))


def _pictures(scope: ProjectScope, version: Mapping[str, Any] | None, values: Iterable[object]) -> dict[str, str]:
    sources = _sources(values)
    if version is None or not sources:
        return {}
    return version_images(scope, version["path"], version["commit_sha"], sources)


def _field(comparison: ValueComparison, row: ValueRow, pictures: Sequence[Mapping[str, str]]) -> ShownField:
    labels, state = _labels(row), _state(row)
    if row.state is RowState.FURTHER:
        return ShownField(labels, state, None, None)
    if row.state is RowState.MOVED:
        before, after = (_plain(_("Position %(number)s", number=number)) for number in (row.before, row.after))
        return ShownField(labels, state, before, after)
    texts = [value_text(value) for value in (row.before, row.after)]
    ranges: Sequence[Sequence[tuple[int, int]]] = (row.removed, row.added)
    if row.is_long_list:
        ranges = comparison.changed_ranges(*texts)
    elif texts != [row.before, row.after]:  # For example, a date in the form of the reader.
        ranges = ((), ())
    if len(ranges[0]) + len(ranges[1]) > MAX_MARKS:
        ranges = ((), ())
    is_marked = any(ranges)
    sides = zip(("del", "ins"), (row.before, row.after), texts, ranges, pictures, strict=True)
    shown = [
        None
        if value is MISSING
        else _side(tag, value, text, own if is_marked else None, urls, is_long=row.is_long_list)
        for tag, value, text, own, urls in sides
    ]
    return ShownField(labels, state, *shown)


def _labels(row: ValueRow) -> list[str]:
    """Return the names of the fields and items of the path. An added or removed text is not repeated as a title."""
    return [
        label_of(step) if isinstance(step, str) else _item_title(step)
        for step in row.path
        if row.state not in (RowState.ADDED, RowState.REMOVED)
        or isinstance(step, str)
        or isinstance(step.value, Mapping | list)
    ]


def _item_title(item: ItemStep) -> str:
    """Return the title of an item, else its first text, else its number. A value without fields is its own title."""
    if not isinstance(item.value, Mapping | list):
        title = value_text(item.value)
    else:
        values = item.value if isinstance(item.value, Mapping) else {}
        texts = (text.strip() for text in values.values() if isinstance(text, str) and not any(image_texts(text)))
        title = title_of(values) or next(filter(None, texts), "")
    title = title or str(item.number)
    return f"{title[:MAX_TITLE]}…" if len(title) > MAX_TITLE else title


def _state(row: ValueRow) -> str:
    if row.state is RowState.FURTHER:
        return _("and %(count)s more", count=row.after)
    return {RowState.ADDED: _("added"), RowState.REMOVED: _("removed"), RowState.MOVED: _("moved")}.get(row.state, "")


def _plain(text: str) -> ShownSide:
    return ShownSide(ShownValue("", text), escape(text))


def _side(
    tag: str,
    value: object,
    text: str,
    ranges: Sequence[tuple[int, int]] | None,
    pictures: Mapping[str, str],
    *,
    is_long: bool,
) -> ShownSide:
    """Return a side whose ranges are marked, or all of its text without ranges. A side without text has a note."""
    if not text:
        return ShownSide(ShownValue(""), Markup(), _("Not set") if value is None else _("empty"))
    shown = ShownValue("", text) if is_long else shown_value("", value, pictures)
    notes = []
    if is_long and isinstance(value, list):
        notes.append(ngettext("%(num)s entry", "%(num)s entries", len(value)))
    if ranges is None and len(text) > MAX_TEXT:
        notes.append(_("Only the beginning of this text is shown."))
    marked = _mark(tag, text[:MAX_TEXT]) if ranges is None else _marked(tag, _pieces(text, ranges, has_gaps=True))
    return ShownSide(shown, marked, " · ".join(notes))


def marked_side(comparison: ValueComparison, base: object, text: str, *, max_characters: int) -> Markup:
    """Return the start of a side of a conflict with marks of the words that the common version does not have."""
    ranges = comparison.changed_ranges(base, text)[1] if isinstance(base, str) else []
    shown = [(start, min(end, max_characters)) for start, end in ranges if start < max_characters]
    return _marked("ins", _pieces(text[:max_characters], shown[:MAX_MARKS]))


def _marked(tag: str, pieces: Iterable[tuple[str, bool]]) -> Markup:
    return Markup("").join(_mark(tag, piece) if is_changed else escape(piece) for piece, is_changed in pieces)


def _mark(tag: str, text: str) -> Markup:
    """Return a changed text with a label for screen readers. `bdi`: the label has no influence on the direction."""
    label = _("removed:") if tag == "del" else _("added:")
    return _MARKS[tag].format(label=label, text=text)


def _pieces(text: str, ranges: Sequence[tuple[int, int]], *, has_gaps: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, and whether they are changed. With gaps, a long unchanged part has only its ends."""
    position = 0
    for start, end in [*ranges, (len(text), len(text))]:
        part = text[position:start]
        if has_gaps and len(part) > 3 * CONTEXT:
            head = part[:CONTEXT].rpartition(" ")[0] or part[:CONTEXT] if position else ""
            tail = part[-CONTEXT:].partition(" ")[2] or part[-CONTEXT:] if start < len(text) else ""
            part = f"{head} … {tail}"
        yield part, False
        if start < end:
            yield text[start:end], True
        position = end
