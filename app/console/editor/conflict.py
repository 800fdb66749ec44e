"""The conflict page: the parts that two people changed, the choice between them, and the result that is saved.

If the branch no longer has the file of a draft, the page shows the text of the draft, and what can be done with it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flask import Response
from markupsafe import Markup

from app.access.scope import ProjectScope
from app.concurrency.threadpool import offload
from app.console.blueprint import blueprint
from app.console.editor.saving import follow_rename, leave_set, plan_images, save_or_leave
from app.console.files.destinations import ADDRESS, INPUTS, destination, proposals, save, sent_edit, sent_path
from app.console.files.page_source import (
    OpenFile,
    branch_source,
    delete_draft,
    has_ended,
    open_present,
    open_version,
    present_head,
    read_base,
    read_draft,
    read_schema,
    write_draft,
)
from app.console.files.rendered_text import rendered_text
from app.console.files.scope import BASE, EDITOR, EditorScope, edit_url, file_url, in_set, set_query
from app.console.files.simple_page import image_texts, image_urls
from app.console.project.changes import pointer_label, side_text
from app.console.project.compared_fields import MAX_PICTURES, ShownField, list_changes, marked_side
from app.console.shell import frame
from app.console.shell.field_labels import page_name
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.entry_files import copy_path
from app.content.merge.files import ConflictKind, FileConflicts, MergeConflict, MergedFile, merge_file
from app.content.page_text import read_page, with_line_ends
from app.content.schema.validation import collection_of
from app.content.three_way import Part, compare, merge
from app.content.value_changes import ValueComparison
from app.core import clock
from app.core.errors import Conflict, InvalidRequest, NotFound
from app.core.limits import InputLimits
from app.database import transactions
from app.drivers.git.file_diff import changed_lines
from app.resources.project_content.entry_changes import edits_of_removed
from app.resources.project_content.versions.history import FileRemoval, find_removal, last_change, people_of

URL = f"{BASE}/conflict/<path:file>"
SIDES = ("mine", "theirs", "both")
MAX_RENDERED = 16 * 1024
"""The number of characters of all parts that one page shows as formatted text. Further parts are shown as source."""

MAX_SOURCE = 600_000
"""The number of characters of all versions that one page shows as source.

