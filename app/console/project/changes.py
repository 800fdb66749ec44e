"""Changes of pages in the words of the reader: a summary of each version, values, and the changed text with marks."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from babel.lists import format_list
from markupsafe import Markup

from app.access.scope import ProjectScope
from app.console.files.page_source import branch_source
from app.console.files.rendered_text import END, LANGUAGES, START, render_markdown
from app.console.files.simple_page import value_text
from app.console.project.compared_fields import ComparedFields, compared_fields
from app.console.shell import frame
from app.console.shell.field_labels import label_of, page_name
from app.console.shell.translation import current_language, ngettext, translations
from app.console.shell.translation import gettext as _
from app.content.filetypes import file_type
from app.content.front_matter.item_diff import MISSING
from app.content.json_pointer import keys_of
from app.content.page_changes import PageChanges, page_changes, with_marks
from app.core import locales
from app.database import transactions
from app.drivers.errors import DriverError
from app.resources.project_content.guards import branch_of
from app.resources.project_content.schemas.revisions import HistoryQuery
from app.resources.project_content.tree.folder_listing import titles_of
from app.resources.project_content.versions import history
from app.resources.project_content.versions.comparison import read_versions

MAX_SUMMARIES = 10
"""The newest versions of a file whose summary is read with the list."""

MAX_FIELDS = 5
MAX_RENDERED = 16 * 1024
"""The number of characters that a comparison shows as formatted text."""

MAX_TERMS = 3
"""The number of terms before or after the path in the message of a save."""

_TOKEN = re.compile(r"(?<!\S)[^\s“”]+")
_FILE = re.compile(r"(?!.*://)[^()]+\.[A-Za-z0-9]{1,8}")
_TAG = re.compile(r"(<[^<>]*>)")


def pointer_label(pointer: str | None) -> str:
    """Return the name of a field, with the names of the values that contain it, or an empty text for none."""
    if pointer is None:
        return ""
    names = [str(int(key) + 1) if key.isdecimal() else label_of(key) for key in keys_of(pointer)]
    return " / ".join(names) or _("Fields")


def side_text(side: object) -> str:
    """Return a side of a conflict as text, an empty one for a missing side."""
    return "" if side is MISSING else side if isinstance(side, str) else value_text(side)


def _summaries(scope: ProjectScope, versions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what the newest versions of a file changed, by sha. Reads the contents from the Git host."""
    newest = [(version["sha"], version["path"]) for version in versions[: MAX_SUMMARIES + 1]]
    try:
        with transactions.outside_transaction():
            contents = read_versions(branch_source(scope), newest)
    except DriverError:
        return {}
    texts = {}
    for (sha, path), after, before in zip(newest, contents, contents[1:], strict=False):
        changes = page_changes(path, before, after) if before is not None and after is not None else None
        if changes is not None:
            texts[sha] = summary_text(changes)
    return texts


def summary_text(changes: PageChanges) -> str:
    """Return a sentence with the changed fields and the number of paragraphs. Empty if only empty lines differ."""
    parts = [label_of(name) for name in changes.fields[:MAX_FIELDS]]
    if len(changes.fields) > MAX_FIELDS:
        parts.append("…")
    if changes.paragraphs:
        parts.append(ngettext("%(num)s paragraph", "%(num)s paragraphs", changes.paragraphs))
    return _("Changed: %(parts)s", parts=format_list(parts, locale=current_language())) if parts else ""


@dataclass(frozen=True)
class ShownVersion:
    """A version of the project or of a file. `before` is the sha of the version that the list shows after it."""

    sha: str
    before: str | None
    path: str | None
    text: str
    summary: str
    people: str
    date: str


def read_history(
    scope: ProjectScope, file: str | None, *, limit: int, ref: str | None = None, cursor: str | None = None
) -> tuple[list["ShownVersion"], dict[str, object]]:
    """Return a page of the versions of a file or branch as a list shows them, and its `meta`. Calls the Git host."""
    query = HistoryQuery.loaded({"file": file, "ref": ref, "cursor": cursor, "limit": limit})
    with transactions.outside_transaction():
        commits = history.read_history(branch_of(scope).source(), **vars(query))
    versions, meta = history.to_page(scope.project.id, commits)
    return shown_versions(scope, versions, file), meta


def shown_versions(
    scope: ProjectScope, versions: Sequence[Mapping[str, Any]], file: str | None = None
) -> list[ShownVersion]:
    """Return versions as a list shows them. The summary replaces the message of a save without a text of the user."""
    texts = message_texts(scope, [version["message"] for version in versions])
    summaries = _summaries(scope, versions) if file is not None else {}
    shown = []
    for version, text, before in zip_longest(versions, texts, versions[1:]):
        summary = summaries.get(version["sha"], "")
        message = version["message"].partition("\n")[0]
        text = summary if summary and message in _update_messages(version["path"]) else text
        people = ", ".join(person["name"] for person in version["co_authors"] or [version["author"]])
        shown.append(
            ShownVersion(
                sha=version["sha"],
                before=before["sha"] if before is not None else None,
                path=version.get("path"),
                text=text,
                summary=summary if summary != text else "",
                people=people,
                date=version["date"],
            )
        )
    return shown


