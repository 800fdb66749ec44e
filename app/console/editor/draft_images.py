"""Images of drafts in the editor: uploads, the list of images that a page can name, and their bytes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, unquote

from flask import Response, request
from marshmallow import fields
from werkzeug.datastructures import FileStorage

from app.access.guards import member_of_org
from app.access.scope import ProjectScope, Scope
from app.console.blueprint import blueprint
from app.console.editor.field_inputs import InputKind
from app.console.editor.field_lists import INPUT, KIND, path_of
from app.console.editor.page_source import (
    IMAGE,
    branch_source,
    of_draft,
    open_present,
    present_head,
    read_draft,
    read_schema,
)
from app.console.editor.scope import EDITOR, file_url
from app.console.project.images import (
    MediaFolder,
    address_of,
    candidates,
    field_at,
    has_thumbnail,
    known_folders,
    raw_url,
    upload_folder,
)
from app.console.project.project_home import BASE, project_url
from app.console.project.thumbnails import GRID_WIDTH
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page
from app.console.shell.translation import gettext as _
from app.content.data_text import read_data
from app.content.filetypes import BINARY, file_type
from app.content.image_types import HEAD_BYTES, is_image, is_image_content
from app.content.page_text import read_page
from app.content.schema.model import Collection, ContentSchema, SchemaField
from app.content.schema.validation import collection_of
from app.content.slugs import file_name_of
from app.core.errors import (
    AppError,
    FieldError,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from app.core.limits import MIB, DraftLimits
from app.http import caching
from app.http.endpoint import endpoint
from app.http.envelope import json_response
from app.http.json_schema import plain_path
from app.http.validation import Length, RequestBody, RequestQuery, RequestSchema
from app.models.project_content import DraftImage
from app.resources.project_content.responses import stream_file
from app.resources.project_content.schemas.content import FileQuery
from app.resources.project_content.search.references import list_images
from app.resources.project_content.tree.folder_listing import names_in_folder
from app.resources.project_draft import images, service

CHECKED_NAMES = 20
"""The first names of an image that are also compared with the head of the branch, which can be newer than its index."""

MAX_LISTED = 60
"""The images of the repository that a list contains."""

_SEPARATORS = re.compile(r"[\s\"'`()<>\[\]{}|,;=]+")


class StoredImageSchema(RequestSchema):
    """A stored image: its future path and its address in the text."""

    path = fields.String()
    url = fields.String()


class DoneSchema(RequestSchema):
    """The result of a change without values."""


@dataclass(frozen=True, kw_only=True)
class StoreImageBody(RequestBody):
    """An image, its possible names, and its folder with the address of the folder.

    `unnamed` contains the ids of images that the text of the draft does not name.
    """

    names: Annotated[list[str], fields.List(fields.String(), required=True)]
    folder: Annotated[str, fields.String(required=True)]
    address: Annotated[str, fields.String(required=True)]
    unnamed: Annotated[list[str], fields.List(fields.String(), required=True)]
    data: Annotated[bytes, fields.Raw(required=True)]


@endpoint(guard=member_of_org(), body=StoreImageBody, query=FileQuery, result=StoredImageSchema)
def store_image(*, scope: ProjectScope, body: StoreImageBody, query: FileQuery) -> DraftImage:
    """Store an image with the draft of a file. The console calls this operation; it has no URL."""
    return images.add(
        scope.project,
        by=scope.user,
        branch=query.ref,
        file=query.file,
        names=body.names,
        folder=body.folder,
        address=body.address,
        unnamed=body.unnamed,
        data=body.data,
    )


@dataclass(frozen=True, kw_only=True)
class FinishDraftBody(RequestBody):
    """The images that a save has committed."""

    ids: Annotated[list[str], fields.List(fields.String(), required=True)]


@endpoint(guard=member_of_org(), body=FinishDraftBody, query=FileQuery, result=DoneSchema)
def finish(*, scope: ProjectScope, body: FinishDraftBody, query: FileQuery) -> dict[str, object]:
    """Delete the draft of a file after its save. The console calls this operation; it has no URL."""
    service.delete_text(scope.project, by=scope.user, branch=query.ref, file=query.file)
    images.delete_saved(scope.project, by=scope.user, branch=query.ref, file=query.file, ids=body.ids)
    return {}


@endpoint(guard=member_of_org(), query=FileQuery, result=DoneSchema)
def delete_text(*, scope: ProjectScope, query: FileQuery) -> dict[str, object]:
    """Delete the text of a draft and not its images. The console calls this operation; it has no URL."""
    service.delete_text(scope.project, by=scope.user, branch=query.ref, file=query.file)
    return {}


@dataclass(frozen=True, kw_only=True)
class MoveImagesBody(RequestBody):
    """The file and the branch to which the images of a draft move, and their paths there by id."""

    new_branch: Annotated[str | None, fields.String(required=True, allow_none=True)]
    new_file: Annotated[str, fields.String(required=True, validate=plain_path)]
    paths: Annotated[dict[str, str], fields.Dict(keys=fields.String(), values=fields.String(), required=True)]


@endpoint(guard=member_of_org(), body=MoveImagesBody, query=FileQuery, result=DoneSchema)
def move_images(*, scope: ProjectScope, body: MoveImagesBody, query: FileQuery) -> dict[str, object]:
    """Attach the images of a draft to another draft. The console calls this operation; it has no URL."""
    to = images.DraftFile(body.new_branch, body.new_file)
    images.move(scope.project, images.DraftFile(query.ref, query.file), to, by=scope.user, paths=body.paths)
    return {}


def finish_draft(scope: ProjectScope, path: str, ids: Sequence[str] = ()) -> None:
    """Delete the draft of a file after its save, with the images that the save has committed."""
    api.write(finish, _ids(scope), {"ids": list(ids)}, query=of_draft(scope, path))


def forget_text(scope: ProjectScope, path: str) -> None:
    """Delete the text of a draft that equals the saved one. The form that is still open can name its images."""
    api.write(delete_text, _ids(scope), method="DELETE", query=of_draft(scope, path))


def move_draft_images(
    scope: ProjectScope, path: str, to: ProjectScope, new_path: str, paths: Mapping[str, str]
) -> None:
    """Attach the images of a draft to the draft of another file or version. `paths` contains their paths by id.

    Raises:
        Conflict: another draft of this version has an image with one of the paths.
    """
    data = {"new_branch": to.branch, "new_file": new_path, "paths": dict(paths)}
    api.write(move_images, _ids(scope), data, query=of_draft(scope, path))


def images_of(scope: ProjectScope, path: str) -> Sequence[DraftImage]:
    """Return the images of the user's draft of a file."""
    return images.listed(scope.project, by=scope.user, branch=scope.branch, file=path)


