"""Templates of all mails: subject, text part and HTML part in the language of the recipient.

`locale/<language>.po` contains the translations. A text without a translation stays English.
Subjects are fixed texts, except that of `notices`. Only `member_added`, `webhook_disabled`, `schedule_canceled` and
`notices`, which go to verified users, contain text of other users, and `invitation` and `review_link` two names.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from app.core.locales import RTL_LANGUAGES
from app.core.translations import read_catalog

HERE = Path(__file__).parent
CATALOGS = HERE / "locale"
JOINER = "\u2060"
_LINKING = re.compile(r"(?<=\S)[.:/@](?=\S)")


@dataclass(frozen=True)
class RenderedMail:
    """A mail that is ready to be sent."""

    subject: str
    text: str
    html: str


def names() -> frozenset[str]:
    """Return the names of all mails."""
    return frozenset(path.stem for path in (HERE / "templates").glob("*.txt"))


def render(name: str, language: str, /, **values: object) -> RenderedMail:
    """Render the mail `name` in a language.

    Raises:
        jinja2.TemplateNotFound: there is no mail of this name.
        jinja2.UndefinedError: a value that the template needs is missing.
    """
    context = {"language": language, "direction": "rtl" if language in RTL_LANGUAGES else "ltr"} | values
    environment = _environment(language)
    # The first line of the template is the subject. An empty line separates it from the text part.
    subject, _, text = environment.get_template(f"{name}.txt").render(context).strip().partition("\n")
    html = environment.get_template(f"{name}.html").render(context, subject=subject)
    return RenderedMail(" ".join(subject.split()), text.strip() + "\n", html)


def unlinked(text: str) -> str:
    """Return a text in which mail clients detect no link.

    An invisible word joiner follows each character that a URL, a host name or an e-mail address needs.
    """
    return _LINKING.sub(lambda match: match[0] + JOINER, " ".join(text.split()))


@cache
def _environment(language: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(["html"], default=False),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unlinked"] = unlinked
    catalog = read_catalog(CATALOGS, language)
    environment.filters["translated"] = lambda text: catalog.gettext(text) if text else text
    environment.install_gettext_translations(catalog, newstyle=True)  # type: ignore[attr-defined]
    return environment