def message_texts(scope: ProjectScope, messages: Sequence[str]) -> list[str]:
    """Return the first line of each message with titles of pages instead of their paths."""
    lines = [message.partition("\n")[0] for message in messages]
    known = titles_of(scope.project, scope.index, {path for line in lines for path in _possible_paths(line)})
    titles = frame.current().titles(known)
    folders = {language.paths.folder for group in frame.current().content.groups for language in group.languages}
    roots = {folder.partition("/")[0] for folder in folders} - {""}
    return [_with_names(_with_title(line, titles), roots, titles) for line in lines]


def _update_messages(path: str) -> set[str]:
    """Return the message of a save of a file without a text of the user, in each language."""
    return {translations(language).gettext("Update %(name)s") % {"name": path} for language in locales.LANGUAGES}


def _with_title(line: str, titles: Mapping[str, str]) -> str:
    path = next((path for path in _possible_paths(line) if path in titles), None)
    return line if path is None else line.replace(path, f"“{titles[path]}”")


def _with_names(line: str, roots: Collection[str], titles: Mapping[str, str]) -> str:
    """Return a line with names instead of paths, for example of deleted pages.

    A path is a path of a file, or starts with a folder of the content.
    """

    def name_of(match: re.Match[str]) -> str:
        path = match[0].rstrip(".,;:/")
        folder, separator, _below = path.partition("/")
        if not separator or not (folder in roots or _FILE.fullmatch(path)):
            return match[0]
        name = titles.get(path) or page_name(path if "." in path.rpartition("/")[2] else f"{path}/index.md")
        return f"“{name}”{match[0].removeprefix(path)}"

    return _TOKEN.sub(name_of, line)


def _possible_paths(line: str) -> Iterator[str]:
    """Yield the parts of a line that can be a path after or before a few terms, also without a text in parentheses."""
    for text in {line, line.rpartition(" (")[0]} - {""}:
        parts = text.split(" ")
        for count in range(min(MAX_TERMS, len(parts) - 1) + 1):
            yield from (" ".join(parts[count:]), " ".join(parts[: len(parts) - count]))


@dataclass(frozen=True)
class ComparedText:
    """The summary of the change of a page, its changed values and its changed texts."""

    summary: str
    fields: ComparedFields
    parts: Sequence["ShownChange"]
    is_complete: bool


def read_page_changes(scope: ProjectScope, file: Mapping[str, Any]) -> PageChanges | None:
    """Return the changes of a compared file, or None if it is not text. Reads both versions from the Git host.

    A new page has changes from an empty one, a removed page to an empty one.
    """
    if file["diff"] is None:
        return None
    sides = [side for side in (file["before"], file["after"]) if side is not None]
    with transactions.outside_transaction():
        contents = read_versions(branch_source(scope), [(side["commit_sha"], side["path"]) for side in sides])
    if None in contents:
        return None
    before = b"" if file["before"] is None else contents[0]
    after = b"" if file["after"] is None else contents[-1]
    return page_changes(file["path"], before or b"", after or b"")


def compared_text(
    scope: ProjectScope, file: Mapping[str, Any], difference: PageChanges | None, *, has_pictures: bool = True
) -> ComparedText:
    """Return the changes of a compared file as a person reads them. Calls the Git host."""
    parts, is_complete = rendered_changes(file["path"], difference) if difference is not None else ([], False)
    summary = summary_text(difference) if difference is not None else ""
    return ComparedText(summary, compared_fields(scope, file, has_pictures=has_pictures), parts, is_complete)


@dataclass(frozen=True)
class ShownChange:
    """The removed and the added text of a change as HTML."""

    before: Markup
    after: Markup


def rendered_changes(path: str, changes: PageChanges) -> tuple[list[ShownChange], bool]:
    """Return the changed texts of a Markdown page with marks, and whether all of them are contained."""
    if file_type(path).language not in LANGUAGES:
        return [], not changes.texts
    shown: list[ShownChange] = []
    remaining = MAX_RENDERED
    for change in changes.texts:
        remaining -= len(change.before) + len(change.after)
        if remaining < 0:
            return shown, False
        before, after = marked(change.before, change.removed, "del"), marked(change.after, change.added, "ins")
        shown.append(ShownChange(before, after))
    return shown, True


def marked(text: str, ranges: Sequence[tuple[int, int]], tag: str) -> Markup:
    """Return Markdown as HTML in which the ranges are inside of a tag."""
    if START in text or END in text:
        return render_markdown(text)
    html = render_markdown(with_marks(text, ranges, START, END))
    is_inside, parts = False, []
    for part in _TAG.split(html):
        if part.startswith("<"):
            parts.append(part.replace(START, "").replace(END, ""))
            continue
        for piece in re.split(f"([{START}{END}])", part):
            if piece in (START, END):
                is_inside = piece == START
            elif piece:
                parts.append(f"<{tag}>{piece}</{tag}>" if is_inside and piece.strip() else piece)
    return Markup("".join(parts))  # noqa: S704 (only the tags were added to safe HTML)
