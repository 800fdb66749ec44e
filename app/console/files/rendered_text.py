"""Markdown of users as HTML that is safe to show."""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urljoin, urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from app.console.shell.frame import site_address
from app.content.filetypes import file_type
from app.content.page_text import read_page

LANGUAGES = ("markdown", "mdx", "markdoc")
MAX_CHARACTERS = 16 * 1024
"""A longer text is shown as source. The parser takes up to 0.3 s of processor time for 16 KiB of hostile text."""

START, END = "\ue000", "\ue001"
"""Private characters around a changed part while its text is rendered."""


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, environment: EnvType
) -> str:
    """Return an image whose URL is known, else its description, or the name of its file without one."""
    token, source = tokens[index], str(tokens[index].attrs["src"])
    text = renderer.renderInlineAsText(token.children, options, environment)
    url = environment.get("pictures", {}).get(unquote(source))
    if url is not None:
        return f'<img src="{escape(url)}" alt="{escape(text)}" loading="lazy">'
    name = "" if text.strip(f"{START}{END} ") else unquote(urlsplit(source).path.rpartition("/")[2])
    return f'<span class="prose__image" title="{escape(source)}">{escape(name + text)}</span>'


def _link(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, environment: EnvType
) -> str:
    """Return the start of a link. A link without a host leads to the published site, or nowhere if it is unknown."""
    attributes, address = tokens[index].attrs, site_address()
    url = urlsplit(str(attributes["href"]))
    if not url.scheme and not url.netloc:
        attributes["href"] = urljoin(f"{address.rstrip('/')}/", url.geturl()) if address else ""
    if not attributes["href"]:
        del attributes["href"]
    return renderer.renderToken(tokens, index, options, environment)


_parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_parser.add_render_rule("image", _image)
_parser.add_render_rule("link_open", _link)


def rendered_text(path: str, text: str) -> Markup | None:
    """Return the body of a page as HTML, or None for another format and for a long text. Images are shown as text."""
    if file_type(path).language not in LANGUAGES or len(text) > MAX_CHARACTERS:
        return None
    page = read_page(path, text.encode())
    return None if page is None else render_markdown(page.body)


def image_sources(text: str) -> list[str]:
    """Return the addresses of the images of a text of Markdown."""
    children = [child for token in _parser.parse(text) for child in token.children or ()]
    return [unquote(str(child.attrs["src"])) for child in children if child.type == "image"]


def render_markdown(text: str, pictures: Mapping[str, str] | None = None) -> Markup:
    """Return Markdown as HTML without raw HTML and scripts. `pictures` are the URLs of its images by address."""
    return Markup(_parser.render(text, {"pictures": pictures or {}}))  # noqa: S704 (the parser escapes raw HTML and refuses URLs with scripts)
