"""Rendering of the templates with the values that every page needs."""

import math
import re
import secrets
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode

from babel import Locale, UnknownLocaleError
from babel.dates import format_timedelta
from babel.numbers import format_currency, format_decimal, get_currency_precision
from flask import Response, g, request
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.console.shell import dates, frame, messages, static_files
from app.console.shell.field_labels import folder_label, page_name
from app.console.shell.forms import Form
from app.console.shell.messages import translate
from app.console.shell.pages import current_form, query_of_page
from app.console.shell.script_texts import script_texts
from app.console.shell.translation import current_language, translations
from app.content.entry_files import address_parts
from app.core.errors import ReauthRequired
from app.core.limits import CommitLimits, TextLengths
from app.core.locales import RTL_LANGUAGES
from app.core.refs import is_sha
from app.extensions import current_settings
from app.resources.bucket.responses import width_url
from app.runtimes.failure import NETWORK_ADVICE

TEMPLATES = Path(__file__).parents[1] / "templates"
PICTURE_PX = 64
"""The width of the picture of a person, one of the widths of images."""


@cache
def _environment(language: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.install_gettext_translations(translations(language), newstyle=True)  # type: ignore[attr-defined]
    environment.filters["translated"] = translate
    environment.filters["path"] = lambda path: quote(path, safe="/")
    environment.filters["when"] = lambda moment: dates.relative(moment, language)
    environment.filters["exact"] = lambda moment: dates.exact(moment, language)
    environment.filters["size"] = dates.size
    environment.filters["ago"] = lambda seconds: dates.ago(seconds, language)
    environment.filters["day"] = lambda date: dates.day(date.moment, language, has_time=date.has_time)
    environment.filters["number"] = lambda number: format_decimal(number, locale=language)
    environment.filters["language_name"] = lambda code: language_name(code, language)
    environment.filters["money"] = lambda minor, currency: money(minor, currency, language)
    environment.filters["period"] = lambda frequency, interval: period(frequency, interval, language)
    environment.filters["picture"] = lambda key: width_url(key, PICTURE_PX, current_settings().security.secret_key)
    environment.filters["page_name"] = page_name
    environment.filters["folder_label"] = folder_label
    environment.globals["address_parts"] = address_parts
    environment.filters["repository_name"] = repository_name
    environment.globals["network_advice"] = NETWORK_ADVICE
    environment.globals["asset_url"] = static_files.asset_url
    environment.globals["assets_built"] = static_files.is_built
    environment.globals["docs_url"] = lambda: current_settings().server.docs_url
    environment.globals["nonce"] = nonce
    environment.globals["CommitLimits"], environment.globals["TextLengths"] = CommitLimits, TextLengths
    environment.globals["script_texts"] = script_texts
    return environment


def repository_name(repository: str | None) -> str:
    """Return the name of a repository without the id of the organization that owns it on this server."""
    return re.sub(r"^org_\w+/", "", repository or "")


def nonce() -> str:
    """Return the nonce for the style elements that an editor creates in this page."""
    value: str = g.setdefault("console_nonce", secrets.token_urlsafe(16))
    return value


def page(
    template: str,
    /,
    *,
    status: int = 200,
    refresh_s: int | None = None,
    is_secret: bool = False,
    form: Form | None = None,
    **values: object,
) -> Response:
    """Render a page. `values` are the variables of the template.

    `form` is shown instead of the one that failed. With `refresh_s`, a browser loads the page again after this
    interval, also without scripts. No cache stores a secret page.
    """
    around = frame.current()
    language = current_language()
    form = form or current_form()
    context = {
        "language": language,
        "direction": "rtl" if language in RTL_LANGUAGES else "ltr",
        "frame": around,
        "form": form,
        "path": request.path,
        "done": request.args.get("done"),
        "notice": messages.notice(request.args.get("done")),
        "undo": undo if is_sha(undo := request.args.get("undo", "")) else None,
        "here": f"{request.path}?{urlencode(query_of_page())}".rstrip("?"),
        "error_text": messages.error_text(form.error) if form.error is not None else None,
        "asks_again": isinstance(form.error, ReauthRequired),
    }
    text = _environment(language).get_template(template).render(context | values)
    response = Response(text, status, mimetype="text/html")
    if refresh_s is not None:
        response.headers["Refresh"] = str(refresh_s)
    if is_secret or form.identity is not None:
        response.headers["Cache-Control"] = "no-store"
    return response


def language_name(code: str, language: str) -> str:
    """Return the name of a language in the language of the user. Files without a mark have the default language."""
    if not code:
        return translations(language).gettext("Default language")
    try:
        return Locale.parse(code.replace("-", "_")).get_display_name(language) or code
    except (UnknownLocaleError, ValueError):
        return code


DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
"""The days by which Babel counts an interval."""


def money(minor: int, currency: str, language: str) -> str:
    """Return an amount in minor units of an ISO 4217 currency, for example `€9.00` for 900 EUR in English."""
    return format_currency(Decimal(minor).scaleb(-get_currency_precision(currency)), currency, locale=language)


def period(frequency: int, interval: Literal["day", "week", "month", "year"], language: str) -> str:
    """Return a number of days, weeks, months or years, for example `3 months` in English."""
    # `format_unit` returns the id of the unit in languages that inherit its pattern.
    length = timedelta(days=DAYS[interval] * frequency)
    return format_timedelta(length, granularity=interval, threshold=math.inf, locale=language)
