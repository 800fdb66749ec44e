"""Detection of a repository's recipe: generator configuration, generator dependencies, scripts, then plain files.

The section `preview` of `.galley.yml` has priority.
"""

import hashlib
import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from app.core.paths import path_error
from app.runtimes import hugo, jekyll, node, python_sites
from app.runtimes.options import InvalidPreviewOptions, PreviewOptions, read_options
from app.runtimes.recipe import HOST, PORT, PreviewAddress, Read, Recipe

SPHINX_SOURCES = ("docs/source/", "docs/", "doc/source/", "doc/", "source/", "")
SPHINX_CONFIG = re.compile(rb"(?m)^(?:extensions|html_theme|master_doc|root_doc|copyright)\s*=")
PLAIN_FOLDERS = ("", "public/", "docs/", "site/", "dist/", "_site/", "build/", "src/")
MARKS = frozenset(
    {
        *hugo.CONFIGS[:4],
        "config.toml",
        "package.json",
        "_config.yml",
        "mkdocs.yml",
        "zensical.toml",
        python_sites.PELICAN_CONFIG,
        "index.html",
        "conf.py",
        *node.CONFIG_FILES,
    }
)
SAMPLE_FOLDERS = re.compile(
    r"(?:^|/)(?:examples?|exampleSite|tests?|fixtures|demos?|vendor|themes|node_modules|\.[^/]+)/"
)
MAX_FOLDERS = 16
TOOLS_OF_PROGRAMS = {
    **{name: name for name in ("hugo", "bundle", "jekyll")},
    **dict.fromkeys(("node", "npm", "npx"), "node"),
    **dict.fromkeys(("python", "python3", "pip", "pip3"), "pip"),
}


STYLES_NOTE = (
    "The preview does not run the script “{script}” of package.json. If styles are missing, set preview.command in "
    ".galley.yml to a command that builds them and starts the server on the port in the variable PORT."
)


class RuntimeNotDetected(Exception):
    """The repository contains nothing that can be served. The message names the reason if there is a specific one."""


@dataclass(frozen=True)
class DetectionHints:
    """Settings that detection uses: the content folder of the project and the proxy of Hugo modules."""

    content_folder: str = ""
    module_proxy: str = hugo.PUBLIC_MODULE_PROXY


def choose_recipe(
    paths: Collection[str], read: Read, address: PreviewAddress, hints: DetectionHints | None = None
) -> Recipe:
    """Return the recipe of a repository. The section `preview` of `.galley.yml` overrides what is detected.

    `read` returns the content of a path, or None. It is called for a few small files.

    Raises:
        RuntimeNotDetected: there is neither a generator nor a page, or `.galley.yml` is invalid.
    """
    try:
        options = read_options(read)
    except InvalidPreviewOptions as error:
        raise RuntimeNotDetected(str(error)) from error
    detector = _Detector(frozenset(paths), read, address, hints or DetectionHints())
    recipe = detector.detect(options.root)
    if recipe is None and options.command is None:
        raise RuntimeNotDetected(
            ""
            if options.root is None
            else f"The folder “{options.root}” (preview.root in .galley.yml) contains no site"
        )
    folder = f"{recipe.folder}/" if recipe is not None and recipe.folder else ""
    if recipe is not None and options.command is None:
        recipe = detector.with_styles(recipe)
    recipe = _with_build(_apply(options, recipe), options, address)
    if "pip" not in recipe.tools or recipe.python is not None:
        return recipe
    return replace(recipe, python=python_sites.declared_range(partial(_read_below, read, folder)))


def static(folder: str = "") -> Recipe:
    """Return a recipe that serves files unchanged, with `index.html` for a folder."""
    return Recipe(("python3", "-m", "http.server", PORT, "--bind", HOST), folder=folder.rstrip("/"), output="")


def _apply(options: PreviewOptions, detected: Recipe | None) -> Recipe:
    recipe = detected or Recipe(options.command or (), folder=options.root or "")
    if options.command is not None:
        recipe = replace(recipe, serve=options.command)
    if options.install is not None:
        key = hashlib.sha256(repr((recipe.dependencies, options.install)).encode()).hexdigest()
        recipe = replace(recipe, install=options.install, dependencies=key if recipe.dependencies is not None else None)
    commands = (options.command or (), *(options.install or ()), options.build or ())
    programs = {command[0] for command in commands if command}
    tools = (TOOLS_OF_PROGRAMS[name] for name in sorted(programs & TOOLS_OF_PROGRAMS.keys()))
    return replace(
        recipe,
        port=options.port,
        environment={**recipe.environment, **options.env},
        tools=tuple(dict.fromkeys((*recipe.tools, *tools))),
    )


def _with_build(recipe: Recipe, options: PreviewOptions, address: PreviewAddress) -> Recipe:
    """Return a recipe whose build has the address. A build is known only with the folder of its pages."""
    build = options.build or recipe.build
    output = _folder_below(recipe.output) if options.output is None else options.output
    if options.build is not None and output is None:
        raise RuntimeNotDetected("preview.build in .galley.yml needs preview.output, the folder of the built pages")
    return replace(recipe, build=address.filled(build) if build and output is not None else None, output=output)