Only the beginning of longer ones is shown.
"""

MAX_MERGED = 128 * 1024
"""The characters of a text with a choice by field and paragraph. Each choice merges the text again."""

_CHOSEN = (ConflictKind.VALUE, ConflictKind.BLOCK)
MAX_CHOICES = InputLimits.form_fields - 100
"""The parts with a choice. The result contains the others as they are in the draft."""


@dataclass(frozen=True)
class Versions:
    """The three texts of a conflict, and what both sides changed: fields and blocks, or parts of lines.

    `present` is the version of the branch on which the result is saved. There are conflicts of fields and blocks only
    if they can be written. Then `parts` are not used.
    """

    present: OpenFile
    draft: dict[str, Any]
    base: bytes
    conflicts: Sequence[MergeConflict]
    parts: Sequence[Part]

    @property
    def count(self) -> int:
        """The number of choices."""
        return len(self.conflicts) or sum(part.is_conflict for part in self.parts)

    def result(self, path: str, choices: Sequence[str]) -> str:
        """Return the text with a side of each conflict: mine without a choice.

        Raises:
            InvalidRequest: these sides cannot be written into one text.
        """
        if not self.conflicts:
            return merge(self.parts, choices)
        sides = [*choices, *["mine"] * self.count]
        merged = offload(merge_file, path, self.base, self.draft["content"].encode(), self.present.data, sides)
        if isinstance(merged, FileConflicts) or merged.data is None:
            raise InvalidRequest("These texts cannot be used together. Choose others, or correct the result")
        return merged.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class ShownPart:
    """A part that both changed, with its number and the chosen side. `label` is the name of a field.

    `rendered` contains mine and theirs as formatted text, or None if they are shown as source. `marked` contains the
    values of a field with marks of their new words, `items` the changes of the items of lists.
    """

    number: int
    chosen: str
    base: str
    mine: str
    theirs: str
    label: str = ""
    can_have_both: bool = False
    rendered: tuple[Markup | None, Markup | None] = (None, None)
    marked: Sequence[Markup] = ()
    items: Sequence[Sequence[ShownField]] = ((), ())


@dataclass(frozen=True)
class Opened:
    """The state of a file with a conflict: the versions, or the draft alone if the file no longer exists."""

    draft: dict[str, object] | None
    versions: Versions | None


def _open(scope: EditorScope) -> Opened:
    draft = read_draft(scope, scope.path["file"])
    if has_ended(scope):
        return Opened(None, None)
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
    base = read_base(scope, path, draft["base_blob_sha"])
    before, theirs = (data.decode("utf-8", "replace") for data in (base, present.data))
    with transactions.outside_transaction():
        merged = offload(merge_file, path, base, mine.encode(), present.data) if base else None
        if isinstance(merged, MergedFile) and merged.data is not None:
            text = merged.data.decode("utf-8", "replace")
            return Versions(present, draft, base, (), [Part(before, mine, theirs, text)])
        if isinstance(merged, FileConflicts) and max(len(mine), len(theirs)) <= MAX_MERGED:
            versions = Versions(present, draft, base, merged.conflicts, ())
            if versions.count <= MAX_CHOICES and all(conflict.kind in _CHOSEN for conflict in merged.conflicts):
                with suppress(InvalidRequest):
                    versions.result(path, ())
                    return versions
        return Versions(present, draft, base, (), compare(before, mine, theirs, diff=changed_lines))


@blueprint.get(URL)
@Page(guard=EDITOR, upstream=_open)
def conflict(*, scope: EditorScope, prepared: Opened) -> Response:
    """Show what both people changed, and the result."""
    if prepared.versions is not None:
        return _show(scope, prepared.versions, ())
    if prepared.draft is not None:
        return show_removed(scope, prepared.draft)
    return see_other(edit_url(scope, scope.path["file"]))


def _show(scope: EditorScope, versions: Versions, choices: tuple[str, ...], result: str | None = None) -> Response:
    path = scope.path["file"]
    if result is None:
        result = versions.result(path, choices)
    form = current_form()
    text = str(form.value("body", result)) if "body" in form.values and form.error else result
    chosen = [*choices, *["mine"] * versions.count]
    max_characters = MAX_SOURCE // (3 * (min(versions.count, MAX_CHOICES) + 1))
    conflicts = _shown_conflicts(scope, versions.conflicts or versions.parts, chosen, max_characters)
    shown = list(islice(conflicts, MAX_CHOICES))
    sources = [text for part in shown if part.label for side in (part.mine, part.theirs) for text in image_texts(side)]
    change = last_change(branch_source(scope), path, versions.present.base_sha)
    title = frame.current().titles([path])[path]
    return page(
        "project/conflict.html",
        file=path,
        title=title,
        change_set=scope.change_set,
        set_query=set_query(scope),
        proposals=proposals(scope, title),
        opened=versions.present,
        base=versions.base.decode("utf-8", "replace"),
        draft=versions.draft,
        parts=shown,
        pictures=_pictures(scope, path, sources[:MAX_PICTURES]),
        source_characters=max_characters,
        result=text,
        rendered=rendered_text(path, text),
        people=people_of(change) if change else [],
        changed_at=clock.iso(change.date) if change else None,
    )


def _pictures(scope: EditorScope, path: str, sources: Sequence[str]) -> dict[str, str]:
    return image_urls(scope, collection_of(read_schema(scope), path), path, sources) if sources else {}


def _shown_conflicts(
    scope: EditorScope, conflicts: Sequence[MergeConflict] | Sequence[Part], choices: Sequence[str], max_characters: int
) -> Iterator[ShownPart]:
    """Yield fields, blocks, or parts of lines. Blocks and lines of the body are formatted while the page has room."""
    path = scope.path["file"]
    mine = "".join(part.mine for part in conflicts if isinstance(part, Part))
    text = read_page(path, mine.encode())
    position, body = 0, len(mine) - len(text.body) if text is not None else 0
    number, remaining, comparison = 0, MAX_RENDERED, ValueComparison()
    for entry in conflicts:
        is_text = position >= body
        if isinstance(entry, MergeConflict):
            is_text = entry.kind is ConflictKind.BLOCK
            base, own, theirs = (side_text(side) for side in (entry.base, entry.mine, entry.theirs))
        else:
            base, own, theirs = entry.base, entry.mine, entry.theirs
            position += len(own)
        if isinstance(entry, Part) and not entry.is_conflict:
            continue
        remaining -= len(own) + len(theirs)
        is_rendered = is_text and remaining >= 0
        is_field = isinstance(entry, MergeConflict) and not is_text
        yield ShownPart(
            number,
            choices[number],
            base,
            own,
            theirs,
            label=pointer_label(entry.pointer) if isinstance(entry, MergeConflict) else "",
            can_have_both=is_text and bool(own and theirs),
            rendered=(rendered_text(path, own), rendered_text(path, theirs)) if is_rendered else (None, None),
            marked=[
                marked_side(comparison, entry.base, side, max_characters=max_characters)
                for side in (own, theirs)
                if is_field
            ],
            items=_item_changes(scope, entry, comparison) if isinstance(entry, MergeConflict) else ((), ()),
        )
        number += 1


def _item_changes(scope: EditorScope, conflict: MergeConflict, comparison: ValueComparison) -> list[list[ShownField]]:
    path = scope.path["file"]
    return [
        list_changes(comparison, conflict.base, side, lambda sources: _pictures(scope, path, sources))
        for side in (conflict.mine, conflict.theirs)
    ]


@blueprint.post(URL)
@Page(
    guard=EDITOR,
    inputs=("base_sha", "base_blob_sha", "body", "message", "choose", "part-*", *INPUTS),
    shown_by="conflict",
)
def resolve_conflict(*, scope: EditorScope, form: Form) -> Response:
    """Show the text with a chosen part, or save the text of the form on the version that the page shows."""
    path = scope.path["file"]
    draft = read_draft(scope, path)
    if draft is None:
        return see_other(edit_url(scope, path))
    text = with_line_ends(draft["content"], form.text("body")).encode()
    if has_ended(scope):
        return leave_set(scope, form, lambda _site: text)
    opened = open_version(scope, path, form.text("base_sha"), form.text("base_blob_sha"))
    if "choose" in form.values:
        return _choose_part(scope, _compare(scope, opened, draft), form)
    data = with_line_ends(opened.data.decode("utf-8", "replace"), form.text("body")).encode()
    return save_or_leave(scope, opened, data, form, lambda _site: text)


def _choose_part(scope: EditorScope, versions: Versions, form: Form) -> Response:
    """Show the page with another chosen part. Corrections of the result remain where they do not touch this part."""
    path, (number, _sep, side) = scope.path["file"], form.text("choose").partition(":")
    choices = [form.text(f"part-{index}") or "mine" for index in range(versions.count)]
    if side not in SIDES or not number.isdecimal() or len(number) > 9 or int(number) >= len(choices):
        raise InvalidRequest("The form does not name a part of this page")
    before = versions.result(path, choices)
    choices[int(number)] = side
    after = versions.result(path, choices)
    typed = with_line_ends(before, form.text("body"))
    corrected = compare(before, typed, after, diff=changed_lines)
    result = merge(corrected, ("theirs",) * len(corrected))
    return _show(scope, versions, tuple(choices), result)


def show_removed(scope: EditorScope, draft: dict[str, Any]) -> Response:
    """Show the text of a draft whose file does not exist, and what can be done with it."""
    path = scope.path["file"]
    removal = _find(scope)
    text = str(current_form().value("body", draft["content"]))
    return page(
        "project/removed.html",
        file=path,
        name=page_name(path),
        draft=draft,
        text=text,
        rendered=rendered_text(path, text),
        removal=removal,
        people=people_of(removal.commit) if removal.commit else [],
        removed_at=clock.iso(removal.commit.date) if removal.commit else None,
        free_path=copy_path(path, 2, scope.project.generator),
        change_set=scope.change_set,
        set_query=set_query(scope),
        proposals=proposals(scope, page_name(path)),
    )


def _find(scope: EditorScope) -> FileRemoval:
    if has_ended(scope):
        scope = in_set(scope, None)
    return find_removal(branch_source(scope), scope.path["file"])


@blueprint.post(f"{BASE}/removed/<path:file>")
@Page(
    guard=EDITOR,
    inputs=("body", "action", *ADDRESS, *INPUTS),
    shown_by="conflict",
    names={"files.0.path": "new_path"},
    upstream=_find,
)
def save_removed(*, scope: EditorScope, form: Form, prepared: FileRemoval) -> Response:
    """Save the text as the page of before or as a new page, or continue with it in the renamed page."""
    path = scope.path["file"]
    draft = read_draft(scope, path)
    if draft is None:
        raise NotFound("There is no draft of this file")
    text = with_line_ends(draft["content"], form.text("body"))
    if has_ended(scope):
        return leave_set(scope, form, lambda _site: text.encode())
    # The text of the form is stored first, so that no failure of the next step loses it.
    write_draft(scope, path, text.encode(), draft["base_blob_sha"])
    if form.text("action") == "follow":
        return _follow(scope, prepared, text, draft["base_blob_sha"])
    target = path if form.text("action") == "restore" else sent_path(form)
    return _save_at(scope, form, text, target, prepared)


def _save_at(scope: EditorScope, form: Form, text: str, target: str, removal: FileRemoval) -> Response:
    """Save the text as a page of the site or of a change set, and lead to its editor.

    The images of the draft, and the other files of a removed entry are saved with it.
    """
    path = scope.path["file"]
    if not target:
        raise InvalidRequest.field("new_path", _("Enter an address."))
    message = _("Restore %(name)s", name=path) if target == path else _("Create %(name)s", name=target)
    with destination(scope, form, message) as to:
        plan = plan_images(scope, path, text.encode(), to=to, new_path=target)
        file = {"path": target, "action": "create", "content": plan.data}
        others = map(sent_edit, edits_of_removed(branch_source(to), removal, path, target, to.project.generator))
        taken = {target, *(image["path"] for image in plan.files)}
        files = [*plan.files, *(other for other in others if other["path"] not in taken)]
        save(to, message, present_head(to), file, *files)
    delete_draft(scope, path)
    return see_other(edit_url(to, target, "done=saved"))


def _follow(scope: EditorScope, removal: FileRemoval, text: str, base_blob_sha: str | None) -> Response:
    """Move the draft to the renamed page and lead to the comparison with its present text."""
    if removal.new_path is None:
        raise Conflict(_("This page was not renamed."))
    if read_draft(scope, removal.new_path) is not None:
        raise Conflict(_("You have another draft of the renamed page. Save or discard it first."))
    try:
        write_draft(scope, removal.new_path, text.encode(), base_blob_sha)
    except (
        InvalidRequest
    ):  # The history of some hosts ends at a rename. Without the base, both texts are compared as a whole.
        write_draft(scope, removal.new_path, text.encode(), None)
    follow_rename(scope, scope.path["file"], removal.new_path)
    delete_draft(scope, scope.path["file"])
    return see_other(file_url(scope, "conflict", removal.new_path))
