"""The images of the repository: a grid, thumbnails, and uploads."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, BinaryIO, cast
from urllib.parse import quote

from flask import Response
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.concurrency.bounded import ConcurrencyLimiter
from app.console.blueprint import blueprint
from app.console.files.destinations import INPUTS, destination, proposals, save
from app.console.files.page_source import branch_source, present_head, read_schema
from app.console.files.scope import BASE, MEMBER, project_url, proposed_url
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.schema.model import ContentSchema
from app.core.errors import AppError, Conflict, FieldError, NotFound, ServiceUnavailable
from app.core.limits import MIB
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.git.errors import TooLargeToRead
from app.extensions import current_settings, drivers
from app.http.validation import Length, RequestQuery
from app.images.worker import ImageProcesses, remake
from app.resources.project_content.images import has_thumbnail, shared_folder, site_roots
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.search.references import Backlink, count_pages, list_images, uses
from app.resources.project_content.source import Source
from app.resources.project_content.tree.folder_listing import has_blob

PER_PAGE = 60


@dataclass(frozen=True, kw_only=True)
class MediaQuery(RequestQuery):
    """A filter and a page of the images."""

    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]
    page: Annotated[int, fields.Integer(load_default=1, validate=validate.Range(1, 10_000))]


def _read_branch(scope: ProjectScope, query: MediaQuery) -> tuple[str, ContentSchema]:
    return present_head(scope), read_schema(scope)


@blueprint.get(f"{BASE}/media")
@Page(guard=MEMBER, query=MediaQuery, upstream=_read_branch)
def media(*, scope: ProjectScope, query: MediaQuery, prepared: tuple[str, ContentSchema]) -> Response:
    """Show the images of the repository."""
    head, schema = prepared
    listed = list_images(scope.index, query.q, offset=(query.page - 1) * PER_PAGE, limit=PER_PAGE)
    return page(
        "project/media.html",
        images=listed.images,
        more=query.page + 1 if listed.total > query.page * PER_PAGE else None,
        query=query,
        head=head,
        has_thumbnail=has_thumbnail,
        pages=count_pages(scope.project, scope.index, [image.path for image in listed.images], schema),
        folder=shared_folder(site_roots(scope.project, scope.index), schema),
        proposals=proposals(scope, _("New images")),
    )


def usage_of(scope: ProjectScope, path: str, schema: ContentSchema) -> list[Backlink] | None:
    """Return the files that use an image with their titles, or None until the image and all texts are indexed."""
    try:
        listed = uses(scope.project, scope.index, FileQuery.loaded({"file": path}).file, schema)
    except NotFound:
        return None
    is_complete = scope.index is not None and scope.index.described_sha == scope.index.commit_sha
    return listed if listed or is_complete else None


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


LIST_WIDTH, GRID_WIDTH = 96, 480
"""Twice the width on the page and more, for screens with small pixels and for images that are cut to a square."""

HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}
NO_THUMBNAIL = b"-"
"""The cached value of a file that is not an image, is damaged, or is too large to decode."""

image_processes = ImageProcesses(memory_bytes=1024 * MIB, slots=ConcurrencyLimiter(per_key=2, total=3))
"""The thumbnails that a web process creates at the same time, two of three for a user. Uploads have own processes."""


@dataclass(frozen=True, kw_only=True)
class ThumbnailQuery(RequestQuery):
    """The width of a thumbnail in pixels."""

    width: Annotated[int, fields.Integer(load_default=LIST_WIDTH, validate=validate.OneOf([LIST_WIDTH, GRID_WIDTH]))]


def _read(scope: ProjectScope, query: ThumbnailQuery) -> bytes:
    """Return the thumbnail of a blob of the branch. The first request creates it. Raises NotFound."""
    sha = scope.path["sha"]
    if not is_sha(sha) or not has_blob(scope.index, sha):
        raise NotFound
    key, source, user_id = f"{scope.project.id}/{sha}-{query.width}", branch_source(scope), scope.caller.id
    with transactions.outside_transaction():
        data = drivers.thumbnails.get(key)
        if not data:
            with image_processes.slot(user_id):
                data = _create(source, sha, query.width)
            drivers.thumbnails.put(key, data)
    if data == NO_THUMBNAIL:
        raise NotFound
    return data


def _create(source: Source, sha: str, width: int) -> bytes:
    """Decode a blob in a separate process, and return its thumbnail. Needs a slot."""
    limits = current_settings().limits
    try:
        with tempfile.TemporaryFile() as original, tempfile.TemporaryFile() as output:
            original.writelines(source.repository.open_blob(sha, max_bytes=limits.outbound.file_bytes))
            files = cast("BinaryIO", original), cast("BinaryIO", output)
            remake(*files, limits.upload, width=width, is_thumbnail=True, processes=image_processes)
            return output.read()
    except ServiceUnavailable:
        raise
    except (AppError, TooLargeToRead):
        return NO_THUMBNAIL


@blueprint.get(f"{BASE}/thumbnail/<sha>")
@Page(guard=MEMBER, query=ThumbnailQuery, upstream=_read)
def thumbnail(*, scope: ProjectScope, query: ThumbnailQuery, prepared: bytes) -> Response:
    """Return a small version of an image of the branch."""
    return Response(prepared, mimetype="image/webp", headers=HEADERS)
