"""Hook of MkDocs: pages that are generated from the code.

The tour is a section of the README. The configuration page is generated from the declarations of the settings. The
routes of each API page come from the OpenAPI document and replace `<!-- routes: tag, tag -->`.
"""

import functools
import re
import sys
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "deploy"))

from site_reference import Reference  # noqa: E402 (MkDocs loads this file alone)

TOUR = "## Five minutes with curl\n"
ROUTES = re.compile(r"<!-- routes: ([a-z_, ]+) -->")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated from the code."""
    made = {"tour.md": tour(), "configuration.md": configuration(), "adr/index.md": records(files)}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the routes."""
    del page, config, files
    return ROUTES.sub(lambda found: "\n".join(reference().routes(found[1].replace(" ", "").split(","))), markdown)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Leave out the error page. Its links are absolute, so they work at the root of a web server only."""
    del config
    return "" if template_name == "404.html" else output_content


def tour() -> str:
    """Return the curl tour of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, rest = text.partition(TOUR)
    walk = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return f"# Five minutes with curl\n\n{walk}"


def records(files: Files) -> str:
    """Return the list of the decision records."""
    lines = ["# Decision records", "", "One page for each decision with a rejected alternative.", ""]
    for file in sorted(files.documentation_pages(), key=lambda file: file.src_uri):
        if file.src_uri.startswith("adr/") and file.src_uri != "adr/index.md":
            title = file.content_string.partition("\n")[0].lstrip("# ")
            lines.append(f"- [{title}]({file.src_uri.removeprefix('adr/')})")
    return "\n".join(lines) + "\n"


def configuration() -> str:
    """Return the settings page, generated from the declarations."""
    from app.settings.reference import markdown

    introduction = "The environment of the process overrides `.env`. `flask config check` prints the loaded values."
    return f"# Configuration\n\n{introduction}\n\n{markdown()}"


@functools.cache
def reference() -> Reference:
    """Return the reference of the OpenAPI document of the service."""
    from app.factory import create_app
    from app.http import openapi
    from config import Settings

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings.for_tests(Path(folder)))
        return Reference(openapi.build(app))
