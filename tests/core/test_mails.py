"""The words of the mails, in every language."""

import re
from io import BytesIO

import pytest
from babel.messages.extract import extract
from jinja2 import TemplateNotFound, UndefinedError

from app.core import mails
from app.core.locales import LANGUAGES

VALUES = {
    "name": "Ada <b>",
    "code": "123456",
    "minutes": 10,
    "days": 7,
    "link": "https://galley.example.org/reset#token=a&b",
    "inviter": "Grace",
    "organization": "Ships & Sons",
}
PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def messages() -> set[str]:
    """Every text of every template, as Babel finds them."""
    found: set[str] = set()
    for file in (mails.HERE / "templates").iterdir():
        content = BytesIO(file.read_bytes())
        options = {"newstyle_gettext": "true", "trimmed": "false"}
        found |= {
            str(text) for _, text, *_ in extract("jinja2.ext:babel_extract", content, {"_": None}, options=options)
        }
    return found


class TestWrite:
    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("name", sorted(mails.names()))
    def test_every_mail_can_be_written_in_every_language(self, name: str, language: str) -> None:
        written = mails.write(name, language, **VALUES)
        assert written.subject
        assert "\n" not in written.subject
        assert f'lang="{language}"' in written.html
        for part in (written.text, written.html):
            assert "%(" not in part
            assert "{{" not in part

    def test_values_are_escaped_in_html_only(self) -> None:
        written = mails.write("reset_password", "en", **VALUES)
        assert "Ada <b>" in written.text
        assert "Ada &lt;b&gt;" in written.html
        assert "<b>" not in written.html
        assert "token=a&amp;b" in written.html

    def test_arabic_reads_from_the_right(self) -> None:
        assert 'dir="rtl"' in mails.write("account_deleted", "ar", **VALUES).html

    def test_an_unknown_language_is_english(self) -> None:
        assert mails.write("account_deleted", "xx", **VALUES).subject == "Your account was deleted"
        assert mails.write("account_deleted", "../../etc", **VALUES).subject == "Your account was deleted"

    def test_an_unknown_mail_or_a_missing_value_is_an_error(self) -> None:
        with pytest.raises(TemplateNotFound):
            mails.write("no_such_mail", "en")
        with pytest.raises(UndefinedError):
            mails.write("reset_password", "en", name="Ada")

    def test_a_subject_has_one_line_whatever_a_name_holds(self) -> None:
        written = mails.write("invitation", "en", **VALUES | {"organization": "A\r\nBcc: x@evil.example.org"})
        assert "\n" not in written.subject
        assert "\r" not in written.subject


class TestTranslations:
    @pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
    def test_are_whole_and_keep_every_placeholder(self, language: str) -> None:
        known = mails.translations(language)
        for message in messages():
            translated = known.gettext(message)
            assert translated != message, f"{language} lacks {message!r}"
            assert sorted(PLACEHOLDER.findall(translated)) == sorted(PLACEHOLDER.findall(message)), translated

    def test_the_texts_are_found_at_all(self) -> None:
        assert "Choose a new password" in messages()
        assert len(messages()) >= 20
