"""Small versions of images of the repository for lists. A node stores them in its cache by the sha of the blob."""

import tempfile
from dataclasses import dataclass
from typing import Annotated, BinaryIO, cast

from flask import Response
from marshmallow import fields, validate

from app.access.scope import ProjectScope
from app.concurrency.bounded import ConcurrencyLimiter
from app.console.blueprint import blueprint
from app.console.files.page_source import branch_source
from app.console.files.scope import BASE, MEMBER
from app.console.shell.pages import Page
from app.core.errors import AppError, NotFound, ServiceUnavailable
from app.core.limits import MIB
from app.core.refs import is_sha
from app.database import transactions
from app.drivers.git.errors import TooLargeToRead
from app.extensions import current_settings, drivers
from app.http.validation import RequestQuery
from app.images.worker import ImageProcesses, remake
from app.resources.project_content.source import Source
from app.resources.project_content.tree.folder_listing import has_blob

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
