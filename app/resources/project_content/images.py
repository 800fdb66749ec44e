"""Images of the repository: their addresses in pages, and the files of such addresses."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from app.content.entry_files import folder_of_index
from app.content.image_types import is_image
from app.content.schema.model import Collection, FieldType, SchemaField
from app.core.paths import path_error
from app.models.project import Generator, Project
from app.models.project_content import ContentIndex
from app.resources.project_content.tree.folder_listing import existing_files

SITE_ROOTS = ("static", "public")
"""Folders whose files site generators publish at the root of the site."""

MEDIA_FOLDERS: dict[str, str] = {
    Generator.HUGO: "static",
    Generator.DOCUSAURUS: "static",
    Generator.GATSBY: "static",
    Generator.SVELTEKIT: "static",
    Generator.ASTRO: "public",
    Generator.NEXTJS: "public",
    Generator.NUXT: "public",
    Generator.TANSTACK: "public",
    Generator.VITE: "public",
    Generator.JEKYLL: "assets",
}
"""Folders for images by generator. With the others, an image in the folder of the page has an address."""

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


@dataclass(frozen=True)
class MediaFolder:
    """A folder of images, and the start of their addresses in a page, to which the path below the folder is added."""

    folder: str
    address: str

    def path(self, name: str) -> str:
        """Return the path of an image."""
        return f"{self.folder}/{name}" if self.folder else name

    def url(self, path: str) -> str | None:
        """Return the address of an image in the folder or below it, else None."""
        start = self.path("")
        return f"{self.address}{path[len(start) :]}" if path.startswith(start) else None


def upload_folder(project: Project, page_path: str, *levels: Level | None) -> MediaFolder:
    """Return the folder for a new image of a page: that of the first level that names one, else of the project.

    The levels are the field and the collection of the page. A level without a folder can have an address.
    """
    address = None
    for level in levels:
        if level is None:
            continue
        address = level.public_folder if address is None else address
        declared = _declared(project, level, page_path)
        if declared is not None:
            return declared if address is None else MediaFolder(declared.folder, _with_slash(address))
    is_own = (
        project.generator in WITH_PAGE and not project.paths.get("media") and folder_of_index(page_path) is not None
    )
    folder = ("" if is_own else media_folder(project)) or page_path.rpartition("/")[0]
    usual = site_url(project, f"{folder}/" if folder else "", page_path)
    return MediaFolder(folder, usual if address is None else _with_slash(address))


def known_folders(project: Project, collection: Collection | None, page_path: str) -> list[MediaFolder]:
    """Return the folders whose images have a known address in a page: first those of its collection."""
    levels: Sequence[Level] = (collection, *_image_fields(collection.fields)) if collection is not None else ()
    declared = (_declared(project, level, page_path) for level in levels)
    roots = _roots(project, page_path)
    of_generator = [MediaFolder(root, "/") for root in roots] if roots != SITE_ROOTS else []
    return list(dict.fromkeys([*(folder for folder in declared if folder is not None), *of_generator]))


def _roots(project: Project, page_path: str) -> Sequence[str]:
    """Return the folders whose images have an address of the site in a page, in which they are below `/`.

    Hugo finds images of `assets` by this address. It publishes an image of the content next to its page. The path
    from the folder of the file leads there only from a bundle: another page is one folder deeper in the site.
    """
    if project.generator != Generator.HUGO:
        return SITE_ROOTS
    is_bundle = re.match(r"_?index\.", page_path.rpartition("/")[2])
    content = [] if is_bundle else [(project.paths.get("content") or "content").strip("/")]
    return ["static", "assets", *content]


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


def _image_fields(fields: Iterable[SchemaField]) -> Iterator[SchemaField]:
    for field in fields:
        if field.type is FieldType.IMAGE:
            yield field
        yield from _image_fields((*field.fields, *field.variants, *((field.item,) if field.item is not None else ())))


def _declared(project: Project, level: Level, page_path: str) -> MediaFolder | None:
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
    address = site_url(project, f"{folder}/" if folder else "", page_path)
    return MediaFolder(folder, f"/{folder}/" if address.startswith("../") else address)


def _with_slash(address: str) -> str:
    return f"{address.rstrip('/')}/" if address else ""


def has_thumbnail(path: str) -> bool:
    """Return whether an image is decoded for a thumbnail."""
    return path.lower().endswith(THUMBNAIL_ENDINGS)


def media_folder(project: Project) -> str:
    """Return the folder for new images: that of the settings, else the generator's usual one, else an empty text."""
    chosen: str = project.paths.get("media") or ""
    return chosen or (MEDIA_FOLDERS.get(project.generator, "") if project.generator else "")


