"""The reader of each kind of schema file."""

from collections.abc import Callable

from app.content.schema.decap import read_decap
from app.content.schema.front_matter_cms import read_front_matter_cms
from app.content.schema.galley import read_galley
from app.content.schema.model import ContentSchema, SourceKind
from app.content.schema.pages_cms import read_pages_cms

READERS: dict[SourceKind, Callable[[str, bytes], ContentSchema | None]] = {
    SourceKind.GALLEY: read_galley,
    SourceKind.DECAP: read_decap,
    SourceKind.PAGES_CMS: read_pages_cms,
    SourceKind.FRONT_MATTER: read_front_matter_cms,
}
"""A reader returns None if the file describes no collections. It never raises."""
