"""Recipes of folders with a package.json: package manager by lock file, server by generator, declared versions."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from app.runtimes import scripts
from app.runtimes.recipe import BASE, HOST, PORT, REPEATED_NOTE, URL, Read, Recipe, Version, json_of, mapping

VERSION_FILES = (".nvmrc", ".node-version")
RELEASE_NAMES = {"gallium": 16, "hydrogen": 18, "iron": 20, "jod": 22, "krypton": 24}
MAX_CHARACTERS = 200
_COMPARATOR = re.compile(
    r"(>=|<=|>|<|=|\^|~)?v?(\d{1,6})?(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?(?:[-+][\w.+-]*)?"
)
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
_REPEATED = f"""\
install() {{
  echo "$ $*"
  "$@"
}}
again() {{
  echo "{REPEATED_NOTE}"
  export npm_config_ignore_scripts=true YARN_ENABLE_SCRIPTS=false
  install "$@"
}}
"""
"""Scripts of packages often download programs from hosts that a sandbox cannot reach, and few sites need them."""
DOWNLOADS = {
    "BROWSER": "none",
    "PUPPETEER_SKIP_DOWNLOAD": "1",
    "PUPPETEER_SKIP_CHROMIUM_DOWNLOAD": "1",
    "CYPRESS_INSTALL_BINARY": "0",
    "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    "SENTRYCLI_SKIP_DOWNLOAD": "1",
    "ELECTRON_SKIP_BINARY_DOWNLOAD": "1",
}
"""Variables without which packages for tests download browsers and other programs."""
_NPM_OPTIONS = "--no-audit --no-fund"
# Lock files that npm wrote on another platform often lack optional packages. Fall back to an installation.
_NPM = ("sh", "-c", f"{_REPEATED}install npm ci {_NPM_OPTIONS} || again npm install {_NPM_OPTIONS}")
WITHOUT_LOCK = ("sh", "-c", f"{_REPEATED}install npm install {_NPM_OPTIONS} || again npm install {_NPM_OPTIONS}")
LOCK_FILES = ("pnpm-lock.yaml", "yarn.lock", "package-lock.json", "npm-shrinkwrap.json")
_FIELD = re.compile(r"(pnpm|yarn)@(\d+\.\d+\.\d+(?:-[\w.-]+)?)(?:\+.*)?")
_PNPM_LOCK_VERSION = re.compile(rb"^lockfileVersion: *['\"]?(\d+)", re.MULTILINE)
_PNPM_OF_LOCK = {"5": "7", "6": "8", "9": "10"}
_PNPM, _YARN, _MODERN_YARN = "10", "1.22.22", "4"
HEAD_BYTES = 4096
SETTINGS = (".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml")
_SCRIPTS = ("js", "mjs", "cjs", "ts", "mts", "cts")
_VITEPRESS = ("vitepress", "dev", "{root}", "--host", HOST, "--port", PORT)
# The most specific generators come first: most of them depend on Vite.
SERVERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("astro", ("astro", "dev", "--host", HOST, "--port", PORT)),
    ("@docusaurus/core", ("docusaurus", "start", "--host", HOST, "--port", PORT, "--no-open")),
    ("vitepress", _VITEPRESS),
    ("next", ("next", "dev", "-H", HOST, "-p", PORT)),
    ("nuxt", ("nuxt", "dev", "--host", HOST, "--port", PORT)),
    ("gatsby", ("gatsby", "develop", "-H", HOST, "-p", PORT)),
    ("@11ty/eleventy", ("eleventy", "--serve", f"--port={PORT}")),
    ("hexo", ("hexo", "server", "-i", HOST, "-p", PORT)),
    ("vite", ("vite", "dev", "--host", HOST, "--port", PORT, "--strictPort")),
)
BUILDS: dict[str, tuple[tuple[str, ...], str]] = {
    "astro": (("astro", "build", "--outDir", "dist", "--site", URL, "--base", f"{BASE}/"), "dist"),
    "@docusaurus/core": (("docusaurus", "build", "--out-dir", "build"), "build"),
    "vitepress": (
        ("vitepress", "build", "{root}", "--base", f"{BASE}/", "--outDir", "{root}/.vitepress/dist"),
        "{root}/.vitepress/dist",
    ),
    "next": (("next", "build"), "out"),
    "nuxt": (("nuxt", "generate"), ".output/public"),
    "gatsby": (("gatsby", "build"), "public"),
    "@11ty/eleventy": (("eleventy", "--output=_site", f"--pathprefix={BASE}/"), "_site"),
    "hexo": (("hexo", "generate"), "public"),
    "vite": (("vite", "build", "--outDir", "dist", "--emptyOutDir", "--base", f"{BASE}/"), "dist"),
}
"""Builds and the folders of their pages."""

_PRODUCTION = ("env", "NODE_ENV=production")
_EXPORT = re.compile(rb"['\"`]export['\"`]")
"""Value of `output` in the configuration of Next.js, without which its build has no static pages."""

_PUBLIC_DIR = re.compile(rb"(?m)^public_dir:[ \t]*['\"]?([\w./-]{1,100})")
CONFIGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("astro", tuple(f"astro.config.{ending}" for ending in _SCRIPTS)),
    ("@docusaurus/core", tuple(f"docusaurus.config.{ending}" for ending in _SCRIPTS)),
    ("next", tuple(f"next.config.{ending}" for ending in _SCRIPTS)),
    ("nuxt", tuple(f"nuxt.config.{ending}" for ending in _SCRIPTS)),
    ("gatsby", tuple(f"gatsby-config.{ending}" for ending in _SCRIPTS)),
    ("@11ty/eleventy", (".eleventy.js", *(f"eleventy.config.{ending}" for ending in _SCRIPTS))),
)
CONFIG_FILES = frozenset(name for _, names in CONFIGS for name in names)
VITEPRESS_CONFIGS = frozenset(f".vitepress/config.{ending}" for ending in _SCRIPTS)

_BUNDLERS = frozenset(command[0] for _, command in SERVERS) - {"eleventy", "hexo"}
STYLES_TIMEOUT_S = 120
BUILD_STYLES = f"""\
echo "$ npm run $1"
timeout {STYLES_TIMEOUT_S} npm run "$1" || echo "The script $1 of package.json failed. Styles can be missing."
"""
_OPTIONAL = """\
"$@" || echo "The packages of package.json could not be installed. Styles can be missing."
"""
_ELEVENTY_OUTPUT = re.compile(rb"\boutput['\"]?[ \t]*:[ \t]*['\"]\.?/?([\w.-]{1,60}(?:/[\w.-]{1,60}){0,5})/?['\"]")


def declared_range(read: Read, engines: object) -> str | None:
    """Return the range that a folder declares, or None. A version file selects a major version."""
    for name in VERSION_FILES:
        text = (read(name) or b"")[:MAX_CHARACTERS].decode(errors="replace").strip().lower()
        match = re.match(r"v?(\d+)", text)
        major = int(match[1]) if match is not None else RELEASE_NAMES.get(text.removeprefix("lts/"))
        if major is not None:
            return f"^{major}"
    declared = engines.get("node") if isinstance(engines, dict) else None
    return declared if isinstance(declared, str) and len(declared) <= MAX_CHARACTERS else None


def is_satisfied(version: Version, declared: str) -> bool:
    """Return whether a version is in a range. Text that is not a version matches each version."""
    return any(_is_in_all(version, alternative.strip()) for alternative in declared.split("||"))


def _is_in_all(version: Version, text: str) -> bool:
    hyphen = _HYPHEN.fullmatch(text)
    comparators = [f">={hyphen[1]}", f"<={hyphen[2]}"] if hyphen else re.sub(r"([<>=^~])\s+", r"\1", text).split()
    return all(_is_in(version, comparator) for comparator in comparators)


def _is_in(version: Version, comparator: str) -> bool:
    match = _COMPARATOR.fullmatch(comparator)
    if match is None or match[2] is None:
        return True
    operator, *parts = match.groups()
    numbers = tuple(int(part) for part in parts if part is not None and part.isdigit())
    following = _next(numbers)
    match operator:
        case ">=":
            return version >= numbers
        case ">":
            return version >= following
        case "<":
            return version < numbers
        case "<=":
            return version < following
        case "^":
            return numbers <= version < _next(numbers[:1])
        case "~":
            return numbers <= version < _next(numbers[:2])
    return numbers <= version < following


def _next(numbers: Version) -> Version:
    """Return the lowest version above all versions that start with `numbers`, or above the complete version."""
    return (*numbers[:-1], numbers[-1] + 1)


@dataclass(frozen=True)
class NodeInstallation:
    """Command that installs the dependencies, its lock file (None without one) and variables of its environment."""

    command: tuple[str, ...]
    lock: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def installation_of(paths: Collection[str], read: Read, package_manager: object) -> NodeInstallation:
    """Return the installation of a folder. `package_manager` is the field `packageManager` of its package.json."""
    lock = next((name for name in LOCK_FILES if name in paths), None)
    match = _FIELD.fullmatch(package_manager) if isinstance(package_manager, str) else None
    name, version = (match[1], match[2]) if match is not None else (None, None)
    if lock == "pnpm-lock.yaml":
        head = (read(lock) or b"")[:HEAD_BYTES]
        return _pnpm(version if name == "pnpm" else None, head, lock)
    if lock == "yarn.lock":
        return _yarn(version if name == "yarn" else None, (read(lock) or b"")[:HEAD_BYTES], lock)
    return NodeInstallation(WITHOUT_LOCK if lock is None else _NPM, lock)


def _pnpm(version: str | None, lock_head: bytes, lock: str) -> NodeInstallation:
    match = _PNPM_LOCK_VERSION.search(lock_head)
    number = match[1].decode() if match is not None else ""
    package = f"pnpm@{version or _PNPM_OF_LOCK.get(number, _PNPM)}"
    return NodeInstallation(_with_npm(package, "pnpm", "install", "--frozen-lockfile"), lock)


def _yarn(version: str | None, lock_head: bytes, lock: str) -> NodeInstallation:
    is_modern = not version.startswith("1.") if version is not None else b"__metadata:" in lock_head
    if not is_modern:
        return NodeInstallation(_with_npm(f"yarn@{version or _YARN}", "yarn", "install", "--frozen-lockfile"), lock)
    # Yarn 2 and later are in another package. Without the variable there is no folder node_modules.
    command = _with_npm(f"@yarnpkg/cli-dist@{version or _MODERN_YARN}", "yarn", "install", "--immutable")
    return NodeInstallation(command, lock, {"YARN_NODE_LINKER": "node-modules", "YARN_ENABLE_GLOBAL_CACHE": "false"})


def _with_npm(package: str, *command: str) -> tuple[str, ...]:
    return (
        "sh",
        "-c",
        f'{_REPEATED}install "$@" || again "$@"',
        "sh",
        "npm",
        "exec",
        "--yes",
        f"--package={package}",
        "--",
        *command,
    )


def configured(paths: Collection[str], read: Read, folder: str) -> Recipe | None:
    """Return the recipe of a generator whose configuration file is in the folder."""
    if "package.json" not in paths:
        return None
    name = next((name for name, files in CONFIGS if any(file in paths for file in files)), None)
    return _recipe(name, paths, read, folder) if name is not None else None


def recipe(paths: Collection[str], read: Read, folder: str) -> Recipe | None:
    """Return the recipe of a generator on which package.json depends."""
    names = _dependencies(read)
    name = next((name for name, _ in SERVERS if name in names), None)
    return _recipe(name, paths, read, folder) if name is not None else None


def script(paths: Collection[str], read: Read, folder: str) -> Recipe | None:
    """Return a recipe that runs the first known script of package.json."""
    known = scripts.scripts_of(read)
    name = next((name for name in scripts.SERVERS if name in known), None)
    if name is None:
        return None
    build = ("npm", "run", "build") if "build" in known else None
    return _on_node(replace(install(paths, read), serve=("npm", "run", name), folder=folder, build=build), read)


def style_script(recipe: Recipe, read: Read) -> tuple[str, bool] | None:
    """Return a script of package.json that builds styles and that the server of a recipe does not run.

    The second value says whether the script ends by itself. Such a script has priority.
    """
    if not recipe.serve or recipe.serve[0] in ("npm", *_BUNDLERS):
        return None
    return max(scripts.style_scripts(read), key=lambda script: script[1], default=None)


def with_styles(recipe: Recipe, script: str, paths: Collection[str], read: Read) -> Recipe:
    """Return a recipe that runs a script of package.json before its server. A failure is only logged."""
    packages = install(paths, read) if "node" not in recipe.tools else Recipe((), tools=recipe.tools)
    commands = (("sh", "-c", _OPTIONAL, "sh", *command) for command in packages.install)
    return replace(
        recipe,
        prepare=(*recipe.prepare, *commands, ("sh", "-c", BUILD_STYLES, "sh", script)),
        environment={**packages.environment, **recipe.environment},
        tools=tuple(dict.fromkeys((*recipe.tools, "node"))),
        node=recipe.node or packages.node,
    )


def depends_on(read: Read, name: str) -> bool:
    """Return whether package.json depends on a package."""
    return name in _dependencies(read)


def install(paths: Collection[str], read: Read) -> Recipe:
    """Return a recipe without a server that installs the dependencies. Its result is cached by the lock file."""
    if not _dependencies(read) and "workspaces" not in json_of(read("package.json")):
        return Recipe(())
    installation = installation_of(paths, read, json_of(read("package.json")).get("packageManager"))
    content = read(installation.lock) if installation.lock else None
    recipe = _on_node(
        Recipe((), install=(installation.command,), environment=DOWNLOADS | dict(installation.environment)), read
    )
    if not content:
        return recipe
    parts = [read("package.json") or b"", content, *(read(name) or b"" for name in SETTINGS if name in paths)]
    return replace(recipe, dependencies=hashlib.sha256(b"\0".join(parts)).hexdigest())


def in_workspace(recipe: Recipe, paths: Collection[str], read: Read) -> Recipe:
    """Return the recipe of a folder with the installation of its workspace. `paths` and `read` are those of the root.

    A workspace has its lock file in the root of the repository. Its packages are in several folders and not cached.
    """
    is_workspace = "pnpm-workspace.yaml" in paths or "workspaces" in json_of(read("package.json"))
    if "node" not in recipe.tools or not is_workspace or any(f"{recipe.folder}/{name}" in paths for name in LOCK_FILES):
        return recipe
    root = install(paths, read)
    enter = ("sh", "-c", f'cd {"/".join([".."] * (recipe.folder.count("/") + 1))} && exec "$@"', "sh")
    return replace(
        recipe,
        install=tuple((*enter, *command) for command in root.install),
        environment={**root.environment, **recipe.environment},
        dependencies=None,
        node=recipe.node or root.node,
    )


def _recipe(name: str, paths: Collection[str], read: Read, folder: str) -> Recipe:
    root = _root(paths) if name == "vitepress" else ""
    serve = tuple(part.replace("{root}", root) for part in dict(SERVERS)[name])
    program = serve[0]
    if (own := scripts.own_script(read, program, scripts.SERVERS)) is not None:
        serve = ("npm", "run", own)
    command, output = BUILDS[name]
    build = (*_PRODUCTION, *(part.replace("{root}", root) for part in command))
    if scripts.own_script(read, program, ("build",)) is not None:
        build = (*_PRODUCTION, "npm", "run", "build")
        output = _own_output(name, read) or output
    if name == "next" and not _is_exported(read):
        return _on_node(replace(install(paths, read), serve=serve, folder=folder), read)
    public = _PUBLIC_DIR.search(read("_config.yml") or b"") if name == "hexo" else None
    output = public[1].decode().strip("/") if public is not None else output.replace("{root}", root)
    return _on_node(replace(install(paths, read), serve=serve, folder=folder, build=build, output=output), read)


def _own_output(name: str, read: Read) -> str | None:
    """Return the folder that the configuration of Eleventy names."""
    if name != "@11ty/eleventy":
        return None
    matches = (_ELEVENTY_OUTPUT.search(read(config) or b"") for config in dict(CONFIGS)[name])
    return next((match[1].decode() for match in matches if match is not None), None)


def _is_exported(read: Read) -> bool:
    """Return whether the configuration of Next.js requests static pages."""
    return any(_EXPORT.search(read(name) or b"") for name in dict(CONFIGS)["next"])


def _on_node(recipe: Recipe, read: Read) -> Recipe:
    declared = declared_range(read, json_of(read("package.json")).get("engines"))
    return replace(recipe, tools=("node",), node=declared)


def _root(paths: Collection[str]) -> str:
    """Return the folder that contains the configuration of VitePress."""
    roots = [
        path[: -len(name)] for path in paths for name in VITEPRESS_CONFIGS if path == name or path.endswith("/" + name)
    ]
    return min(roots, key=len, default="docs").rstrip("/") or "."


def _dependencies(read: Read) -> set[str]:
    manifest = json_of(read("package.json"))
    return {name for key in ("dependencies", "devDependencies") for name in mapping(manifest.get(key))}
