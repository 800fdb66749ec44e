"""A page as a reader sees it without its site: title, pictures, fields in order, and the formatted text."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from urllib.parse import quote

from babel.dates import format_date
from markupsafe import Markup

from app.access.scope import ProjectScope
from app.console.files.page_source import branch_source, draft_key, present_head, read_schema
from app.console.files.rendered_text import LANGUAGES, MAX_CHARACTERS, image_sources, render_markdown
from app.console.files.scope import EditorScope, file_url
from app.console.shell import dates
from app.console.shell.field_labels import label_of
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.content.data_text import read_data
from app.content.filetypes import file_type
from app.content.image_types import is_image
from app.content.page_text import PageText, read_page
from app.content.schema.model import Collection, ContentSchema
from app.content.schema.validation import collection_of
from app.database import transactions
from app.resources.project_content.images import candidates, find_images, known_folders, raw_url, site_roots
from app.resources.project_draft import images

MAX_SOURCES = 500
"""The texts of a page that can be addresses of images."""


@dataclass(frozen=True)
class ShownValue:
    """A value with its label: a text, a picture, or the values inside. The text of a picture is its address.

    `is_missing` is true for the address of an image that does not exist.
    """

    label: str
    text: str = ""
    image: str = ""
    children: Sequence["ShownValue"] = ()
    is_missing: bool = False


@dataclass(frozen=True)
class SimplePage:
    """A page without its site. `body` is None if the text has no format. `is_cut`: only the beginning is shown."""

    title: str
    values: Sequence[ShownValue]
    body: Markup | None
    source: str
    is_cut: bool


def simple_page(scope: EditorScope, schema: ContentSchema, path: str, data: bytes) -> SimplePage:
    """Return a page with the text of a file. Images of the draft and of the repository are shown, no others."""
    values = read_data(path, data)
    text = PageText(values, "") if values is not None else read_page(path, data) or PageText({}, "")
    own = dict(text.values or {})
    body = text.body[:MAX_CHARACTERS]
    if len(body) < len(text.body):
        body = body.rpartition("\n\n")[0] or body
    collection = collection_of(schema, path, own)
    is_markdown = file_type(path).language in LANGUAGES
    sources = [*image_texts(own), *(image_sources(body) if is_markdown else ())]
    pictures = image_urls(scope, collection, path, sources[:MAX_SOURCES])
    title = own.pop("title", None)
    labels = {field.name: field.label for field in collection.fields} if collection is not None else {}
    names = [*(name for name in labels if name in own), *(name for name in own if name not in labels)]
    shown = (shown_value(labels.get(name) or label_of(name), own[name], pictures) for name in names)
    return SimplePage(
        title if isinstance(title, str) else "",
        [value for value in shown if value.text or value.image or value.children],
        render_markdown(body, pictures) if is_markdown else None,
        body,
        len(body) < len(text.body),
    )


def shown_value(label: str, value: object, pictures: Mapping[str, str]) -> ShownValue:
    """Return a value as it is shown. `pictures` are the URLs of images by their addresses, empty for missing ones."""
    if isinstance(value, str) and value in pictures:
        return ShownValue(label, value, pictures[value], is_missing=not pictures[value])
    if isinstance(value, Mapping):
        items = ((label_of(str(name)), inner) for name, inner in value.items())
        return ShownValue(label, children=[shown_value(name, inner, pictures) for name, inner in items])
    if isinstance(value, list) and any(isinstance(item, Mapping) or _is_picture(item, pictures) for item in value):
        items = ((str(number), item) for number, item in enumerate(value, 1))
        return ShownValue(label, children=[shown_value(name, inner, pictures) for name, inner in items])
    return ShownValue(label, value_text(value))


def _is_picture(value: object, pictures: Mapping[str, str]) -> bool:
    return isinstance(value, str) and value in pictures


def image_urls(scope: EditorScope, collection: Collection | None, path: str, sources: Iterable[str]) -> dict[str, str]:
    """Return the URLs of the images of a page by their addresses, those of its draft first."""
    site, sources = site_roots(scope.project, scope.index), list(sources)
    folders = known_folders(site, collection, path)
    files = find_images(scope.index, ((source, path) for source in sources), site, collection)
    urls = {source: raw_url(scope.project, file) for (source, _page), file in files.items()}
    missing = {source: candidates(site, source, path, folders) for source in sources if source and source not in urls}
    return urls | _images_of_set(scope, missing) | draft_images(scope, path)


def draft_images(scope: ProjectScope, path: str) -> dict[str, str]:
    """Return the URLs of the images of the user's draft of a file by their addresses."""
    addresses = [image.url for image in images.listed(draft_key(scope, path))]
    return {address: draft_image_url(scope, path, address) for address in addresses}


def draft_image_url(scope: ProjectScope, path: str, address: str) -> str:
    """Return the URL of the bytes of a draft image by its address in the text."""
    return file_url(scope, "draft-image", path, f"url={quote(address, safe='')}")


def _images_of_set(scope: EditorScope, files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the URLs of images that only the change set of the page contains, by their addresses.

    `files` are the files that each address may name.
    """
    if scope.change_set is None or not files:
        return {}
    return _images_at(scope, present_head(scope), files)


def _images_at(scope: ProjectScope, commit: str, files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the URLs of the images of a commit by their addresses. `files` are those that each address may name."""
    possible = {source: list(filter(is_image, paths)) for source, paths in files.items()}
    paths = sorted({file for paths in possible.values() for file in paths})
    entries = branch_source(scope).repository.entries(commit, paths)
    present = {source: next((file for file in paths if file in entries), None) for source, paths in possible.items()}
    return {source: raw_url(scope.project, item, commit) for source, item in present.items() if item is not None}


def version_images(scope: ProjectScope, path: str, commit: str, sources: Iterable[str]) -> dict[str, str]:
    """Return the URLs of the images of a page at a commit by their addresses, empty ones for missing images.

    Calls the Git host. Addresses of other sites are not contained.
    """
    site = site_roots(scope.project, scope.index)
    folders = known_folders(site, collection_of(read_schema(scope), path, None), path)
    files = {source: candidates(site, source, path, folders) for source in sources}
    local = {source: paths for source, paths in files.items() if paths}
    with transactions.outside_transaction():
        urls = _images_at(scope, commit, local) if local else {}
    return {source: urls.get(source, "") for source in local}


def image_texts(value: object) -> Iterator[str]:
    """Yield the texts of a value that can be the address of an image."""
    if isinstance(value, str):
        if is_image(re.sub(r"[?#].*", "", value)):
            yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from image_texts(inner)


def value_text(value: object) -> str:
    """Return a value of the front matter as text in the language of the reader."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        return dates.exact(value, current_language())
    if isinstance(value, date):
        return format_date(value, "long", locale=current_language())
    if isinstance(value, str):
        return _date_text(value)
    if isinstance(value, Mapping):
        return "\n".join(f"{label_of(str(name))}: {value_text(inner)}" for name, inner in value.items())
    if isinstance(value, Sequence):
        has_objects = any(isinstance(item, Mapping) for item in value)
        return ("\n" if has_objects else ", ").join(value_text(item) for item in value)
    return str(value)


def _date_text(value: str) -> str:
    """Return a date in the language of the reader, and another text as it is."""
    try:
        return value_text(datetime.fromisoformat(value) if len(value) > 10 else date.fromisoformat(value))
    except ValueError:
        return value
