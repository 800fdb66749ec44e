"""The images of the repository: a grid, and uploads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from flask import Response
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.destinations import INPUTS, destination, proposals, save
from app.console.files.page_source import present_head
from app.console.files.scope import BASE, MEMBER, project_url, proposed_url
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.core.errors import Conflict, FieldError, NotFound
from app.http.validation import Length, RequestQuery
from app.resources.project_content.images import has_thumbnail, media_folder
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.search.references import Backlink, backlinks, count_pages, list_images

PER_PAGE = 60


@dataclass(frozen=True, kw_only=True)
class MediaQuery(RequestQuery):
    """A filter and a page of the images."""

    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]
    page: Annotated[int, fields.Integer(load_default=1, validate=validate.Range(1, 10_000))]


def _read_head(scope: ProjectScope, query: MediaQuery) -> str:
    return present_head(scope)


@blueprint.get(f"{BASE}/media")
@Page(guard=MEMBER, query=MediaQuery, upstream=_read_head)
def media(*, scope: ProjectScope, query: MediaQuery, prepared: str) -> Response:
    """Show the images of the repository."""
    listed = list_images(scope.index, query.q, offset=(query.page - 1) * PER_PAGE, limit=PER_PAGE)
    return page(
        "project/media.html",
        images=listed.images,
        more=query.page + 1 if listed.total > query.page * PER_PAGE else None,
        query=query,
        head=prepared,
        has_thumbnail=has_thumbnail,
        pages=count_pages(scope.project, scope.index, [image.path for image in listed.images]),
        folder=media_folder(scope.project),
        proposals=proposals(scope, _("New images")),
    )


def usage_of(scope: ProjectScope, path: str) -> list[Backlink] | None:
    """Return the files that refer to an image with their titles, or None until the image is indexed."""
    try:
        return backlinks(scope.project, scope.index, FileQuery.loaded({"file": path}).file)
    except NotFound:
        return None


@blueprint.post(f"{BASE}/media")
@Page(guard=MEMBER, inputs=("file", "base_sha", "folder", *INPUTS), shown_by="media", names={"files.0.path": "folder"})
def upload_media(*, scope: ProjectScope, form: Form) -> Response:
    """Add an image to the repository."""
    name, file = form.image("file")
    path = f"{form.text('folder').strip().strip('/')}/{name}".lstrip("/")
    message = _("Add %(name)s", name=path)
    with _conflict_of_folder(), destination(scope, form, message) as to:
        base_sha = form.text("base_sha") if to.change_set is None else ""
        change = {"path": path, "action": "create", "content": file.read()}
        save(to, message, base_sha or present_head(to), change)
    if to.change_set is not None:
        return see_other(proposed_url(to))
    return see_other(project_url(scope, f"/media?done=uploaded&q={quote(name)}"))


@contextmanager
def _conflict_of_folder() -> Iterator[None]:
    """Show a conflict at the input of the folder: the file that has the name of the image is in it."""
    try:
        yield
    except Conflict as error:
        if not error.fields:
            raise
        message = error.fields[0].message
        raise Conflict(message, fields=[FieldError("folder", message)]) from error
