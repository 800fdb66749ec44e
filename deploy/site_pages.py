"""Hook of MkDocs: pages that are generated from the code.

The tour is a section of the README. The configuration page is generated from the declarations of the settings. The
routes of each API page come from the OpenAPI document and replace `<!-- routes: tag, tag -->`.
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
METHODS = ("get", "put", "post", "patch", "delete")

_document: dict[str, Any] = {}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated from the code."""
    made = {"tour.md": tour(), "configuration.md": configuration(), "adr/index.md": records(files)}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the routes."""
    del page, config, files
    return ROUTES.sub(lambda found: "\n".join(routes(found[1].replace(" ", "").split(","))), markdown)


def tour() -> str:
    """Return the curl tour of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(TOUR)
    walk = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return f"# Five minutes with curl\n\n{walk}"


def records(files: Files) -> str:
    """Return the list of the decision records."""
    lines = ["# Decision records", "", "One page for each decision with a rejected alternative.", ""]
    for file in sorted(files.documentation_pages(), key=lambda one: one.src_uri):
        if file.src_uri.startswith("adr/") and file.src_uri != "adr/index.md":
            title = file.content_string.partition("\n")[0].lstrip("# ")
            lines.append(f"- [{title}]({file.src_uri.removeprefix('adr/')})")
    return "\n".join(lines) + "\n"


def configuration() -> str:
    """Return the settings page, generated from the declarations."""
    from app.settings import reference

    introduction = "The environment of the process overrides `.env`. `flask config check` prints the loaded values."
    return f"# Configuration\n\n{introduction}\n\n{reference.markdown()}"


def document() -> dict[str, Any]:
    """Return the OpenAPI document of the service."""
    if not _document:
        from app.factory import create_app
        from app.http import openapi
        from config import Settings

        with tempfile.TemporaryDirectory() as folder:
            app = create_app(Settings.for_tests(Path(folder)))
            _document.update(openapi.build(app))
    return _document


def tags() -> set[str]:
    """Return every tag with a route."""
    return {tag for _, _, operation in _operations() for tag in operation["tags"]}


def routes(wanted: list[str]) -> Iterator[str]:
    """Yield the routes of some tags as Markdown."""
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
    yield operation["description"] + "\n"
    rows = [_parameter(one) for one in operation.get("parameters", []) if one.get("in") == "query"]
    for kind, told in operation.get("requestBody", {}).get("content", {}).items():
        rows += list(_properties(told["schema"], kind))
    if rows:
        yield from ("| field | type | |", "|---|---|---|", *rows)
    statuses = [
        f"`{status}` {told['description'].rstrip('.')}"
        for status, told in operation["responses"].items()
        if status.isdecimal()
    ]
    yield f"\nResponses: {'; '.join(statuses)}.\n"


def _parameter(parameter: dict[str, Any]) -> str:
    return f"| `{parameter['name']}` (query) | {_type(parameter.get('schema', {}))} | {_needed(parameter.get('required'))} |"


def _properties(schema: dict[str, Any], kind: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    schema = schema.get("anyOf", [schema])[0]
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
