"""MkDocs' hook: the pages that are made from the code, so that they cannot say something else than it does.

The tour is README's; the configuration is the schema's with `.env.example`'s words; each API page's routes are the
OpenAPI document's, put where the page says `<!-- routes: tag, tag -->`.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
TOUR = "## Five minutes with curl\n"
ROUTES = re.compile(r"<!-- routes: ([a-z_, ]+) -->")
SETTING = re.compile(r"^#([A-Z][A-Z0-9_]*)=(.*)$")
METHODS = ("get", "put", "post", "patch", "delete")

_document: dict[str, Any] = {}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand in no file of docs/."""
    made = {"tour.md": tour(), "configuration.md": configuration(), "adr/index.md": records(files)}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the routes in."""
    del page, config, files
    return ROUTES.sub(lambda found: "\n".join(routes(found[1].replace(" ", "").split(","))), markdown)


def tour() -> str:
    """README's walk with curl."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(TOUR)
    walk = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return f"# Five minutes with curl\n\n{walk}"


def records(files: Files) -> str:
    """A list of the decision records."""
    lines = ["# Decision records", "", "A page for each choice with a rejected alternative.", ""]
    for file in sorted(files.documentation_pages(), key=lambda one: one.src_uri):
        if file.src_uri.startswith("adr/") and file.src_uri != "adr/index.md":
            title = file.content_string.partition("\n")[0].lstrip("# ")
            lines.append(f"- [{title}]({file.src_uri.removeprefix('adr/')})")
    return "\n".join(lines) + "\n"


def configuration() -> str:
    """Every variable of the schema, grouped and told as in `.env.example`."""
    from app.core.environment import Environment

    fields = Environment().fields
    parts = [
        "# Configuration\n\nEvery variable that the service reads. The process's own environment wins over `.env`;"
    ]
    parts.append("`flask config check` prints what was understood, secrets masked.\n")
    told: set[str] = set()
    for words, names in _blocks((ROOT / ".env.example").read_text(encoding="utf-8")):
        rows = [f"| `{name}` | {_kind(fields[name])} | {_code(default)} |" for name, default in names if name in fields]
        told |= {name for name, _ in names}
        parts += ["\n" + words + "\n", *(["| variable | value | default |", "|---|---|---|", *rows] if rows else [])]
    rest = [f"| `{name}` | {_kind(field)} | |" for name, field in fields.items() if name not in told]
    parts += ["\n## Others\n\n| variable | value | default |\n|---|---|---|", *rest] if rest else []
    return "\n".join(parts) + "\n"


def _blocks(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The file's paragraphs: their words, and the variables under them with what stands behind the `=`."""
    for paragraph in text.split("\n\n"):
        words: list[str] = []
        names: list[tuple[str, str]] = []
        for line in paragraph.splitlines():
            found = SETTING.match(line)
            if found:
                names.append((found[1], found[2]))
            else:
                if names:
                    yield _prose(words), names
                    words, names = [], []
                words.append(line)
        if words or names:
            yield _prose(words), names


def _prose(lines: list[str]) -> str:
    plain = [line.removeprefix("#").removeprefix(" ") for line in lines]
    code = [f"`{line.strip()}`" if line.startswith("  ") else line for line in plain]
    return " ".join(code).replace("<", "&lt;").replace("*", "\\*")


def _kind(field: Any) -> str:
    from marshmallow.validate import OneOf, Range

    for rule in field.validators:
        if isinstance(rule, OneOf):
            return ", ".join(f"`{choice}`" for choice in rule.choices)
        if isinstance(rule, Range):
            low = "" if rule.min is None else f"from {rule.min}"
            return f"number {low}{'' if rule.max is None else f' to {rule.max}'}".strip()
    return {"Boolean": "true or false", "Integer": "number", "Float": "number", "String": "text", "Place": "path"}.get(
        type(field).__name__, type(field).__name__.lower()
    )


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def document() -> dict[str, Any]:
    """The OpenAPI document of the service as it is."""
    if not _document:
        from app import create_app
        from app.http import openapi
        from config import Settings

        with tempfile.TemporaryDirectory() as folder:
            app = create_app(Settings.for_tests(Path(folder)))
            _document.update(openapi.build(app))
    return _document


def tags() -> set[str]:
    """Every tag that has a route."""
    return {tag for _, _, operation in _operations() for tag in operation["tags"]}


def routes(wanted: list[str]) -> Iterator[str]:
    """The routes of some tags, as Markdown."""
    for method, path, operation in _operations():
        if operation["tags"][0] in wanted:
            yield from _operation(method, path, operation)


def _operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document()["paths"].items():
        for method in METHODS:
            if method in operations:
                yield method, path, operations[method]


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"\n### `{method.upper()} {path}`\n"
    guard = operation.get("description", "").removeprefix("Guard: ")
    yield operation.get("summary", "") + (f" Guard: `{guard}`." if guard else "") + "\n"
    rows = [_parameter(one) for one in operation.get("parameters", []) if one.get("in") == "query"]
    for kind, told in operation.get("requestBody", {}).get("content", {}).items():
        rows += list(_properties(told["schema"], kind))
    if rows:
        yield from ("| field | type | |", "|---|---|---|", *rows)
    statuses = [
        f"`{status}` {told['description']}" for status, told in operation["responses"].items() if status.isdecimal()
    ]
    yield f"\nAnswers: {'; '.join(statuses)}.\n"


def _parameter(parameter: dict[str, Any]) -> str:
    return f"| `{parameter['name']}` (query) | {_type(parameter.get('schema', {}))} | {_needed(parameter.get('required'))} |"


def _properties(schema: dict[str, Any], kind: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    where = " (form)" if kind.startswith("multipart") else ""
    for name, told in schema.get("properties", {}).items():
        yield f"| `{name}`{where} | {_type(told)} | {_needed(name in schema.get('required', []))} |"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "object"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    kind = schema.get("type", "any")
    shown = " or ".join(kind) if isinstance(kind, list) else kind
    return f"{shown} of {_type(schema['items'])}" if "items" in schema and shown.startswith("array") else shown


def _needed(required: object) -> str:
    return "required" if required else ""
