"""Amounts of money and billing periods as text in the language of the user."""

import math
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from babel.dates import format_timedelta
from babel.numbers import format_currency, get_currency_precision

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