def site_url(project: Project, path: str, page_path: str) -> str:
    """Return the text with which a page names an image: a path of the site, else the path from the folder of the page.

    A path with a slash at its end is a folder, whose address also ends with a slash.
    """
    root = next((root for root in _roots(project, page_path) if path.startswith(f"{root}/")), None)
    if root is not None:
        return path[len(root) :]
    folder, _slash, name = path.rpartition("/")
    own = page_path.rpartition("/")[0]
    if project.generator in COPIED_BY and folder != own and not re.search("(^|/)_", path):
        return f"/{path}"
    relative = posixpath.relpath(f"/{folder}", f"/{own}")
    return name if relative == "." else f"{relative}/{name}"


def candidates(source: str, page_path: str, folders: Iterable[MediaFolder] = ()) -> list[str]:
    """Return the files that an address in a page may name, the best first. An address of another site has none."""
    if not source or _ABSOLUTE.match(source):
        return []
    plain = re.sub(r"[?#].*", "", source)
    path = unquote(source if is_image(source) and not is_image(plain) else plain)
    is_absolute = path.startswith("/")
    declared = [
        posixpath.normpath(folder.path(path[len(folder.address) :]))
        for folder in folders
        if path.startswith(folder.address) and is_absolute == folder.address.startswith("/")
    ]
    if is_absolute:
        path = posixpath.normpath(path)
        return [*declared, *(f"{root}{path}" for root in SITE_ROOTS), path[1:]]
    own = posixpath.normpath(posixpath.join(page_path.rpartition("/")[0], path))
    path = posixpath.normpath(path)
    return [*declared, own, *(f"{root}/{path}" for root in SITE_ROOTS if not path.startswith(".."))]


def find_files(
    index: ContentIndex | None, sources: Iterable[str], page_path: str, folders: Iterable[MediaFolder] = ()
) -> dict[str, str]:
    """Return the file of each address that names an image of the branch, with one statement."""
    images = find_images(index, ((source, page_path) for source in sources), folders)
    return {source: path for (source, _), path in images.items()}


def find_images(
    index: ContentIndex | None, addresses: Iterable[tuple[str, str]], folders: Iterable[MediaFolder] = ()
) -> dict[tuple[str, str], str]:
    """Return the file of each address in a page that names an image of the branch, with one statement."""
    folders = tuple(folders)
    possible = {address: list(filter(is_image, candidates(*address, folders))) for address in addresses}
    present = existing_files(index, {path for paths in possible.values() for path in paths})
    matches = {address: next((path for path in paths if path in present), None) for address, paths in possible.items()}
    return {address: path for address, path in matches.items() if path is not None}


def address_of(project: Project, path: str, page_path: str, folders: Iterable[MediaFolder]) -> str:
    """Return the text with which a page names an image of the repository.

    `#`, `?` and `%` are escaped, because they have a meaning in URLs.
    """
    declared = (folder.url(path) for folder in folders)
    address = next((url for url in declared if url is not None), site_url(project, path, page_path))
    return _ESCAPED.sub(lambda match: quote(match[0]), address)


def raw_url(project: Project, path: str, commit_sha: str | None = None) -> str:
    """Return the URL of the bytes of an image of the working branch, or of a commit."""
    ref = f"ref={commit_sha}&" if commit_sha is not None else ""
    return f"/api/v1/project-content/{project.id}/raw?{ref}file={quote(path)}"
