"""The folders of the sites of a repository, and the folders of a site whose files are published at its root."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from posixpath import join

from app.content.detect import config_files
from app.content.entry_files import HUGO, folders_above, is_index

MEDIA_FOLDERS = {
    **dict.fromkeys((HUGO, "docusaurus", "gatsby", "sveltekit"), "static"),
    **dict.fromkeys(("astro", "nextjs", "nuxt", "tanstack", "vite"), "public"),
    "jekyll": "assets",
}
"""Folders for images by generator. With the others, an image in the folder of the page has an address."""


ALIASES = {"~/": "src", "@/": "src", "@site/": ""}
"""The folders of a site that a path in a page can start with, as Astro, Vite, Nuxt and Docusaurus name them."""


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


@dataclass(frozen=True)
class SiteRoots:
    """The folders in which the pages of a repository find files.

    Attributes:
        generator: the generator of its sites.
        sites: the folders of the sites, the main one first.
        media: the chosen folder for new images, or an empty text.
        content: the chosen folder of the content, or an empty text.
        declared: the media folders of the schema that do not depend on the page.
    """

    generator: str | None = None
    sites: tuple[str, ...] = ("",)
    media: str = ""
    content: str = ""
    declared: tuple[MediaFolder, ...] = ()

    def site_of(self, path: str) -> str:
        """Return the folder of the site of a file: the nearest one above it, else the main one."""
        nearest = (folder for folder in folders_above(path) if folder in self.sites)
        return next(nearest, "" if "" in self.sites else self.sites[0])

    def roots(self, page_path: str) -> list[MediaFolder]:
        """Return the folders whose images have an address of the site in a page, in which they are below `/`.

        Hugo finds images of `assets` by this address. It publishes an image of the content next to its page. The path
        from the folder of the file leads there only from a bundle: another page is one folder deeper in the site.
        """
        site = self.site_of(page_path)
        folders = [join(site, name) for name in ("static", "assets" if self.generator == HUGO else "public")]
        if self.generator == HUGO and not is_index(page_path):
            folders.append(self.content or join(site, "content"))
        return [MediaFolder(folder, "/") for folder in folders]

    def media_folder(self, page_path: str) -> str:
        """Return the folder for new images: the chosen one, else the generator's usual one, else an empty text."""
        usual = MEDIA_FOLDERS.get(self.generator or "", "")
        return self.media or (join(self.site_of(page_path), usual) if usual else "")

    def aliased(self, page_path: str) -> list[MediaFolder]:
        """Return the folders of the site of a page that have an alias, with the alias as their address."""
        site = self.site_of(page_path)
        return [MediaFolder(join(site, name).rstrip("/"), alias) for alias, name in ALIASES.items()]

    def published(self, page_path: str) -> tuple[MediaFolder, ...]:
        """Return the folder of the site of a page, the declared media folders and the aliases, with their addresses."""
        return MediaFolder(self.site_of(page_path), "/"), *self.declared, *self.aliased(page_path)


def site_folders(paths: Collection[str], generator: str | None, content: str) -> tuple[str, ...]:
    """Return the folders of the sites of a repository, the main one first.

    Args:
        paths: the paths of configuration files and of `package.json` files.
        generator: the generator of the project. Without a configuration file of it, the root is a site too.
        content: the folder of its content, whose site is the main one.
    """
    configured = (set(_marked(paths, names)) for names in config_files(generator))
    folders = next(filter(None, configured), None) or {"", *_marked(paths, ("package.json",))}
    preferred = {content, *folders_above(content)} - {""}
    return tuple(sorted(folders, key=lambda folder: (folder not in preferred, folder.count("/"), folder)))


def _marked(paths: Collection[str], names: Iterable[str]) -> Iterator[str]:
    """Yield the folders that contain a file with one of some names."""
    for name in names:
        yield from (path[: -len(name)].rstrip("/") for path in paths if f"/{path}".endswith(f"/{name}"))
