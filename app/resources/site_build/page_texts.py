"""The texts of stored pages of a build, and the present positions of the quotations of comments."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from app.concurrency.threadpool import offload
from app.content.page_addresses import files_at
from app.content.text_quotes import QuotePosition, TextQuote, find_quote, text_of
from app.core.limits import MIB
from app.database import transactions
from app.drivers.errors import DriverError
from app.drivers.storage.port import ObjectStore
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from app.resources.site_build import queries
from app.resources.site_build.changed_pages import HTML
from app.resources.site_build.storing import object_key

MAX_READ_PAGES, MAX_READ_BYTES = 10, 2 * MIB
"""The pages whose text is read for a response, and the bytes of all of them."""


def file_of_url(build: SiteBuild, url: str) -> SiteBuildFile | None:
    """Return the HTML file that a build serves at a path of the site, or None."""
    names = files_at(unquote(url))
    files = queries.files(build.id, names)
    return next((files[name] for name in names if name in files and files[name].mimetype == HTML), None)


def positions_of(
    comments: Sequence[Mapping[str, Any]], build: SiteBuild | None, store: ObjectStore
) -> dict[str, QuotePosition]:
    """Return the positions of the quotations of comments in a ready build, by the id of the comment.

    Comments beyond the limits, or whose page cannot be read, are omitted. Calls the database and the store.
    """
    if build is None or build.state is not BuildState.READY:
        return {}
    quoted = [comment for comment in comments if comment.get("quote") and comment.get("page")]
    pages = list(dict.fromkeys(str(comment["page"]) for comment in quoted))[:MAX_READ_PAGES]
    positions, free = dict[str, QuotePosition](), MAX_READ_BYTES
    for url in pages:
        file, own = file_of_url(build, url), [comment for comment in quoted if comment["page"] == url]
        if file is None:
            positions |= {str(comment["id"]): QuotePosition.MISSING for comment in own}
        elif file.size <= free:
            free -= file.size
            with suppress(DriverError):
                positions |= _read_positions(file, own, store)
    return positions


def _positions_in(content: bytes, comments: Sequence[Mapping[str, Any]]) -> dict[str, QuotePosition]:
    text = text_of(content.decode(errors="replace"))
    return {str(comment["id"]): find_quote(text, TextQuote(**comment["quote"])) for comment in comments}


def _read_positions(
    file: SiteBuildFile, comments: Sequence[Mapping[str, Any]], store: ObjectStore
) -> dict[str, QuotePosition]:
    key, size = object_key(file.project_id, file.sha256), file.size
    with transactions.outside_transaction():
        return offload(_positions_in, b"".join(store.get(key, start=0, length=size)), comments)
