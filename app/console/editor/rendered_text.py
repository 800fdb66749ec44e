"""The body of a page as HTML, for pages that show a text to read. Raw HTML of the text is shown as text."""

from markdown_it import MarkdownIt
from markupsafe import Markup

from app.content.filetypes import file_type
from app.content.page_text import read_page

LANGUAGES = ("markdown", "mdx", "markdoc")
MAX_CHARACTERS = 16 * 1024
"""A longer text is shown as source. The parser takes up to 0.3 s of processor time for 16 KiB of hostile text."""

_parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def rendered_text(path: str, text: str) -> Markup | None:
    """Return the body of a page as HTML, or None for another format and for a long text. Images are shown as text."""
    if file_type(path).language not in LANGUAGES or len(text) > MAX_CHARACTERS:
        return None
    page = read_page(path, text.encode())
    return None if page is None else render_markdown(page.body)


def render_markdown(text: str) -> Markup:
    """Return Markdown as HTML without raw HTML, images and scripts."""
    return Markup(_parser.render(text))  # noqa: S704 (the parser escapes raw HTML and refuses URLs with scripts)
