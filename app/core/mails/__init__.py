"""The texts of all mails: a subject, a text part and an HTML part from templates, in the reader's language.

Knows the words, not who is written to nor how mail leaves. `locale/<language>.po` holds the translations; what is not
translated stays English.
"""

import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import NullTranslations, Translations
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

HERE = Path(__file__).parent
RIGHT_TO_LEFT = frozenset({"ar"})


@dataclass(frozen=True)
class Written:
    """A mail's words, ready to be sent."""

    subject: str
    text: str
    html: str


def names() -> frozenset[str]:
    """Every mail there is."""
    return frozenset(path.stem for path in (HERE / "templates").glob("*.txt"))


def write(name: str, language: str, /, **values: object) -> Written:
    """Write the mail `name`.

    Raises:
        jinja2.TemplateNotFound: there is no such mail.
        jinja2.UndefinedError: a value that its text needs is missing.
    """
    known = {"language": language, "direction": "rtl" if language in RIGHT_TO_LEFT else "ltr"} | values
    environment = _environment(language)
    # The first line of the text is the subject; the rest after an empty line is the text part.
    subject, _, text = environment.get_template(f"{name}.txt").render(known).strip().partition("\n")
    html = environment.get_template(f"{name}.html").render(known, subject=subject)
    return Written(" ".join(subject.split()), text.strip() + "\n", html)


@cache
def translations(language: str) -> NullTranslations:
    """The translations into a language; an unknown one has none and stays English."""
    source = HERE / "locale" / f"{language}.po"
    if not language.isalpha() or not source.exists():
        return NullTranslations()
    compiled = io.BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return Translations(compiled)


@cache
def _environment(language: str) -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(["html"], default=False),
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.install_gettext_translations(translations(language), newstyle=True)  # type: ignore[attr-defined]
    return made
