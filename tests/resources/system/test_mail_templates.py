"""Tests of the mail templates in every language."""

import re
from io import BytesIO

import pytest
from babel.messages.extract import extract
from jinja2 import TemplateNotFound, UndefinedError

from app.core.locales import LANGUAGES
from app.core.translations import read_catalog
from app.models.change_set import NoticeKind
from app.resources.change_set.errors import MissingBranch, NotApproved, NothingToPublish, NotPublisher
from app.resources.project_content.saving.refusals import SetRefused
from app.resources.system import mail_templates

VALUES = {
    "code": "123456",
    "minutes": 10,
    "days": 7,
    "link": "https://galley.example.org/reset#token=a&b",
    "inviter": "Grace <b>",
    "owner": "Grace <b>",
    "member": "grace@mail.example.org",
    "organization": "Ships & Sons",
    "sender": "Grace <b>",
    "project": "Ships & Sons",
    "day": "March 1, 2027",
    "host": "hooks.example.org",
    "title": "Winter <i>",
    "wall_time": "2027-03-01 09:00",
    "timezone": "Europe/Berlin",
    "sets": [
        {
            "title": "Winter <i>",
            "project": "Ships & Sons",
            "pages": ["Prices <i>"],
            "notices": [{"kind": str(kind), "person": "Grace <b>", "text": "Why <u>?"} for kind in NoticeKind],
        }
    ],
    "count": len(NoticeKind),
    "more": 3,
    "settings_url": "https://galley.example.org/account",
    "url": "https://galley.example.org/app",
}
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
TO_VERIFIED_USERS = {"member_added", "webhook_disabled", "schedule_canceled", "notices"}
TO_VERIFIED_USERS |= {"second_factor_reset", "second_factor_reset_done"}


def messages() -> set[str]:
    """Return every text of every template, as Babel extracts them."""
    texts: set[str] = set()
    for file in (mail_templates.HERE / "templates").glob("*.*"):
        content = BytesIO(file.read_bytes())
        options = {"newstyle_gettext": "true", "trimmed": "false"}
        texts |= {
            str(text) for _, text, *_ in extract("jinja2.ext:babel_extract", content, {"_": None}, options=options)
        }
    return texts


class TestRender:
    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("name", sorted(mail_templates.names()))
    def test_mail_is_complete_in_every_language(self, name: str, language: str) -> None:
        mail = mail_templates.render(name, language, **VALUES)
        assert mail.subject
        assert "\n" not in mail.subject
        assert f'lang="{language}"' in mail.html
        for part in (mail.text, mail.html):
            assert "%(" not in part
            assert "{{" not in part

    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("name", sorted(mail_templates.names() - {"notices"}))
    def test_subject_is_the_same_for_all_values(self, name: str, language: str) -> None:
        others = {key: f"other {value}" for key, value in VALUES.items()}
        assert (
            mail_templates.render(name, language, **VALUES).subject
            == mail_templates.render(name, language, **others).subject
        )

    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("name", sorted(mail_templates.names() - TO_VERIFIED_USERS - {"invitation", "review_link"}))
    def test_mail_to_unverified_address_needs_no_text_of_users(self, name: str, language: str) -> None:
        safe = {key: VALUES[key] for key in ("code", "minutes", "days", "link")}
        assert mail_templates.render(name, language, **safe) == mail_templates.render(name, language, **VALUES)

    def test_values_are_escaped_in_html_only(self) -> None:
        mail = mail_templates.render("member_added", "en", **VALUES)
        assert "Grace <b>" in mail.text
        assert "Grace &lt;b&gt;" in mail.html
        assert "<b>" not in mail.html
        assert "token=a&amp;b" in mail.html

    def test_host_name_in_a_name_is_not_linkable(self) -> None:
        values = VALUES | {"inviter": "evil.example.org", "organization": "a@evil.example.org"}
        mail = mail_templates.render("member_added", "en", **values)
        for part in (mail.text, mail.html):
            assert "evil.example" not in part
            assert "@evil" not in part
            assert "evil.\u2060example.\u2060org" in part

    def test_texts_of_notices_are_escaped_in_html_only(self) -> None:
        mail = mail_templates.render("notices", "en", **VALUES)
        assert mail.subject == "Grace <b> asks you to review “Winter <i>” (+6)"
        assert "Grace <b> mentioned you in “Winter <i>”\n  “Why <u>?”\n" in mail.text
        assert mail.html.count("Why &lt;u&gt;?") == mail.text.count("Why <u>?") == len(NoticeKind)
        assert not {"<b>", "<i>", "<u>"} & set(re.findall(r"<\w+>", mail.html))

    def test_arabic_mail_reads_from_right_to_left(self) -> None:
        assert 'dir="rtl"' in mail_templates.render("account_deleted", "ar", **VALUES).html

    @pytest.mark.parametrize("language", ["xx", "../../etc"])
    def test_unknown_language_renders_english(self, language: str) -> None:
        assert mail_templates.render("account_deleted", language, **VALUES).subject == "Your account was deleted"

    def test_unknown_mail_raises_template_not_found(self) -> None:
        with pytest.raises(TemplateNotFound):
            mail_templates.render("no_such_mail", "en")

    def test_missing_value_raises_undefined_error(self) -> None:
        with pytest.raises(UndefinedError):
            mail_templates.render("reset_password", "en", minutes=10)


class TestTranslations:
    @pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
    def test_catalog_is_complete_and_preserves_every_placeholder(self, language: str) -> None:
        catalog = read_catalog(mail_templates.CATALOGS, language)
        for message in messages():
            translated = catalog.gettext(message)
            assert translated != message, f"{language} lacks {message!r}"
            assert sorted(PLACEHOLDER.findall(translated)) == sorted(PLACEHOLDER.findall(message)), translated

    @pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
    def test_reason_of_a_failed_publication_is_in_the_language_of_the_reader(self, language: str) -> None:
        messages = [error.message for error in (SetRefused, NotApproved, NotPublisher, MissingBranch, NothingToPublish)]
        messages += ["The user who chose the time is not a member any more", "The project is archived"]
        for message in map(str, messages):
            notice = {"kind": "publish_failed", "person": None, "text": message}
            group = {"title": "Winter", "project": "Ships", "pages": [], "notices": [notice]}
            mail = mail_templates.render("notices", language, **VALUES | {"sets": [group]})
            assert mail_templates.unlinked(message) not in mail.text + mail.html, (language, message)

    def test_extraction_returns_the_texts_of_the_templates(self) -> None:
        assert "Choose a new password" in messages()
        assert len(messages()) >= 20
