"""Images of drafts in the editor: uploads, the list of images that a page can name, and their bytes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from flask import Response, request
from marshmallow import fields
from werkzeug.datastructures import FileStorage

from app.access.scope import ProjectScope
from app.console.blueprint import blueprint
from app.console.files.field_inputs import InputKind
from app.console.files.field_lists import INPUT, KIND, path_of
from app.console.files.page_source import (
    IMAGE,
    branch_source,
    change_draft,
    checked_key,
    draft_key,
    open_present,
    present_head,
    read_draft,
    read_schema,
)
from app.console.files.scope import BASE, EDITOR, project_url
from app.console.files.simple_page import draft_image_url
from app.console.project.media import GRID_WIDTH
from app.console.shell.forms import Form, image_name, no_image
from app.console.shell.pages import Page
from app.console.shell.translation import gettext as _
from app.content.filetypes import BINARY, file_type
from app.content.image_types import HEAD_BYTES, is_image, is_image_content
from app.content.page_text import read_page
from app.content.schema.model import Collection, ContentSchema, SchemaField
from app.content.schema.validation import collection_of
from app.content.site_roots import MediaFolder
from app.core.errors import (
    AppError,
    FieldError,
    NotFound,
    PayloadTooLarge,
)
from app.core.limits import MIB, DraftLimits
from app.core.paths import folded
from app.database import transactions
from app.drivers.git.errors import GitObjectMissing, TooLargeToRead
from app.http import caching
from app.http.envelope import json_response
from app.http.validation import Length, RequestQuery
from app.models.project_content import DraftImage
from app.resources.project_content.images import (
    address_of,
    field_at,
    has_thumbnail,
    known_folders,
    raw_url,
    site_roots,
    upload_folder,
)
from app.resources.project_content.responses import stream_file
from app.resources.project_content.search.references import ListedImage, list_images
from app.resources.project_content.tree.folder_listing import names_in_folder
from app.resources.project_draft import actions, images

CHECKED_NAMES = 20
"""The first names of an image that are also compared with the head of the branch, which can be newer than its index."""

MAX_LISTED = 60
"""The images of the repository that a list contains."""


def finish_draft(scope: ProjectScope, path: str, ids: Sequence[str] = (), *, content: str | None = None) -> None:
    """Delete the draft of a file after its save, with the images that the save has committed.

    With `content`, a draft that has another text now stays.
    """
    change_draft(scope, path, lambda draft: actions.finish_draft(draft, ids, content=content))


def move_draft_images(
    scope: ProjectScope, path: str, to: ProjectScope, new_path: str, paths: Mapping[str, str]
) -> None:
    """Attach the images of a draft to the draft of another file or version. `paths` contains their paths by id.

    Raises:
        Conflict: another draft of this version has an image with one of the paths.
    """
    target = checked_key(to, new_path)
    change_draft(scope, path, lambda draft: images.move(draft, target, paths))


def images_of(scope: ProjectScope, path: str) -> Sequence[DraftImage]:
    """Return the images of the user's draft of a file."""
    return images.listed(draft_key(scope, path))


@dataclass(frozen=True, kw_only=True)
class ImagesQuery(RequestQuery):
    """A part of the paths of images, and the field that receives one, empty for the text."""

    q: Annotated[str, fields.String(load_default="", validate=Length(max=200))]
    field: Annotated[str, fields.String(load_default="", validate=Length(max=1_024))]


@blueprint.get(f"{BASE}/images/<path:file>")
@Page(guard=EDITOR, query=ImagesQuery, upstream=read_schema)
def choose_image(*, scope: ProjectScope, query: ImagesQuery, prepared: ContentSchema) -> Response:
    """Return the images that a page can name, those of its draft first, as JSON: path, address and URLs."""
    path, term = scope.path["file"], query.q.casefold()
    collection, declared = _levels(scope, prepared, path, query.field)
    site = site_roots(scope.project, scope.index)
    folders = [upload_folder(site, path, declared, collection), *known_folders(site, collection, path)]
    shown = (image for image in images_of(scope, path) if is_image(image.path) and term in image.path.casefold())
    own = [_of_draft(scope, path, image) for image in shown]
    listed = list_images(scope.index, query.q, limit=MAX_LISTED).images
    return json_response(
        {
            "images": [
                *own,
                *(_of_branch(scope, image, address_of(site, image.path, path, folders)) for image in listed),
            ]
        },
        200,
    )


def _of_draft(scope: ProjectScope, path: str, image: DraftImage) -> dict[str, str]:
    """Return an image of the draft of a page as a script reads it."""
    return {"path": image.path, "url": image.url, "preview": draft_image_url(scope, path, image.url)}


def _of_branch(scope: ProjectScope, image: ListedImage, url: str) -> dict[str, str]:
    """Return an image of the repository as a script reads it. `url` is its address in the page."""
    shown = {"path": image.path, "url": url, "preview": raw_url(scope.project, image.path)}
    if has_thumbnail(image.path):
        shown["thumbnail"] = project_url(scope, f"/thumbnail/{image.sha}?width={GRID_WIDTH}")
    return shown


