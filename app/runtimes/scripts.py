"""Scripts of package.json: the programs that they start, their servers, and the ones that build styles."""

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping

from app.runtimes.recipe import Read, json_of, mapping

SERVERS = ("dev", "start", "serve", "develop")
MAX_CHARACTERS, MAX_COMMANDS = 2000, 100
_SEPARATORS = re.compile(r"&&|\|\||[;&|\"'\\()]")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_WRAPPERS = frozenset(("cross-env", "cross-env-shell", "npx", "exec", "time", "env", "dotenv", "--"))
_RUNNERS = frozenset(("npm-run-all", "npm-run-all2", "run-p", "run-s"))
_MANAGERS = frozenset(("npm", "pnpm", "yarn", "bun"))
_TRIVIAL = frozenset(
    ("rm", "rimraf", "del", "del-cli", "echo", "mkdir", "cd", "true", "wait", "exit", "clear", "sleep")
)
_COMBINERS = frozenset(("concurrently", "conc", *_RUNNERS, *_MANAGERS))
_STYLES = frozenset(
    {
        *("tailwindcss", "tailwind", "postcss", "sass", "node-sass", "lessc", "stylus"),
        *("webpack", "rollup", "esbuild", "parcel", "vite", "gulp", "grunt"),
    }
)
GENERATORS = frozenset(
    {
        *("hugo", "jekyll", "bundle", "eleventy", "hexo", "astro", "docusaurus", "vitepress", "next", "nuxt", "gatsby"),
        *("mkdocs", "sphinx-build", "sphinx-autobuild", "zensical", "pelican", "make"),
    }
)
_WATCHES = re.compile(r"(?:^|[\s:-])(?:-w|--?watch|watch|serve|start|dev|--poll|nodemon|browser-sync)(?=$|[\s:=])")


def scripts_of(read: Read) -> Mapping[str, str]:
    """Return the scripts of package.json."""
    scripts = mapping(json_of(read("package.json")).get("scripts"))
    return {name: text[:MAX_CHARACTERS] for name, text in scripts.items() if isinstance(text, str)}


def own_script(read: Read, generator: str, names: Collection[str]) -> str | None:
    """Return the first of the scripts that starts the generator, if this script also starts other programs."""
    scripts = scripts_of(read)
    for name in names:
        programs = {_program(parts) for parts in _commands(scripts, name)}
        if generator in programs:
            return name if programs - _TRIVIAL - _COMBINERS - {generator} else None
    return None


def style_scripts(read: Read) -> Iterator[tuple[str, bool]]:
    """Yield the scripts that build styles without a generator, and whether they end by themselves."""
    scripts = scripts_of(read)
    for name in scripts:
        commands = _commands(scripts, name)
        programs = {_program(parts) for parts in commands}
        if not programs.isdisjoint(_STYLES):
            watches = any(_WATCHES.search(text) for text in (name, *(" ".join(parts) for parts in commands)))
            yield name, not watches and programs.isdisjoint(GENERATORS)


def _commands(scripts: Mapping[str, str], name: str) -> list[list[str]]:
    """Return the commands that a script starts, also those of the scripts that it runs."""
    commands: list[list[str]] = []
    pending, known = [name], set[str]()
    while pending and len(commands) < MAX_COMMANDS:
        script = pending.pop()
        if script in known:
            continue
        known.add(script)
        for text in _SEPARATORS.split(scripts.get(script, "")):
            parts = _without_prefix(text.split())
            if parts:
                commands.append(parts)
                pending += _started_scripts(parts, scripts)
    return commands


def _program(parts: list[str]) -> str:
    """Return the program of a command, for example `eleventy` for `@11ty/eleventy`."""
    name = re.sub(r"(?<=[^/])@[^/]*$", "", parts[0]).removesuffix("/cli")
    return name.rpartition("/")[2].removeprefix("@")


def _without_prefix(parts: list[str]) -> list[str]:
    """Return a command without assignments, wrappers and their options."""
    while parts and (parts[0] in _WRAPPERS or parts[0].startswith("-") or _ASSIGNMENT.fullmatch(parts[0])):
        parts = parts[1:]
    return parts


def _started_scripts(parts: list[str], scripts: Mapping[str, str]) -> list[str]:
    program, *arguments = parts
    patterns = [part for part in arguments if not part.startswith("-") and part not in ("run", "run-script")]
    if program.startswith("npm:"):
        patterns = [program.removeprefix("npm:")]
    elif program in _MANAGERS:
        patterns = patterns[:1]
    elif program not in _RUNNERS:
        return []
    return [name for pattern in patterns for name in scripts if fnmatch.fnmatchcase(name, pattern.replace("**", "*"))]
