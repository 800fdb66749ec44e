"""Amounts of money and billing periods as text in the language of the user."""

from decimal import Decimal

from babel.numbers import format_currency, get_currency_precision
from babel.units import format_unit


def money(minor: int, currency: str, language: str) -> str:
    """Return an amount in minor units of an ISO 4217 currency, for example `€9.00` for 900 EUR in English."""
    return format_currency(Decimal(minor).scaleb(-get_currency_precision(currency)), currency, locale=language)


def period(frequency: int, interval: str, language: str) -> str:
    """Return a number of days, weeks, months or years, for example `3 months` in English."""
    return format_unit(frequency, f"duration-{interval}", locale=language)
