"""Detection of a repository's recipe: generator configuration, generator dependencies, scripts, then plain files.

The section `preview` of `.galley.yml` has priority.
"""

import hashlib
import posixpath
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from app.content.galley_file import FILES, InvalidGalleyFile, read_galley_file
from app.core.paths import path_error
from app.runtimes import hugo, node, python_sites
from app.runtimes.recipe import HOST, PORT, PreviewAddress, Read, Recipe

MAX_COMMANDS, MAX_ARGUMENTS, MAX_VARIABLES = 10, 100, 50
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
KEYS = ("root", "install", "command", "port", "env")
JEKYLL_FOLDERS = ("_posts/", "_layouts/", "_includes/", "_sass/", "_data/")
JEKYLL_GEM = re.compile(rb"^[ \t]{0,20}gem[ \t]{0,20}[('\"]{1,2}(?:jekyll|github-pages)['\"]", re.MULTILINE)
INSTALL_GEMS = """\
echo "$ bundle check || bundle install"
bundle check || bundle install && exit
command -v jekyll >/dev/null && find "$GEM_HOME" -mindepth 1 -delete
"""
"""Gems of the system are used if they satisfy the Gemfile. Others are installed into GEM_HOME.

An empty folder is not cached, so that the next start tries again."""
SERVE_WITH_GEMS = """\
if bundle check >/dev/null 2>&1; then
  set -- bundle exec "$@"
else
  echo "The gems of the Gemfile could not be installed. The Jekyll of the system is used, with its own plugins."
  export JEKYLL_NO_BUNDLER_REQUIRE=true
fi
echo "$ $*"
exec "$@"
"""
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


class InvalidPreviewOptions(Exception):
    """The section `preview` is invalid. The message names the key."""


@dataclass(frozen=True)
class PreviewOptions:
    """Values of the section. None means that the value is detected."""

    root: str | None = None
    install: tuple[tuple[str, ...], ...] | None = None
    command: tuple[str, ...] | None = None
    port: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)


def read_options(read: Read) -> PreviewOptions:
    """Return the options of a repository.

    Raises:
        InvalidPreviewOptions: the file or the section is invalid.
    """
    data = next((data for data in map(read, FILES) if data is not None), None)
    if data is None:
        return PreviewOptions()
    section = _section(data)
    unknown = [str(key) for key in section if key not in KEYS]
    if unknown:
        raise InvalidPreviewOptions(f"preview.{unknown[0]} in .galley.yml is unknown; known are {', '.join(KEYS)}")
    return PreviewOptions(
        root=_root(section.get("root")),
        install=_commands(section.get("install")),
        command=None if section.get("command") is None else _command("command", section["command"]),
        port=_port(section.get("port")),
        env=_environment(section.get("env")),
    )


def _section(data: bytes) -> Mapping[object, object]:
    try:
        section = read_galley_file(data).get("preview")
    except InvalidGalleyFile as error:
        raise InvalidPreviewOptions(str(error)) from error
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise InvalidPreviewOptions("preview in .galley.yml must be a mapping")
    return section


def _root(value: object) -> str | None:
    if value is None:
        return None
    root = value.strip("/").removeprefix("./") if isinstance(value, str) else None
    if root is None or (root not in ("", ".") and path_error(root) is not None):
        raise InvalidPreviewOptions("preview.root in .galley.yml must be a folder of the repository")
    return "" if root == "." else root


def _commands(value: object) -> tuple[tuple[str, ...], ...] | None:
    if value is None:
        return None
    commands = value if isinstance(value, list) and not _is_arguments(value) else [value]
    if len(commands) > MAX_COMMANDS:
        raise InvalidPreviewOptions(f"preview.install in .galley.yml must have at most {MAX_COMMANDS} commands")
    return tuple(_command("install", command) for command in commands if command)


def _is_arguments(value: list[object]) -> bool:
    """Return whether a list is one command. Its arguments contain no spaces; a list of commands usually does."""
    return bool(value) and all(isinstance(part, str) and " " not in part for part in value) and len(value) > 1


def _command(key: str, value: object) -> tuple[str, ...]:
    try:
        parts = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml has an unclosed quotation mark") from error
    if not isinstance(parts, list) or not parts or len(parts) > MAX_ARGUMENTS:
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml must be a command")
    if any(not isinstance(part, str | int | float) or "\0" in str(part) for part in parts):
        raise InvalidPreviewOptions(f"preview.{key} in .galley.yml must contain texts only")
    return tuple(str(part) for part in parts)


