"""The images of the repository: a grid, thumbnails, uploads, and the deletion of selected images."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, BinaryIO, cast
from urllib.parse import urlencode

from flask import Response
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.concurrency.bounded import ConcurrencyLimiter
from app.console.blueprint import blueprint
from app.console.files.destinations import INPUTS, destination, may_only_propose, proposals, save
from app.console.files.page_source import branch_source, present_head, read_schema
from app.console.files.scope import BASE, MEMBER, project_url, proposed_url
from app.console.project.bulk import CONFIRMED, delete_paths, selected_paths
from app.console.shell.field_labels import folder_label
from app.console.shell.forms import Form
from app.console.shell.pages import Page, current_form, page_again, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import gettext as _
from app.content.schema.model import ContentSchema
from app.core.errors import AppError, Conflict, FieldError, NotFound, ServiceUnavailable
from app.core.limits import MIB, CommitLimits
from app.core.refs import is_sha
from app.database import inserts, transactions
from app.drivers.git.errors import TooLargeToRead
from app.extensions import current_settings, drivers
from app.http.validation import Length, RequestQuery
from app.images.worker import ImageProcesses, remake
from app.resources.project_content.images import has_thumbnail, shared_folder, site_roots
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.search.references import (
    Backlink,
    ImageOrder,
    count_pages,
    image_folders,
    list_images,
    uses,
)
from app.resources.project_content.source import Source
from app.resources.project_content.tree.folder_listing import has_blob, titles_of

PER_PAGE = 60
MAX_FILES = 20
"""The images of one upload."""

MAX_NAMED = 20
"""The images of a deletion whose pages the question names."""

INDEX_PAGES = ("index.md", "index.mdx")


@dataclass(frozen=True, kw_only=True)
class MediaQuery(RequestQuery):
    """A filter, a folder, an order and a page of the images."""

    sort: Annotated[str, fields.String(load_default=ImageOrder.CHANGED, validate=validate.OneOf([*ImageOrder]))]
    folder: Annotated[str, fields.String(load_default="", validate=Length(max=1000))]
    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]
    page: Annotated[int, fields.Integer(load_default=1, validate=validate.Range(1, 10_000))]


def _read_branch(scope: ProjectScope, query: MediaQuery) -> tuple[str, ContentSchema]:
    return present_head(scope), read_schema(scope)


@blueprint.get(f"{BASE}/media")
@Page(guard=MEMBER, query=MediaQuery, upstream=_read_branch)
def media(*, scope: ProjectScope, query: MediaQuery, prepared: tuple[str, ContentSchema]) -> Response:
    """Show the images of the repository."""
    head, schema = prepared
    order, offset = ImageOrder(query.sort), (query.page - 1) * PER_PAGE
    listed = list_images(scope.index, query.q, folder=query.folder, order=order, offset=offset, limit=PER_PAGE)
    site, folders = site_roots(scope.project, scope.index, schema), image_folders(scope.project, scope.index)
    usual = shared_folder(site, schema)
    named = [usual, *(media.folder for media in site.declared), query.folder]
    return page(
        "project/media.html",
        images=listed.images,
        more=query.page + 1 if listed.total > query.page * PER_PAGE else None,
        query=query,
        head=head,
        has_thumbnail=has_thumbnail,
        pages=count_pages(scope.project, scope.index, [image.path for image in listed.images], schema),
        owners=_owners(scope, [image.path for image in listed.images]),
        folders=_labelled({**dict.fromkeys(filter(None, named), 0), **folders}),
        folder=query.folder or usual,
        question=_question(scope, schema),
        selected=set(current_form().all("select")),
        only_proposes=may_only_propose(scope),
        proposals=proposals(scope, _("New images")),
    )


def _labelled(folders: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Return folders with their labels and numbers of images, by label."""
    labelled = [(folder, folder_label(folder), images) for folder, images in folders.items()]
    return sorted(labelled, key=lambda entry: (entry[1].casefold(), entry[0]))