def _folder_below(output: str | None) -> str | None:
    """Return the output folder that the configuration of a generator names, None if it is not below the site."""
    folder = None if output is None else posixpath.normpath(output)
    if folder == ".":
        return ""
    return folder if folder is not None and path_error(folder) is None else None


class _Detector:
    """Detection in one tree of paths."""

    def __init__(self, paths: frozenset[str], read: Read, address: PreviewAddress, hints: DetectionHints) -> None:
        self._paths, self._read, self._address, self._hints = paths, read, address, hints

    def detect(self, root: str | None) -> Recipe | None:
        """Return the recipe of the folder `root`, or of the best folder of the repository."""
        folders = [f"{root}/" if root else ""] if root is not None else self._folders()
        sites = [folder for folder in folders if root is not None or not SAMPLE_FOLDERS.search(folder)]
        for detect, searched in ((self._configured, sites), (self._generator, folders), (self._script, folders)):
            for folder in searched:
                recipe = detect(folder)
                if recipe is not None:
                    return node.in_workspace(recipe, self._paths, self._read) if recipe.folder else recipe
        plain = [f"{folder}{below}" for folder in (folders if root is not None else [""]) for below in PLAIN_FOLDERS]
        return next((static(folder) for folder in plain if f"{folder}index.html" in self._paths), None)

    def with_styles(self, recipe: Recipe) -> Recipe:
        """Return a recipe that builds the styles of package.json, or that has a note about the script that does."""
        paths, read = self._below(f"{recipe.folder}/" if recipe.folder else "")
        script = node.style_script(recipe, read)
        if script is None and recipe.folder:
            # A script of the root writes to a folder that only the commands of the repository know.
            root = node.style_script(recipe, self._read)
            script = (root[0], False) if root is not None else None
        if script is None:
            return recipe
        name, ends = script
        if ends:
            return node.with_styles(recipe, name, paths, read)
        return replace(recipe, note=STYLES_NOTE.format(script=name))

    def _folders(self) -> list[str]:
        """Return the folders to inspect: those above the content of the project, the root, then the nearest ones."""
        content = self._hints.content_folder.strip("/").split("/")
        above = ["/".join(content[:depth]) + "/" for depth in range(len(content), 0, -1)] if content != [""] else []
        marked = {
            posixpath.dirname(path) + "/" for path in self._paths if "/" in path and posixpath.basename(path) in MARKS
        }
        nearest = [folder for folder in marked if folder.count("/") <= 2 and "node_modules/" not in folder]
        nearest.sort(key=lambda folder: (bool(SAMPLE_FOLDERS.search(folder)), folder.count("/"), folder))
        return list(dict.fromkeys([*above, "", *nearest[:MAX_FOLDERS]]))

    def _below(self, folder: str) -> tuple[frozenset[str], Read]:
        paths = frozenset(path[len(folder) :] for path in self._paths if path.startswith(folder))
        return paths, partial(_read_below, self._read, folder)

    def _configured(self, folder: str) -> Recipe | None:
        """Return the recipe of the generator that a folder configures."""
        paths, read = self._below(folder)
        name = folder.rstrip("/")
        if hugo.is_site(paths):
            version = hugo.pinned_version([(self._paths, self._read), (paths, read)])
            return hugo.recipe(paths, read, name, self._address, self._hints.module_proxy, version)
        if (recipe := node.configured(paths, read, name)) is not None:
            return recipe
        if python_sites.is_zensical(paths, read):
            return python_sites.zensical(paths, read, name)
        if python_sites.PELICAN_CONFIG in paths:
            return python_sites.pelican(paths, read, name)
        if "mkdocs.yml" in paths:
            return python_sites.mkdocs(paths, read, name)
        if jekyll.is_site(paths, read) and not node.depends_on(read, "hexo"):
            return jekyll.recipe(paths, read, name)
        return None

    def _generator(self, folder: str) -> Recipe | None:
        """Return the recipe of the generator that a folder configures, or on which its package.json depends."""
        if (configured := self._configured(folder)) is not None:
            return configured
        paths, read = self._below(folder)
        name = folder.rstrip("/")
        recipe = node.recipe(paths, read, name) if "package.json" in paths else None
        if recipe is not None:
            return recipe
        for source in SPHINX_SOURCES:
            if f"{source}conf.py" in paths and SPHINX_CONFIG.search(read(f"{source}conf.py") or b""):
                return python_sites.sphinx(source, paths, read, name)
        return None

    def _script(self, folder: str) -> Recipe | None:
        paths, read = self._below(folder)
        return node.script(paths, read, folder.rstrip("/")) if "package.json" in paths else None


def _read_below(read: Read, folder: str, path: str) -> bytes | None:
    return read(folder + path)
