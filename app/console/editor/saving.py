"""Saving of an edited file with its images, on the site or in a change set.

If another user changed the file since, the draft is compared.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import Response

from app.access.scope import ProjectScope
from app.console.editor.draft_images import finish_draft, images_of, move_draft_images, taken_names
from app.console.files.destinations import (
    REVIEW,
    SAVE_TO,
    SetEnded,
    SetPublishing,
    ask_without_save,
    chosen_set,
    destination,
    is_proposal,
    save,
)
from app.console.files.page_source import (
    STORED,
    OpenFile,
    branch_source,
    delete_draft,
    open_after_set,
    open_present,
    present_head,
    read_draft,
    write_draft,
)
from app.console.files.scope import EditorScope, edit_url, file_url, find_set, in_set
from app.console.shell.forms import Form
from app.console.shell.pages import see_other
from app.console.shell.translation import gettext as _
from app.content.site_roots import MediaFolder
from app.core.errors import Conflict, InvalidRequest, NotFound
from app.core.paths import folded
from app.drivers.git.commit_plan import PLAIN
from app.drivers.git.object_ids import blob_sha
from app.drivers.git.port import EntryType, TreeEntry
from app.http.body_admission import hold
from app.models.change_set import ChangeSetState
from app.models.project_content import DraftImage
from app.resources.project_content.images import site_roots
from app.resources.project_content.tree.folder_listing import names_in_folder
from app.resources.project_draft import images

CONFLICTS = (Conflict.code, "BASE_GONE")


@dataclass(frozen=True)
class ImagePlan:
    """The images that a save of a text commits.

    `data` is the text with the names that the images receive, `files` are the edits, and `ids` the images that the
    branch contains after the save.
    """

    data: bytes
    files: Sequence[dict[str, Any]] = ()
    ids: Sequence[str] = ()
    is_renamed: bool = False


def plan_images(
    scope: ProjectScope, path: str, data: bytes, *, to: ProjectScope | None = None, new_path: str | None = None
) -> ImagePlan:
    """Return how a save of a text commits the images of its draft that the text or its front matter names.

    The files of a copied entry are committed in any case, unless the branch has received another file of the name.

    An image whose name the branch has received since the upload gets the next free name, also in the text. `to` is the
    scope in which the text is saved, and `new_path` its path, if they are not those of the draft.

    Raises:
        Conflict: an image cannot be renamed in the text.
    """
    listed = images_of(scope, path)
    named = images.named_in(data, path, listed, site_roots(scope.project, scope.index))
    committed = [image for image in listed if image in named or image.blob_sha is not None]
    if not committed:
        return ImagePlan(data)
    hold(sum(image.size for image in committed if image.blob_sha is None))
    to = to or scope
    paths = {image.id: images.moved_path(image, path, new_path or path) for image in committed}
    source = branch_source(to)
    present = source.repository.entries(present_head(to), list(paths.values()))
    text, files, ids = data, list[dict[str, Any]](), list[str]()
    for image in committed:
        content, target = images.content(image.id), paths[image.id]
        if content is None and image.blob_sha is None:
            continue
        ids.append(image.id)
        if target in present and present[target].sha == (image.blob_sha or blob_sha(content or b"")):
            continue  # An interrupted save has committed it, or the branch has received the same image.
        if target in present or _has_other_case(to, target):
            if image not in named:
                continue
            target, text = _renamed(to, image, target, path, text, paths.values())
        files.append({"path": target, "action": "create", **_written(target, image, content)})
    return ImagePlan(text, files, ids, is_renamed=text != data)


def _written(path: str, image: DraftImage, content: bytes | None) -> dict[str, Any]:
    """Return the bytes of the file of an image, or the blob that the repository has."""
    if image.blob_sha is None:
        return {"content": content}
    if content is not None:
        hold(image.size)
        return {"content": content}
    return {"blob": TreeEntry(path, EntryType.BLOB, PLAIN, image.blob_sha, image.size)}


def _has_other_case(scope: ProjectScope, target: str) -> bool:
    """Return whether the folder of a path has a file whose name differs in case only."""
    folder, _slash, name = target.rpartition("/")
    others = (other for other in names_in_folder(scope.index, folder) if other != name)
    return folded(name) in map(folded, others)


def _renamed(
    scope: ProjectScope, image: DraftImage, target: str, path: str, data: bytes, others: Iterable[str]
) -> tuple[str, bytes]:
    """Return another path for an image whose name is taken, and the text with the address of this path."""
    folder, _slash, name = target.rpartition("/")
    planned = {folded(other.rpartition("/")[2]) for other in others}
    new_name = images.free_names(name, planned | taken_names(scope, MediaFolder(folder, ""), name))[0]
    new_url = f"{image.url.removesuffix(image.name)}{new_name}"
    text = data.decode("utf-8", "surrogateescape")
    for url in {image.url, quote(image.url)}:
        pattern = rf"(?<![\w./~@%-])((?:\./)?){re.escape(url)}(?![\w-]|\.\w)"
        text = re.sub(pattern, lambda match: match[1] + new_url, text)
    renamed = text.encode("utf-8", "surrogateescape")
    if images.named_in(renamed, path, [image], site_roots(scope.project, scope.index)):
        message = _("“%(name)s” exists now. Remove the image from the page and upload it again.", name=image.name)
        raise Conflict(message, code="NAME_TAKEN")
    return f"{folder}/{new_name}" if folder else new_name, renamed


def follow_rename(scope: ProjectScope, path: str, new_path: str) -> None:
    """Attach the images of a draft to the renamed page to which the draft moves."""
    paths = {image.id: images.moved_path(image, path, new_path) for image in images_of(scope, path)}
    if paths:
        move_draft_images(scope, path, scope, new_path, paths)


def save_edit(
    scope: EditorScope, opened: OpenFile, data: bytes, form: Form, *, mode: str = "rich", unchanged: str = "unchanged"
) -> Response:
    """Save new bytes of an opened file with the images that they name, where the form says.

    Leads to the editor or, after a conflict, to the comparison. `unchanged` is the notice if there is nothing to save.

    Raises:
        Conflict: an image cannot be stored under its name. The draft keeps the text and the images.
        SetEnded: the change set of the page was published or closed.
    """
    change_set = chosen_set(scope, form)
    to = scope if change_set is None else in_set(scope, change_set)
    plan = plan_images(scope, opened.path, data, to=to)
    is_changed = plan.data != opened.data or opened.is_new
    if not is_changed and not plan.files:
        if STORED not in form.values:  # A draft that this form did not change is that of another tab.
            finish_draft(scope, opened.path, plan.ids)
        done = "proposed" if ask_without_save(scope, form) else unchanged
        return see_other(edit_url(scope, opened.path, f"mode={mode}&done={done}"))
    file = {
        "path": opened.path,
        "action": "create" if opened.is_new else "update",
        "content": plan.data,
        "base_blob_sha": opened.blob_sha or None,
    }
    default = _("Create %(name)s", name=opened.path) if opened.is_new else _("Update %(name)s", name=opened.path)
    message, files = form.text("message").strip() or default, [*([file] if is_changed else []), *plan.files]
    try:
        if is_proposal(form) and change_set is None:
            _require_unchanged(scope, opened)
        with destination(scope, form, message) as to:
            saved = save(to, message, opened.base_sha, *files, merges=change_set is not None, shares=is_changed)
    except Conflict as error:
        if error.code not in CONFLICTS or isinstance(error, SetEnded | SetPublishing):
            raise
        present = _present(to, opened.path)
        if present is not None and present.data == plan.data and not plan.files:  # The same form was sent twice.
            return _saved(scope, to, opened, plan, present.base_sha, _done(form, to, plan, mode), opened.path)
        if change_set is not None:
            return _compare_in_set(scope, to, opened, data)
        write_draft(scope, opened.path, data, opened.blob_sha, base_sha=opened.base_sha)
        faults = {field.path for field in error.fields}
        if faults and faults <= {file["path"] for file in plan.files}:
            raise Conflict(_("An image has the name of a new file of the site. Save again.")) from error
        return see_other(file_url(scope, "conflict", opened.path))
    own = {str(file["path"]) for file in plan.files}
    new = [file["path"] for file in saved["files"] if file["path"] not in own]  # A merge follows the rename of a file.
    path = opened.path if opened.path in new else next(iter(new), opened.path)
    return _saved(scope, to, opened, plan, saved["commit_sha"], _done(form, to, plan, mode), path)


def _done(form: Form, to: EditorScope, plan: ImagePlan, mode: str) -> str:
    """Return the query of the editor after a save: the mode, and the notice."""
    change_set = find_set(to, to.change_set.id) if to.change_set is not None and form.text(SAVE_TO) == REVIEW else None
    is_requested = change_set is not None and change_set.state == ChangeSetState.IN_REVIEW
    return f"mode={mode}&done={'saved-renamed' if plan.is_renamed else 'proposed' if is_requested else 'saved'}"


def _saved(
    scope: EditorScope, to: EditorScope, opened: OpenFile, plan: ImagePlan, commit_sha: str, done: str, path: str
) -> Response:
    finish_draft(scope, opened.path, plan.ids)
    change = f"&since={opened.base_sha}&change={commit_sha}" if to.change_set is None else ""
    return see_other(edit_url(to, path, f"{done}{change}"))


def _compare_in_set(scope: EditorScope, to: EditorScope, opened: OpenFile, data: bytes) -> Response:
    """Move the text into the change set as a draft, and lead to the comparison with the version of the set."""
    move_draft(scope, to, opened.path, data, (opened.blob_sha, opened.base_sha))
    return see_other(file_url(to, "conflict", opened.path))


def move_draft(
    scope: ProjectScope, to: EditorScope, path: str, data: bytes, base: tuple[str | None, str | None]
) -> None:
    """Store a text as the draft of another version of a file, with the images of its draft, which is deleted.

    `base` are the blob and the commit from which the text started.

    Raises:
        Conflict: the other version has another draft, or an image with the name of an image.
    """
    if read_draft(to, path) is not None:
        if to.change_set is None:
            raise Conflict(_("You have another draft of this page on the site. Save or discard it first."))
        message = _("You have another draft of this page in “%(title)s”. Save or discard it first.")
        raise Conflict(message % {"title": to.change_set.title})
    images = {image.id: image.path for image in images_of(scope, path)}
    if images:
        move_draft_images(scope, path, to, path, images)
    blob_sha, base_sha = base
    try:
        write_draft(to, path, data, blob_sha, base_sha=base_sha or None)
    except InvalidRequest:  # The other version never contained the base. Both texts are compared as a whole.
        write_draft(to, path, data, None)
    delete_draft(scope, path)


def move_to_site(scope: EditorScope) -> Response:
    """Move the draft of a page of an ended change set to the site, and lead to the page there.

    Raises:
        Conflict: the page of the site has another draft.
    """
    site, path = in_set(scope, None), scope.path["file"]
    draft = read_draft(scope, path)
    if draft is not None:
        move_draft(scope, site, path, draft["content"].encode(), (draft["base_blob_sha"], None))
    return _continue_on_site(site, path)


Rebase = Callable[[OpenFile], bytes]
"""Returns the text of a form as a change of a version of the site."""


def save_or_leave(
    scope: EditorScope,
    opened: OpenFile,
    data: bytes,
    form: Form,
    rebase: Rebase,
    *,
    mode: str = "rich",
    unchanged: str = "unchanged",
) -> Response:
    """Save as `save_edit`. If the change set of the page has ended since, continue with the form on the site."""
    try:
        return save_edit(scope, opened, data, form, mode=mode, unchanged=unchanged)
    except SetEnded:
        if scope.change_set is None:
            raise
        return leave_set(scope, form, rebase)


def leave_set(scope: EditorScope, form: Form, rebase: Rebase) -> Response:
    """Store the text of a form of an ended change set as a draft of the site, and lead to the page there.

    Raises as `move_to_site`.
    """
    site = in_set(scope, None)
    opened = open_after_set(site, form)
    data = rebase(opened)
    if data != opened.data or opened.is_new:
        move_draft(scope, site, opened.path, data, (opened.blob_sha, opened.base_sha))
    else:
        delete_draft(scope, opened.path)
    return _continue_on_site(site, opened.path)


def _continue_on_site(site: EditorScope, path: str) -> Response:
    return see_other(edit_url(site, path, "done=set-ended"))


def _require_unchanged(scope: EditorScope, opened: OpenFile) -> None:
    """Require the version of the site from which an edit started, before a change set is created. Raises Conflict."""
    present = _present(scope, opened.path)
    if (present.blob_sha if present is not None else "") != opened.blob_sha:
        raise Conflict


def _present(scope: ProjectScope, path: str) -> OpenFile | None:
    try:
        return open_present(scope, path)
    except NotFound:
        return None
