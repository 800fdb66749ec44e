"""Images of the repository: their addresses in pages, and the files of such addresses."""

import posixpath
import re
from collections.abc import Iterable
from urllib.parse import unquote

from app.access.scope import Scope
from app.content.filetypes import file_type
from app.models.project import Generator, Project
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

THUMBNAIL_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif")
"""The endings of images that are decoded for a thumbnail. Vector images have none."""

_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def is_image(path: str) -> bool:
    """Return whether a file is an image by its ending."""
    return (file_type(path).mime or "").startswith("image/")


def has_thumbnail(path: str) -> bool:
    """Return whether an image is decoded for a thumbnail."""
    return path.lower().endswith(THUMBNAIL_ENDINGS)


def media_folder(project: Project) -> str:
    """Return the folder for new images: that of the settings, else the generator's usual one, else an empty text."""
    chosen: str = project.paths.get("media") or ""
    return chosen or (MEDIA_FOLDERS.get(project.generator, "") if project.generator else "")


def site_url(path: str, page_path: str) -> str:
    """Return the text with which a page names an image: a name in its own folder, else a path of the site."""
    if path.rpartition("/")[0] == page_path.rpartition("/")[0]:
        return path.rpartition("/")[2]
    first, _slash, remaining = path.partition("/")
    return f"/{remaining}" if first in SITE_ROOTS else f"/{path}"


def candidates(source: str, page_path: str) -> list[str]:
    """Return the files that an address in a page may name, the best first. An address of another site has none."""
    if not source or _ABSOLUTE.match(source):
        return []
    path = unquote(re.sub(r"[?#].*", "", source))
    if path.startswith("/"):
        return [*(f"{root}{posixpath.normpath(path)}" for root in SITE_ROOTS), posixpath.normpath(path)[1:]]
    own = posixpath.normpath(posixpath.join(page_path.rpartition("/")[0], path))
    path = posixpath.normpath(path)
    return [own, *(f"{root}/{path}" for root in SITE_ROOTS if not path.startswith(".."))]


def find_files(scope: Scope, sources: Iterable[str], page_path: str) -> dict[str, str]:
    """Return the file of each address that names an image of the branch, with one statement."""
    images = find_images(scope, ((source, page_path) for source in sources))
    return {source: path for (source, _), path in images.items()}


def find_images(scope: Scope, addresses: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the file of each address in a page that names an image of the branch, with one statement."""
    possible = {address: list(filter(is_image, candidates(*address))) for address in addresses}
    present = existing_files(scope.index, {path for paths in possible.values() for path in paths})
    matches = {address: next((path for path in paths if path in present), None) for address, paths in possible.items()}
    return {address: path for address, path in matches.items() if path is not None}