def image_url(scope: ProjectScope, path: str, url: str) -> str:
    """Return the URL of the bytes of a draft image by its address in the text."""
    return file_url(scope, "draft-image", path, f"url={quote(url, safe='')}")


def named_images(listed: Sequence[DraftImage], path: str, data: bytes) -> list[DraftImage]:
    """Return the images that a text or a value of its front matter names, by their addresses or by their paths."""
    if not listed:
        return []
    page = read_page(path, data)
    values = set(_texts(read_data(path, data) or (page.values if page is not None else None)))
    text = data.decode("utf-8", "replace")
    names = {image.name for image in listed}
    tokens = {token for token in _SEPARATORS.split(text) if "." in token}
    addresses = {unquote(token.partition("?")[0].partition("#")[0]) for token in tokens}
    addresses = {address for address in (addresses | values) if address.rpartition("/")[2] in names}
    return [image for image in listed if _is_named(image, addresses, path) or _has(text, image)]


def _is_named(image: DraftImage, addresses: Iterable[str], path: str) -> bool:
    return any(address == image.url or image.path in candidates(address, path) for address in addresses)


def _has(text: str, image: DraftImage) -> bool:
    """Return whether a text contains an address with a separator, for example a space."""
    return _SEPARATORS.search(image.url) is not None and image.url in text


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value of the front matter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)


def image_name(file: FileStorage) -> str:
    """Return the name of an uploaded image as a file name.

    Raises:
        UnsupportedMediaType: it has not the ending of an image.
    """
    name = file_name_of((file.filename or "").replace("\\", "/").rpartition("/")[2]) or "image"
    if not is_image(name):
        raise _not_an_image()
    return name


