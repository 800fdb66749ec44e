"""Storage of the output of a build: one object for each content of a project."""

import hashlib
import mimetypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import IO

from app.content.rendered_page import digest_of
from app.core.limits import MIB
from app.drivers.sandbox.port import OutputFile
from app.drivers.storage.port import CHUNK_BYTES, ObjectStore

PREFIX = "builds/"
SPOOL_BYTES, MAX_PAGE_BYTES = 8 * MIB, 5 * MIB
DEFAULT_TYPE = "application/octet-stream"
TYPES = mimetypes.MimeTypes()
for extension, mimetype in {
    ".avif": "image/avif",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".map": "application/json",
    ".md": "text/markdown",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}.items():
    TYPES.add_type(mimetype, extension)


@dataclass
class StoredOutput:
    """The rows of the stored files, their total size, and the number of new objects."""

    build_id: str
    project_id: str
    rows: list[dict[str, object]] = field(default_factory=list)
    size: int = 0
    new_objects: int = 0
    new_bytes: int = 0


class StorageExceeded(Exception):
    """The new files need more bytes than the organization has left."""


def object_key(project_id: str, sha256: str) -> str:
    """Return the key of a content of a project."""
    return f"{PREFIX}{project_id}/{sha256}"


def type_of(path: str) -> str:
    """Return the media type of a file by its name. A compressed file, as `index.html.gz`, is not what it contains."""
    mimetype, encoding = TYPES.guess_type(f"/{path}", strict=False)  # A name with a scheme would be an URL.
    return mimetype if mimetype is not None and encoding is None else DEFAULT_TYPE


def store_output(
    files: Iterable[OutputFile], output: StoredOutput, *, known: set[str], store: ObjectStore, free_bytes: int
) -> None:
    """Store each content that is not known yet, and add the rows.

    Raises:
        StorageExceeded: the new contents exceed `free_bytes`. Stored objects remain until the next collection.
    """
    for file in files:
        with _spooled(file.stream) as (copy, sha256):
            if sha256 not in known:
                output.new_objects, output.new_bytes = output.new_objects + 1, output.new_bytes + file.size
                if output.new_bytes > free_bytes:
                    raise StorageExceeded
                store.put(object_key(output.project_id, sha256), copy, mimetype=type_of(file.path))
                known.add(sha256)
            page = _page(file, copy)
        output.size += file.size
        output.rows.append(
            {
                "build_id": output.build_id,
                "project_id": output.project_id,
                "path": file.path,
                "sha256": sha256,
                "size": file.size,
                "mimetype": type_of(file.path),
                **page,
            }
        )


def _page(file: OutputFile, copy: IO[bytes]) -> dict[str, str | None]:
    """Return the columns of a page. Other files and very large pages have none."""
    if type_of(file.path) != "text/html" or file.size > MAX_PAGE_BYTES:
        return {"title": None, "content_digest": None, "frame_digest": None}
    copy.seek(0)
    digest = digest_of(copy.read().decode(errors="replace"))
    return {"title": digest.title, "content_digest": digest.content, "frame_digest": digest.frame}


@contextmanager
def _spooled(stream: IO[bytes]) -> "Iterator[tuple[SpooledTemporaryFile[bytes], str]]":
    """Yield a copy of a stream, which cannot be read twice, and its hash."""
    digest = hashlib.sha256()
    with SpooledTemporaryFile(max_size=SPOOL_BYTES) as copy:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
            copy.write(chunk)
        copy.seek(0)
        yield copy, digest.hexdigest()
