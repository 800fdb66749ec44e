"""The conflict page: the parts that two people changed, the choice between them, and the result that is saved."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flask import Response
from markupsafe import Markup

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.editor.page_source import (
    OpenFile,
    branch_source,
    open_present,
    open_version,
    read_base,
    read_draft,
)
from app.console.editor.removed_page import rendered_text, show_removed
from app.console.editor.saving import edit_url, save_edit
from app.console.project.project_home import BASE, MEMBER
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.content.merge.files import MergedFile, merge_file
from app.content.page_text import read_page, with_line_ends
from app.content.three_way import Part, compare, merge
from app.core import clock
from app.core.errors import InvalidRequest, NotFound
from app.core.limits import InputLimits
from app.database import transactions
from app.drivers.git.file_diff import changed_lines
from app.resources.project_content.tree.folder_listing import titles_of
from app.resources.project_content.versions.history import last_change, people_of

URL = f"{BASE}/conflict/<path:file>"
SIDES = ("mine", "theirs", "both")
MAX_RENDERED = 16 * 1024
"""The number of characters of all parts that one page shows as formatted text. Further parts are shown as source."""

MAX_SOURCE = 600_000
"""The number of characters of all versions that one page shows as source.

Only the beginning of longer ones is shown.
"""

MAX_CHOICES = InputLimits.form_fields - 100
"""The parts with a choice. The result contains the others as they are in the draft."""


@dataclass(frozen=True)
class Versions:
    """The three texts of a conflict, and their parts in their order.

    `present` is the version of the branch on which the result is saved.
    """

    present: OpenFile
    draft: dict[str, object]
    base: str
    parts: list[Part]


@dataclass(frozen=True)
class ShownPart:
    """A part that both changed, with its number and the chosen side.

    `mine` and `theirs` are formatted texts, or None if they are shown as source. Front matter can have one side only.
    """

    number: int
    part: Part
    chosen: str
    can_have_both: bool
    mine: Markup | None
    theirs: Markup | None


@dataclass(frozen=True)
class Opened:
    """The state of a file with a conflict: the versions, or the draft alone if the file no longer exists."""

    draft: dict[str, object] | None
    versions: Versions | None


def _open(scope: ProjectScope) -> Opened:
    draft = read_draft(scope, scope.path["file"])
    try:
        present = open_present(scope, scope.path["file"])
    except NotFound:
        if draft is None:
            raise
        return Opened(draft, None)
    return Opened(draft, None if draft is None else _compare(scope, present, draft))


def _compare(scope: ProjectScope, present: OpenFile, draft: dict[str, Any]) -> Versions:
    # The text from which the draft started: empty for a new file and a version that no longer exists.
    path, mine = scope.path["file"], draft["content"]
    before = read_base(scope, path, draft["base_blob_sha"])
    base, theirs = (data.decode("utf-8", "replace") for data in (before, present.data))
    with transactions.outside_transaction():
        merged = merge_file(path, before, mine.encode(), present.data) if before else None
        if isinstance(merged, MergedFile) and merged.data is not None:
            parts = [Part(base, mine, theirs, merged.data.decode("utf-8", "replace"))]
        else:
            parts = compare(base, mine, theirs, diff=changed_lines)
    return Versions(present, draft, base, parts)


@blueprint.get(URL)
@Page(guard=MEMBER, upstream=_open)
def conflict(*, scope: ProjectScope, prepared: Opened) -> Response:
    """Show what both people changed, and the result."""
    if prepared.versions is not None:
        return _show(scope, prepared.versions, ())
    if prepared.draft is not None:
        return show_removed(scope, prepared.draft)
    return see_other(edit_url(scope, scope.path["file"]))


def _show(scope: ProjectScope, versions: Versions, choices: tuple[str, ...], result: str | None = None) -> Response:
    path, parts = scope.path["file"], versions.parts
    if result is None:
        result = merge(parts, choices)
    form = current_form()
    text = str(form.value("body", result)) if "body" in form.values and form.error else result
    shown = list(islice(_shown_parts(path, parts, choices), MAX_CHOICES))
    change = last_change(branch_source(scope), path, versions.present.base_sha)
    return page(
        "project/conflict.html",
        file=path,
        title=titles_of(scope.project, scope.index, [path]).get(path, path.rpartition("/")[2]),
        opened=versions.present,
        base=versions.base,
        draft=versions.draft,
        parts=shown,
        source_characters=MAX_SOURCE // (3 * (len(shown) + 1)),
        result=text,
        rendered=rendered_text(path, text),
        people=people_of(change) if change else [],
        changed_at=clock.iso(change.date) if change else None,
    )


def _shown_parts(path: str, parts: list[Part], choices: tuple[str, ...]) -> Iterator[ShownPart]:
    mine = "".join(part.mine for part in parts)
    text = read_page(path, mine.encode())
    position, body = 0, len(mine) - len(text.body) if text is not None else 0
    number, remaining = 0, MAX_RENDERED
    for part in parts:
        if part.is_conflict:
            is_body = position >= body
            remaining -= len(part.mine) + len(part.theirs)
            sides = (part.mine, part.theirs) if is_body and remaining >= 0 else ()
            texts = [rendered_text(path, side) for side in sides] or [None, None]
            chosen = choices[number] if number < len(choices) else "mine"
            yield ShownPart(number, part, chosen, is_body and bool(part.mine and part.theirs), *texts)
            number += 1
        position += len(part.mine)


@blueprint.post(URL)
@Page(guard=MEMBER, inputs=("base_sha", "base_blob_sha", "body", "message", "choose", "part-*"), shown_by="conflict")
def resolve_conflict(*, scope: ProjectScope, form: Form) -> Response:
    """Show the text with a chosen part, or save the text of the form on the version that the page shows."""
    path = scope.path["file"]
    opened = open_version(scope, path, form.text("base_sha"), form.text("base_blob_sha"))
    draft = read_draft(scope, path)
    if draft is None:
        return see_other(edit_url(scope, path))
    if "choose" in form.values:
        return _choose(scope, _compare(scope, opened, draft), form)
    data = with_line_ends(opened.data.decode("utf-8", "replace"), form.text("body")).encode()
    return save_edit(scope, opened, data, form.text("message"))


def _choose(scope: ProjectScope, versions: Versions, form: Form) -> Response:
    """Show the page with another chosen part. Corrections of the result remain where they do not touch this part."""
    number, _, side = form.text("choose").partition(":")
    parts = versions.parts
    choices = [form.text(f"part-{index}") or "mine" for index, part in enumerate(p for p in parts if p.is_conflict)]
    if side not in SIDES or not number.isdecimal() or len(number) > 9 or int(number) >= len(choices):
        raise InvalidRequest("The form does not name a part of this page")
    before = merge(parts, tuple(choices))
    choices[int(number)] = side
    after = merge(parts, tuple(choices))
    typed = with_line_ends(before, form.text("body"))
    corrected = compare(before, typed, after, diff=changed_lines)
    result = merge(corrected, ("theirs",) * len(corrected))
    return _show(scope, versions, tuple(choices), result)