def _not_an_image() -> UnsupportedMediaType:
    message = _("This is not an image.")
    return UnsupportedMediaType(message, fields=[FieldError(images.FIELD, message)])


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
    known = known_folders(scope.project, collection, path)
    folders = [upload_folder(scope.project, path, declared, collection), *known]
    own = [one for one in images_of(scope, path) if term in one.path.casefold()]
    listed = list_images(scope.index, query.q, limit=MAX_LISTED).images
    shown = [{"path": one.path, "url": one.url, "preview": image_url(scope, path, one.url)} for one in own]
    for one in listed:
        urls = {"url": address_of(scope.project, one.path, path, folders), "preview": raw_url(scope.project, one.path)}
        if has_thumbnail(one.path):
            urls["thumbnail"] = project_url(scope, f"/thumbnail/{one.sha}?width={GRID_WIDTH}")
        shown.append({"path": one.path} | urls)
    return json_response({"images": shown}, 200)


@blueprint.post(f"{BASE}/images/<path:file>")
@Page(guard=EDITOR, inputs=(images.FIELD, "field"), upstream=read_schema)
def upload_image(*, scope: ProjectScope, form: Form, prepared: ContentSchema) -> Response:
    """Store an image with the user's draft of a file. Returns its address and the URL of its bytes as JSON."""
    path, file = scope.path["file"], form.files.get(images.FIELD)
    if file is None or not file.filename:
        raise InvalidRequest.field(images.FIELD, _("Choose an image."))
    stored = _store(scope, path, file, *_levels(scope, prepared, path, form.text("field")))
    return json_response(stored | {"preview": image_url(scope, path, stored["url"])}, 201)


def _levels(
    scope: ProjectScope, schema: ContentSchema, path: str, target: str, values: Mapping[str, object] | None = None
) -> tuple[Collection | None, SchemaField | None]:
    """Return the collection of a page and one of its fields, which can have a media folder each."""
    if values is None:
        values = _present_values(scope, path) if any(one.filter for one in schema.collections) else {}
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
) -> dict[str, str]:
    """Store an uploaded image with the draft of a file. Return its path and its address in the text."""
    name, limit = image_name(file), DraftLimits.image_bytes
    data = file.stream.read(limit + 1)
    if len(data) > limit:
        message = _("An image can have at most %(limit)s MiB.", limit=limit // MIB)
        raise PayloadTooLarge(message, fields=[FieldError(images.FIELD, message)])
    if not is_image_content(name, data[:HEAD_BYTES]):
        raise _not_an_image()
    folder = upload_folder(scope.project, path, declared, collection)
    body = {
        "names": images.free_names(name, taken_names(scope, folder, name)),
        "folder": folder.folder,
        "address": folder.address,
        "unnamed": _unnamed_ids(scope, path),
        "data": data,
    }
    stored: dict[str, str] = api.write(store_image, _ids(scope), body, query=of_draft(scope, path))
    return stored


def _unnamed_ids(scope: ProjectScope, path: str) -> list[str]:
    """Return the ids of the images of a draft that its text does not name."""
    listed, draft = images_of(scope, path), read_draft(scope, path)
    named = named_images(listed, path, draft["content"].encode()) if listed and draft is not None else []
    return [image.id for image in listed if image not in named]


def taken_names(scope: ProjectScope, folder: MediaFolder, name: str) -> set[str]:
    """Return the folded names of the files in a folder of the branch, as far as they matter for a new image."""
    source = branch_source(scope)
    paths = [folder.path(one) for one in images.free_names(name, ())[:CHECKED_NAMES]]
    entries = source.git.entries(source.repo, present_head(scope), paths)
    present = {path.rpartition("/")[2] for path in entries}
    return {images.folded(one) for one in present.union(names_in_folder(scope.index, folder.folder))}


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
            url = _store(scope, path, file, *_levels(scope, schema, path, target, values))["url"]
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
    image = images.find(scope.project, by=scope.user, branch=scope.branch, file=scope.path["file"], url=query.url)
    unchanged = caching.not_modified(request, image.id)
    if unchanged is not None:
        return unchanged
    data = images.content(image.id)
    if data is None:
        raise NotFound
    mime = file_type(image.path).mime or BINARY
    return stream_file(iter((data,)), size=len(data), mime=mime, tag=image.id)


def _ids(scope: Scope) -> dict[str, str]:
    return {"project_id": scope.path["project_id"]}