@dataclass(frozen=True)
class DeletionQuestion:
    """The selected images, the number of those that pages may use, and the pages of the first of them by path.

    The pages are None until all texts are indexed.
    """

    paths: Sequence[str]
    used: int
    pages: Mapping[str, Sequence[Backlink] | None]


def _question(scope: ProjectScope, schema: ContentSchema) -> DeletionQuestion | None:
    """Return the question of a form that deletes selected images without a confirmation."""
    form = current_form()
    if not form.is_repeated:
        return None
    paths, counts = selected_paths(form.all("select")), dict[str, int | None]()
    for part in inserts.batches(paths, PER_PAGE):
        counts |= count_pages(scope.project, scope.index, part, schema)
    return DeletionQuestion(paths, len(counts), {path: usage_of(scope, path, schema) for path in [*counts][:MAX_NAMED]})


def _owners(scope: ProjectScope, paths: Sequence[str]) -> dict[str, str]:
    """Return the titles of the pages whose folders contain images, by the path of the image."""
    pages = {path: [f"{path.rpartition('/')[0]}/{name}" for name in INDEX_PAGES] for path in paths if "/" in path}
    titles = titles_of(scope.project, scope.index, sorted({page for own in pages.values() for page in own}))
    owners = {path: next((titles[page] for page in own if titles.get(page)), None) for path, own in pages.items()}
    return {path: title for path, title in owners.items() if title}


def usage_of(scope: ProjectScope, path: str, schema: ContentSchema) -> list[Backlink] | None:
    """Return the files that use an image with their titles, or None until the image and all texts are indexed."""
    try:
        listed = uses(scope.project, scope.index, FileQuery.loaded({"file": path}).file, schema)
    except NotFound:
        return None
    is_complete = scope.index is not None and scope.index.described_sha == scope.index.commit_sha
    return listed if listed or is_complete else None


@blueprint.post(f"{BASE}/media")
@Page(
    guard=MEMBER,
    inputs=("file", "base_sha", "folder", *INPUTS),
    max_files=MAX_FILES,
    shown_by="media",
    names={f"files.{number}.path": "folder" for number in range(MAX_FILES)},
)
def upload_media(*, scope: ProjectScope, form: Form) -> Response:
    """Add images to the repository in one change."""
    folder, files = form.text("folder").strip().strip("/"), form.images("file")
    paths = [f"{folder}/{name}".lstrip("/") for name, _file in files]
    message = _("Add %(name)s", name=paths[0]) if len(paths) == 1 else _("New images")
    with _conflict_of_folder(), destination(scope, form, message) as to:
        base_sha = form.text("base_sha") if to.change_set is None else ""
        changes = [
            {"path": path, "action": "create", "content": file.read()}
            for path, (_name, file) in zip(paths, files, strict=True)
        ]
        save(to, message, base_sha or present_head(to), *changes)
    if to.change_set is not None:
        return see_other(proposed_url(to))
    shown = {"q": files[0][0]} if len(files) == 1 else {"folder": folder}
    return see_other(project_url(scope, f"/media?{urlencode({'done': 'uploaded', **shown})}"))


@blueprint.post(f"{BASE}/media/delete")
@Page(guard=MEMBER, inputs=("select", "select[]", "base_sha", "folder", CONFIRMED), shown_by="media")
def delete_media(*, scope: ProjectScope, form: Form) -> Response:
    """Delete the selected images in one commit. A form without the confirmation shows the question first."""
    paths = selected_paths(form.all("select"), most=CommitLimits.files)
    if not form.is_checked(CONFIRMED):
        form.is_repeated = True
        return page_again("media", dict(scope.path), form)
    # The confirmation does not include other files: those of a page that is no image.
    return delete_paths(scope, paths, form.text("base_sha"), is_confirmed=False).lead(project_url(scope, "/media"))


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
