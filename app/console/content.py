"""The content of a project: folders and files, and their creation, renaming and deletion."""

import json
import re
from typing import Any
from urllib.parse import quote, urlencode

from flask import Response, request
from marshmallow import fields, validate

from app.access.scope import Scope
from app.console import api
from app.console.blueprint import blueprint
from app.console.forms import Form
from app.console.pages import Page, see_other
from app.console.project_home import BASE, MEMBER, project_url
from app.console.rendering import page
from app.console.translation import gettext as _
from app.content.filetypes import file_type
from app.core import clock
from app.core.errors import InvalidRequest
from app.database import session
from app.extensions import drivers
from app.http.validation import RequestSchema
from app.resources.project_content import index_freshness
from app.resources.project_content import routes as content
from app.resources.project_content.folder_listing import ListedFile, ListedFolder, list_folder
from app.resources.project_content.source import source_of

PER_PAGE = 100
SORTS = ("name", "title", "date")


class FolderQuery(RequestSchema):
    """The view of a folder."""

    view = fields.String(load_default="list", validate=validate.OneOf(["list", "tree"]))
    sort = fields.String(load_default="name", validate=validate.OneOf(SORTS))
    q = fields.String(load_default="", validate=validate.Length(max=200))
    page = fields.Integer(load_default=1, validate=validate.Range(1, 10_000))


def save(scope: Scope, message: str, base_sha: str, *files: dict[str, Any]) -> dict[str, Any]:
    """Save files as one change. Raises SaveConflict and the errors of the schema."""
    data = {"message": message, "base_sha": base_sha, "files": list(files)}
    result: dict[str, Any] = api.write(content.commit, scope.path, data)
    return result


Listing = tuple[str, list[ListedFolder], list[ListedFile]]


def _list(scope: Scope, query: dict[str, Any]) -> Listing:
    """Return the present head, and the folders and files of the index."""
    source = source_of(scope.project, drivers.git, actor=scope.caller)
    session.release_connection()
    head = source.git.head(source.repo, source.branch)
    index = index_freshness.mark_stale_if_moved(scope.project, scope.index, hosts=drivers.git)
    folders, files = list_folder(scope.project, index, _folder_path(scope), is_recursive=query["view"] == "tree")
    return head, folders, files


def _folder_path(scope: Scope) -> str:
    return scope.path.get("folder", "").strip("/")


@blueprint.get(f"{BASE}/content/")
@blueprint.get(f"{BASE}/content/<path:folder>", endpoint="folder_below")
@Page(guard=MEMBER, query=FolderQuery, prepare=_list)
def folder(*, scope: Scope, query: dict[str, Any], prepared: Listing) -> Response:
    """Show the subfolders and files of a folder."""
    path = _folder_path(scope)
    head, folders, files = prepared
    term = query["q"].casefold()
    if term:
        files = [file for file in files if term in f"{file.name} {file.title or ''}".casefold()]
        folders = [one for one in folders if term in one.name.casefold()]
    files.sort(key=lambda file: _sort_key(file, query["sort"]), reverse=query["sort"] == "date")
    last = query["page"] * PER_PAGE
    more = {**request.args, "page": query["page"] + 1} if len(files) > last else None
    return page(
        "project/folder.html",
        folder=path,
        folders=folders if query["page"] == 1 else [],
        files=files[last - PER_PAGE : last],
        total=len(files),
        query=query,
        more=urlencode(more) if more else None,
        head=head,
        parents=_parents(path),
    )


def _sort_key(file: ListedFile, by: str) -> tuple[str, str]:
    keys = {"name": "", "title": (file.title or file.name).casefold(), "date": file.date or ""}
    return keys[by], file.path


def _parents(path: str) -> list[tuple[str, str]]:
    """Return the names and paths of the folders above a path."""
    segments = path.split("/") if path else []
    return [(segments[number], "/".join(segments[: number + 1])) for number in range(len(segments))]


@blueprint.post(f"{BASE}/content/")
@blueprint.post(f"{BASE}/content/<path:folder>", endpoint="create_file_below")
@Page(guard=MEMBER, takes_form=True, shown_by="folder_below", names={"files.0.path": "name"})
def create_file(*, scope: Scope, form: Form) -> Response:
    """Create a page in a folder."""
    folder, title = _folder_path(scope), form.text("title").strip()
    name = form.text("name").strip().lstrip("/") or f"{_slug(title) or 'page'}.md"
    if not title and not form.text("name").strip():
        raise InvalidRequest.field("title", _("Enter a title or a file name."))
    if "." not in name.rpartition("/")[2]:
        name = f"{name}.md"
    path = f"{folder}/{name}" if folder else name
    file = {"path": path, "action": "create", "content": _template(path, title)}
    save(scope, _("Create %(name)s", name=path), form.text("base_sha"), file)
    return see_other(project_url(scope, f"/edit/{quote(path)}?done=created"))


def _slug(title: str) -> str:
    """Return a file name for a title: letters and digits of any script, separated by hyphens."""
    return re.sub(r"[\W_]+", "-", title.casefold()).strip("-")[:80]


def _template(path: str, title: str) -> str:
    """Return the text of a new file. A Markdown file starts with title, date and draft state."""
    if file_type(path).language not in ("markdown", "mdx", "markdoc"):
        return ""
    date = clock.now().date().isoformat()
    return f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\ndate: {date}\ndraft: true\n---\n\n"


@blueprint.post(f"{BASE}/rename/<path:file>")
@Page(guard=MEMBER, takes_form=True, shown_by="edit", names={"files.0.path": "new_path"})
def rename_file(*, scope: Scope, form: Form) -> Response:
    """Rename a file or move it to another folder."""
    old, new = scope.path["file"], form.text("new_path").strip().strip("/")
    if old == new:
        return see_other(project_url(scope, f"/edit/{quote(old)}?done=unchanged"))
    file = {"path": new, "action": "move", "previous_path": old, "base_blob_sha": form.text("base_blob_sha")}
    save(scope, _("Rename %(old)s to %(new)s", old=old, new=new), form.text("base_sha"), file)
    return see_other(project_url(scope, f"/edit/{quote(new)}?done=renamed"))


@blueprint.post(f"{BASE}/delete/<path:file>")
@Page(guard=MEMBER, takes_form=True, shown_by="edit")
def delete_file(*, scope: Scope, form: Form) -> Response:
    """Delete a file. The history keeps its versions."""
    path = scope.path["file"]
    file = {"path": path, "action": "delete", "base_blob_sha": form.text("base_blob_sha")}
    save(scope, _("Delete %(name)s", name=path), form.text("base_sha"), file)
    folder = path.rpartition("/")[0]
    return see_other(project_url(scope, f"/content/{quote(folder)}?done=deleted"))


@blueprint.post(f"{BASE}/bulk-delete")
@Page(guard=MEMBER, takes_form=True, shown_by="folder")
def delete_files(*, scope: Scope, form: Form) -> Response:
    """Delete the selected files as one change."""
    paths = form.all("select")
    if not paths:
        raise InvalidRequest(_("Select at least one file."))
    files = ({"path": path, "action": "delete"} for path in paths)
    save(scope, _("Delete %(count)s files", count=len(paths)), form.text("base_sha"), *files)
    folder = form.text("folder")
    return see_other(project_url(scope, f"/content/{quote(folder)}?done=deleted"))
