"""The content of a project: folders and files, and their creation, renaming and deletion."""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from flask import Response, request
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.destinations import (
    ADDRESS,
    INPUTS,
    destination,
    is_proposal,
    may_only_propose,
    move_edits,
    save,
    sent_path,
)
from app.console.files.page_source import branch_source, present_head, read_schema_before_calls
from app.console.files.scope import BASE, EDITOR, MEMBER, EditorScope, edit_url, proposed_url
from app.console.shell import frame
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, lead_back, notice_query, query_of_page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.entry_files import EntryFiles, folder_of_index
from app.content.schema.new_entry import can_create_in
from app.extensions import drivers
from app.http.validation import Length, RequestQuery
from app.resources.change_set.queries import sets_of_paths
from app.resources.project_content import unreadable
from app.resources.project_content.entry_changes import entries_to_change, require_movable, require_permitted
from app.resources.project_content.index import indexes
from app.resources.project_content.schema.site_content import site_content
from app.resources.project_content.tree.folder_listing import FolderPage, FolderView, ListOrder, list_folder


@dataclass(frozen=True, kw_only=True)
class FolderQuery(RequestQuery):
    """The view of a folder."""

    view: Annotated[str, fields.String(load_default="list", validate=validate.OneOf(["list", "tree"]))]
    sort: Annotated[str, fields.String(load_default="name", validate=validate.OneOf([*ListOrder]))]
    state: Annotated[str, fields.String(load_default="all", validate=validate.OneOf(["all", "draft", "published"]))]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]
    page: Annotated[int, fields.Integer(load_default=1, validate=validate.Range(1, 10_000))]
    hidden: Annotated[str, fields.String(load_default="omit", validate=validate.OneOf(["omit", "show"]))]


class OpenFolder(NamedTuple):
    """The present head, the path of a folder, whether it accepts new pages, and a page of its folders and files."""

    head: str
    path: str
    can_create: bool
    listed: FolderPage


def _open(scope: ProjectScope, query: FolderQuery) -> OpenFolder:
    """Read a folder. A form for selected files names the folder from which it was sent."""
    head, path = present_head(scope), (scope.path.get("folder") or current_form().text("folder")).strip("/")
    index = indexes.mark_stale_if_moved(scope.project, scope.index, hosts=drivers.git)
    content = site_content(scope.project, scope.index, hosts=drivers.git, by=scope.caller)
    view = FolderView(
        path,
        is_recursive=query.view == "tree",
        order=ListOrder(query.sort),
        is_draft=None if query.state == "all" else query.state == "draft",
        term=query.q,
        hidden=content.hidden if query.hidden == "omit" else None,
    )
    # A form that failed keeps its selection, also that of other pages of the list.
    listed = list_folder(scope.project, index, view, page=query.page, selected=current_form().all("select"))
    return OpenFolder(head, path, can_create_in(content.schema, path), listed)


@blueprint.get(f"{BASE}/content/")
@blueprint.get(f"{BASE}/content/<path:folder>", endpoint="folder_below")
@Page(guard=MEMBER, query=FolderQuery, upstream=_open)
def folder(*, scope: ProjectScope, query: FolderQuery, prepared: OpenFolder) -> Response:
    """Show the subfolders and files of a folder."""
    listed = prepared.listed
    return page(
        "project/folder.html",
        opened=prepared,
        selected=set(current_form().all("select")),
        query=query,
        shown_query=urlencode(query_of_page()),
        more=urlencode({**request.args, "page": query.page + 1}) if listed.has_more else None,
        only_proposes=may_only_propose(scope),
        also=sets_of_paths(scope.project.id, [file.path for file in listed.files]),
        unreadable=unreadable.paths(scope.index),
    )


@blueprint.post(f"{BASE}/rename/<path:file>")
@Page(
    guard=EDITOR,
    inputs=("base_sha", "base_blob_sha", *ADDRESS, *INPUTS),
    shown_by="edit",
    names={"files.0.path": "new_path"},
)
def rename_file(*, scope: EditorScope, form: Form) -> Response:
    """Rename an entry or move it to another folder."""
    path, address = scope.path["file"], sent_path(form)
    if address in (path, folder_of_index(path, scope.project.generator)):
        return see_other(edit_url(scope, path, "done=unchanged"))
    message = _("Rename %(old)s to %(new)s", old=path, new=address)
    with destination(scope, form, message) as to:
        entry = _entry(to, form, path)
        new = entry.page_at(address)
        source, head = branch_source(to), present_head(to)
        require_movable(source, head, [(entry, new)], to.project.generator, field="new_path")
        [moved] = move_edits(to, [(entry, new)])
        edits = _checked(moved, form, path)
        saved = save(to, message, form.text("base_sha"), *edits, merges=is_proposal(form))
    query = notice_query("renamed", saved["commit_sha"]) if to.change_set is None else notice_query("saved", None)
    return see_other(edit_url(to, new, urlencode(query)))


def _entry(to: EditorScope, form: Form, path: str, *, deletes: bool = False) -> EntryFiles:
    """Return the files of the entry that a form changes."""
    source, generator = branch_source(to), to.project.generator
    base_sha = None if is_proposal(form) else form.text("base_sha")
    [entry] = entries_to_change(source, present_head(to), [path], generator, base_sha=base_sha, deletes=deletes)
    require_permitted(read_schema_before_calls(to), [entry])
    return entry


def _checked(edits: list[dict[str, Any]], form: Form, path: str) -> list[dict[str, Any]]:
    """Return the edits, that of the page with the version that the form showed."""
    sha = form.text("base_blob_sha")
    return [
        edit | ({"base_blob_sha": sha} if edit.get("previous_path", edit["path"]) == path else {}) for edit in edits
    ]


@blueprint.post(f"{BASE}/delete/<path:file>")
@Page(guard=EDITOR, inputs=("base_sha", "base_blob_sha", *INPUTS), shown_by="edit")
def delete_file(*, scope: EditorScope, form: Form) -> Response:
    """Delete an entry and lead to the list that contained it, with a button that undoes the deletion."""
    path = scope.path["file"]
    message = _("Delete %(name)s", name=path)
    with destination(scope, form, message) as to:
        files = _entry(to, form, path, deletes=True).files
        edits = _checked([{"path": file, "action": "delete"} for file in files], form, path)
        saved = save(to, message, form.text("base_sha"), *edits, merges=is_proposal(form))
    if to.change_set is not None:
        return see_other(proposed_url(to))
    return lead_back(frame.current().list_url(), "deleted", undo=saved["commit_sha"])