def _port(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1024 <= value <= 65_535):
        raise InvalidPreviewOptions("preview.port in .galley.yml must be a number from 1024 to 65535")
    return value


def _environment(value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_VARIABLES:
        raise InvalidPreviewOptions(f"preview.env in .galley.yml must have at most {MAX_VARIABLES} variables")
    for name, text in value.items():
        if not isinstance(name, str) or not VARIABLE.fullmatch(name) or not isinstance(text, str | int | float):
            raise InvalidPreviewOptions("preview.env in .galley.yml must map names to texts")
    return {name: str(text) for name, text in value.items() if "\0" not in str(text)}


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
    script = node.style_script(recipe, partial(_read_below, read, folder)) if recipe is not None else None
    recipe = _apply(options, recipe)
    if script is not None and options.command is None:
        recipe = replace(recipe, note=STYLES_NOTE.format(script=script))
    if "pip" not in recipe.tools or recipe.python is not None:
        return recipe
    return replace(recipe, python=python_sites.declared_range(partial(_read_below, read, folder)))


def static(folder: str = "") -> Recipe:
    """Return a recipe that serves files unchanged, with `index.html` for a folder."""
    return Recipe(("python3", "-m", "http.server", PORT, "--bind", HOST), folder=folder.rstrip("/"))


def _apply(options: PreviewOptions, detected: Recipe | None) -> Recipe:
    recipe = detected or Recipe(options.command or (), folder=options.root or "")
    if options.command is not None:
        recipe = replace(recipe, serve=options.command)
    if options.install is not None:
        key = hashlib.sha256(repr((recipe.dependencies, options.install)).encode()).hexdigest()
        recipe = replace(recipe, install=options.install, dependencies=key if recipe.dependencies is not None else None)
    programs = {command[0] for command in (options.command or (), *(options.install or ())) if command}
    tools = (TOOLS_OF_PROGRAMS[name] for name in sorted(programs & TOOLS_OF_PROGRAMS.keys()))
    return replace(
        recipe,
        port=options.port,
        environment={**recipe.environment, **options.env},
        tools=tuple(dict.fromkeys((*recipe.tools, *tools))),
    )


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
        if "mkdocs.yml" in paths:
            return python_sites.mkdocs(paths, read, name)
        if _is_jekyll(paths, read) and not node.depends_on(read, "hexo"):
            return _jekyll(paths, read, name)
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


def _is_jekyll(paths: frozenset[str], read: Read) -> bool:
    has_folders = any(path.startswith(JEKYLL_FOLDERS) for path in paths)
    if "_config.yml" not in paths and "_config.yaml" not in paths:
        return has_folders and JEKYLL_GEM.search(read("Gemfile") or b"") is not None
    return "Gemfile" in paths or "index.html" not in paths or has_folders


def _jekyll(paths: frozenset[str], read: Read, folder: str) -> Recipe:
    # The preview serves the site at the root of a host, also if the site is published in a folder.
    options = ("--baseurl", "", "--drafts", "--future", "--destination", "/tmp/site")  # noqa: S108 (inside the jail)
    serve = ("jekyll", "serve", "--host", HOST, "--port", PORT, *options)
    if "Gemfile" not in paths:
        return Recipe(serve, folder=folder, tools=("jekyll",))
    gems = b"\0".join(read(name) or b"" for name in ("Gemfile", "Gemfile.lock"))
    return Recipe(
        ("sh", "-c", SERVE_WITH_GEMS, "sh", *serve),
        install=(("sh", "-c", INSTALL_GEMS),),
        environment={
            "GEM_HOME": "/tmp/gems",  # noqa: S108 (inside the jail)
            "BUNDLE_PATH__SYSTEM": "true",
            "BUNDLE_APP_CONFIG": "/tmp/bundle",  # noqa: S108 (inside the jail)
            "BUNDLE_FROZEN": "false",
        },
        folder=folder,
        tools=("bundle",),
        dependencies=hashlib.sha256(gems).hexdigest(),
        dependency_folder="/tmp/gems",  # noqa: S108 (inside the jail)
    )
