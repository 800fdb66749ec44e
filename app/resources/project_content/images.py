"""Images of the repository: their addresses in pages, and the files of such addresses."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from app.content.detect import config_files, may_contain_site
from app.content.entry_files import folder_of_index, folders_above
from app.content.image_types import is_image
from app.content.schema.model import Collection, ContentSchema, FieldType, SchemaField
from app.content.site_roots import MediaFolder, SiteRoots, site_folders
from app.core.caches import Cache
from app.core.paths import path_error
from app.models.project import Generator, Project
from app.models.project_content import ContentIndex
from app.resources.project_content.tree.folder_listing import (
    blob_shas,
    existing_files,
    folder_counts,
    images_of_folders,
)

COPIED_BY = (Generator.JEKYLL, Generator.ELEVENTY)
"""Generators that publish an image of any folder under its own path, Eleventy after a pass-through copy."""

WITH_PAGE = (Generator.HUGO, Generator.ASTRO, Generator.GATSBY)
"""Generators that publish an image in the folder of a page with this page."""

THUMBNAIL_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif")
"""The endings of images that are decoded for a thumbnail. Vector images have none."""
Level = Collection | SchemaField
"""A part of the schema that can have a media folder."""

_ESCAPED = re.compile(r"[#?]|%(?=[0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
MAX_FOLDERS = 200
"""Folders in which the configuration of a site is searched, the nearest to the root first."""

_sites: Cache[tuple[str, ...], tuple[str, ...]] = Cache(128)
"""The folders of sites by index, commit, generator and content folder."""


def site_roots(project: Project, index: ContentIndex | None, schema: ContentSchema | None = None) -> SiteRoots:
    """Return where the pages of a branch find files. The index is read once for a commit."""
    media, content = ((project.paths.get(name) or "").strip("/") for name in ("media", "content"))
    site = SiteRoots(project.generator, media=media, content=content)
    if index is not None:
        key = (index.id, str(index.generation), str(index.commit_sha), project.generator or "", content)
        site = replace(site, sites=_sites.get(key, lambda: _find_sites(index, project.generator, content)))
    levels = [level for own in (schema.collections if schema is not None else ()) for level in _levels(own)]
    declared = (_declared(site, level, "") for level in levels if (level.media_folder or "").split("/")[0] != ".")
    return replace(site, declared=tuple(dict.fromkeys(filter(None, declared))))


def _find_sites(index: ContentIndex, generator: str | None, content: str) -> tuple[str, ...]:
    starts = {tuple(folder.split("/")[:depth]) for folder, _ in folder_counts(index) for depth in (1, 2)}
    folders = sorted({"/".join(parts).rstrip("/") for parts in starts}, key=lambda folder: (folder.count("/"), folder))
    likely = ["", content, *folders_above(content), *filter(may_contain_site, folders)]
    names = [name for group in (*config_files(generator), ("package.json",)) for name in group]
    paths = {posixpath.join(folder, name) for folder in likely[:MAX_FOLDERS] for name in names}
    return site_folders(existing_files(index, paths), generator, content)


def upload_folder(site: SiteRoots, page_path: str, *levels: Level | None) -> MediaFolder:
    """Return the folder for a new image of a page: that of the first level that names one, else of the project.

    The levels are the field and the collection of the page. A level without a folder can have an address.
    """
    address = None
    for level in levels:
        if level is None:
            continue
        address = level.public_folder if address is None else address
        declared = _declared(site, level, page_path)
        if declared is not None:
            return declared if address is None else MediaFolder(declared.folder, _with_slash(address))
    is_own = site.generator in WITH_PAGE and not site.media and folder_of_index(page_path) is not None
    folder = ("" if is_own else site.media_folder(page_path)) or page_path.rpartition("/")[0]
    usual = site_url(site, f"{folder}/" if folder else "", page_path)
    return MediaFolder(folder, usual if address is None else _with_slash(address))


def shared_folder(site: SiteRoots, schema: ContentSchema) -> str:
    """Return the folder for a new image of no page: the chosen one, else the one that all collections name."""
    named = {own.media_folder for own in schema.collections if own.media_folder and own.media_folder[0] != "."}
    shared = next((own for own in schema.collections if {own.media_folder} == named), None)
    return site.media or upload_folder(site, "", shared).folder


def known_folders(site: SiteRoots, collection: Collection | None, page_path: str) -> list[MediaFolder]:
    """Return the folders whose images have a known address in a page: first those of its collection."""
    declared = (_declared(site, level, page_path) for level in _levels(collection))
    return list(dict.fromkeys([*filter(None, declared), *site.roots(page_path)]))


def field_at(fields: Sequence[SchemaField], path: Sequence[str]) -> SchemaField | None:
    """Return the field of an input of the editor, or of the items if it is a list. `path` contains ids of items."""
    field: SchemaField | None = None
    for key in path:
        if field is not None and field.type is FieldType.LIST:
            field = field.item
        else:
            field = next((candidate for candidate in fields if candidate.name == key), None)
        if field is None:
            return None
        fields = [*field.fields, *(inner for variant in field.variants for inner in variant.fields)]
    return field.item if field is not None and field.type is FieldType.LIST else field


def _levels(collection: Collection | None) -> Sequence[Level]:
    return (collection, *_image_fields(collection.fields)) if collection is not None else ()


def _image_fields(fields: Iterable[SchemaField]) -> Iterator[SchemaField]:
    for field in fields:
        if field.type is FieldType.IMAGE:
            yield field
        yield from _image_fields((*field.fields, *field.variants, *((field.item,) if field.item is not None else ())))


def _declared(site: SiteRoots, level: Level, page_path: str) -> MediaFolder | None:
    """Return the media folder of a field or collection. One that a save refuses, or with a placeholder, is none."""
    if level.media_folder is None or "{{" in level.media_folder:
        return None
    below = posixpath.normpath(level.media_folder.strip("/") or ".")
    is_relative = level.media_folder.split("/")[0] == "."
    folder = posixpath.normpath(posixpath.join(page_path.rpartition("/")[0] if is_relative else "", below))
    folder = "" if folder == "." else folder
    if folder and path_error(folder) is not None:
        return None
    if level.public_folder is not None:
        return MediaFolder(folder, _with_slash(level.public_folder))
    if is_relative:
        return MediaFolder(folder, "" if below == "." else f"{below}/")
    # As in Decap, the address of a folder outside of the roots is its path.
    address = site_url(site, f"{folder}/" if folder else "", page_path)
    return MediaFolder(folder, f"/{folder}/" if address.startswith("../") else address)


def _with_slash(address: str) -> str:
    return f"{address.rstrip('/')}/" if address else ""


def has_thumbnail(path: str) -> bool:
    """Return whether an image is decoded for a thumbnail."""
    return path.lower().endswith(THUMBNAIL_ENDINGS)


def site_url(site: SiteRoots, path: str, page_path: str) -> str:
    """Return the text with which a page names an image: a path of the site, else the path from the folder of the page.

    A path with a slash at its end is a folder, whose address also ends with a slash.
    """
    published = next((url for root in site.roots(page_path or path) if (url := root.url(path)) is not None), None)
    if published is not None:
        return published
    folder, _slash, name = path.rpartition("/")
    own = page_path.rpartition("/")[0]
    below = MediaFolder(site.site_of(page_path or path), "").url(path)
    if site.generator in COPIED_BY and folder != own and below is not None and not re.search("(^|/)_", below):
        return f"/{below}"
    relative = posixpath.relpath(f"/{folder}", f"/{own}")
    return name if relative == "." else f"{relative}/{name}"


def candidates(site: SiteRoots, source: str, page_path: str, folders: Iterable[MediaFolder] = ()) -> list[str]:
    """Return the files that an address in a page may name, the best first. An address of another site has none."""
    if not source or _ABSOLUTE.match(source):
        return []
    plain = re.sub(r"[?#].*", "", source)
    path = unquote(source if is_image(source) and not is_image(plain) else plain)
    known = [*folders, *site.roots(page_path), MediaFolder(site.site_of(page_path), "/"), MediaFolder("", "/")]
    own = [] if path.startswith("/") else [posixpath.join(page_path.rpartition("/")[0], path)]
    normal = posixpath.normpath(path)
    from_root = [] if own and normal.startswith("..") else _in_folders(f"/{normal.lstrip('/')}", known)
    named = [*(_in_folders(path, [*folders, *site.aliased(page_path)]) if own else ()), *own, *from_root]
    return list(dict.fromkeys(map(posixpath.normpath, named)))


def _in_folders(address: str, folders: Iterable[MediaFolder]) -> Iterator[str]:
    for folder in folders:
        if address.startswith(folder.address) and address.startswith("/") == folder.address.startswith("/"):
            yield folder.path(address[len(folder.address) :])


def find_images(
    index: ContentIndex | None, addresses: Iterable[tuple[str, str]], site: SiteRoots, collection: Collection | None
) -> dict[tuple[str, str], str]:
    """Return the file of each address in a page that names an image of the branch, with one statement."""
    possible = {
        (source, page): list(filter(is_image, candidates(site, source, page, known_folders(site, collection, page))))
        for source, page in addresses
    }
    present = existing_files(index, {path for paths in possible.values() for path in paths})
    matches = {address: next((path for path in paths if path in present), None) for address, paths in possible.items()}
    return {address: path for address, path in matches.items() if path is not None}


@dataclass(frozen=True)
class EntryImage:
    """An image of the repository: its path, and the sha that names its thumbnail, or an empty text without one."""

    path: str
    sha: str


def entry_images(
    index: ContentIndex | None, site: SiteRoots, collection: Collection | None, sources: Mapping[str, object]
) -> dict[str, EntryImage]:
    """Return an image of those of some pages that have one: that of a field, or of the folder of the page.

    `sources` are the pages with the value of the field. Runs three statements.
    """
    addresses = [(source, path) for path, source in sources.items() if isinstance(source, str) and source]
    images = {page: image for (_source, page), image in find_images(index, addresses, site, collection).items()}
    images |= images_of_folders(index, [path for path in sources if path not in images], site.generator)
    shas = blob_shas(index, set(filter(has_thumbnail, images.values())))
    return {page: EntryImage(image, shas.get(image, "")) for page, image in images.items()}


def address_of(site: SiteRoots, path: str, page_path: str, folders: Iterable[MediaFolder]) -> str:
    """Return the text with which a page names an image of the repository.

    `#`, `?` and `%` are escaped, because they have a meaning in URLs.
    """
    declared = (folder.url(path) for folder in folders)
    address = next((url for url in declared if url is not None), site_url(site, path, page_path))
    return _ESCAPED.sub(lambda match: quote(match[0]), address)


def raw_url(project: Project, path: str, commit_sha: str | None = None) -> str:
    """Return the URL of the bytes of an image of the working branch, or of a commit."""
    ref = f"ref={commit_sha}&" if commit_sha is not None else ""
    return f"/api/v1/project-content/{project.id}/raw?{ref}file={quote(path)}"