@blueprint.post(f"{BASE}/images/<path:file>")
@Page(guard=EDITOR, inputs=(images.FIELD, "field"), upstream=read_schema)
def upload_image(*, scope: ProjectScope, form: Form, prepared: ContentSchema) -> Response:
    """Store an image with the user's draft of a file. Returns its address and the URL of its bytes as JSON."""
    path, (_name, file) = scope.path["file"], form.image(images.FIELD)
    stored = _store(scope, path, file, *_levels(scope, prepared, path, form.text("field")))
    return json_response(_of_draft(scope, path, stored), 201)


def _levels(
    scope: ProjectScope, schema: ContentSchema, path: str, target: str, values: Mapping[str, object] | None = None
) -> tuple[Collection | None, SchemaField | None]:
    """Return the collection of a page and one of its fields, which can have a media folder each."""
    if values is None:
        values = _present_values(scope, path) if any(other.filter for other in schema.collections) else {}
    collection = collection_of(schema, path, values)
    return collection, field_at(collection.fields, path_of(target)) if collection is not None and target else None


def _present_values(scope: ProjectScope, path: str) -> Mapping[str, object]:
    """Return the front matter of the draft of a file, else of the file, which can decide its collection."""
    draft = read_draft(scope, path)
    try:
        data = draft["content"].encode() if draft is not None else open_present(scope, path).data
    except (NotFound, PayloadTooLarge):
        return {}
    page = read_page(path, data)
    return (page.values if page is not None else None) or {}


def _store(
    scope: ProjectScope, path: str, file: FileStorage, collection: Collection | None, declared: SchemaField | None
) -> DraftImage:
    """Store an uploaded image with the draft of a file."""
    name, limit = image_name(file, images.FIELD), DraftLimits.image_bytes
    data = file.stream.read(limit + 1)
    if len(data) > limit:
        message = _("An image can have at most %(limit)s MiB.", limit=limit // MIB)
        raise PayloadTooLarge(message, fields=[FieldError(images.FIELD, message)])
    if not is_image_content(name, data[:HEAD_BYTES]):
        raise no_image(images.FIELD)
    folder = upload_folder(site_roots(scope.project, scope.index), path, declared, collection)
    names, unnamed = images.free_names(name, taken_names(scope, folder, name)), _unnamed_ids(scope, path)
    at = {"folder": folder.folder, "address": folder.address}
    return change_draft(scope, path, lambda draft: images.add(draft, data, names=names, unnamed=unnamed, **at))


def _unnamed_ids(scope: ProjectScope, path: str) -> list[str]:
    """Return the ids of the images of a draft that its text does not name."""
    listed, draft = images_of(scope, path), read_draft(scope, path)
    site, text = site_roots(scope.project, scope.index), draft["content"] if draft is not None else ""
    named = images.named_in(text.encode(), path, listed, site)
    return [image.id for image in listed if image not in named and image.blob_sha is None]


def taken_names(scope: ProjectScope, folder: MediaFolder, name: str) -> set[str]:
    """Return the folded names of the files in a folder of the branch, as far as they matter for a new image."""
    source = branch_source(scope)
    paths = [folder.path(free_name) for free_name in images.free_names(name, ())[:CHECKED_NAMES]]
    entries = source.repository.entries(present_head(scope), paths)
    present = {path.rpartition("/")[2] for path in entries}
    return {folded(name) for name in present.union(names_in_folder(scope.index, folder.folder))}


def take_files(scope: ProjectScope, form: Form, schema: ContentSchema, path: str, values: Mapping[str, object]) -> None:
    """Store the images of the form's file inputs with the draft, and set the fields to their addresses.

    A browser sends these inputs only without scripts.

    Raises:
        AppError: an image is refused. The error names its field.
    """
    for name, file in form.files.items(multi=True):
        if not name.startswith(IMAGE) or not file.filename:
            continue
        target = name.removeprefix(IMAGE)
        try:
            url = _store(scope, path, file, *_levels(scope, schema, path, target, values)).url
        except AppError as error:
            if error.fields:
                error.fields = (FieldError(INPUT + target, error.message),)
            raise
        before = form.text(INPUT + target).rstrip() if form.text(KIND + target) == InputKind.LINES else ""
        form.values[INPUT + target] = f"{before}\n{url}" if before else url


@dataclass(frozen=True, kw_only=True)
class ImageQuery(RequestQuery):
    """The address of a draft image in the text."""

    url: Annotated[str, fields.String(required=True, validate=Length(max=1_024))]


@blueprint.get(f"{BASE}/draft-image/<path:file>")
@Page(guard=EDITOR, query=ImageQuery)
def draft_image(*, scope: ProjectScope, query: ImageQuery) -> Response:
    """Return the bytes of an image of the user's draft of a file."""
    image = images.find(draft_key(scope, scope.path["file"]), query.url)
    unchanged = caching.not_modified(request, image.id)
    if unchanged is not None:
        return unchanged
    data = _content(scope, image)
    if data is None:
        raise NotFound
    mime = file_type(image.path).mime or BINARY
    return stream_file(iter((data,)), size=len(data), mime=mime, tag=image.id)


def _content(scope: ProjectScope, image: DraftImage) -> bytes | None:
    """Return the bytes of an image, of a copied one from the repository. None: there are none, or too many."""
    data, sha = images.content(image.id), image.blob_sha
    if data is not None or sha is None:
        return data
    with transactions.outside_transaction(), suppress(TooLargeToRead, GitObjectMissing):
        return branch_source(scope).repository.blob(sha, max_bytes=DraftLimits.image_bytes)
    return None
