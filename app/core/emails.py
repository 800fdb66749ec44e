"""Validation and comparison of e-mail addresses, without DNS.

Reserved domains such as `example.org` are accepted. The code that is sent to an address shows whether the address
works.
"""

import unicodedata

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, ValidatedEmail, validate_email

# The documented option of email-validator for local domains. Users of a self-hosted service may have such addresses.
SPECIAL_USE_DOMAIN_NAMES[:] = [name for name in SPECIAL_USE_DOMAIN_NAMES if name not in ("local", "localhost", "test")]


class InvalidEmail(ValueError):
    """An error for a text that is not an e-mail address."""


def email_key(address: str) -> str:
    """Return the form in which addresses are compared: lower case, NFC, the domain in its ASCII (IDNA) form.

    Dots and tags are significant: `a.b@x.org`, `ab@x.org` and `ab+1@x.org` are three addresses.

    Raises:
        InvalidEmail: the text is not an address.
    """
    validated = _validated(address)
    local = unicodedata.normalize("NFC", validated.local_part.lower())
    return f"{local}@{validated.ascii_domain.lower()}"


def is_email(address: str) -> bool:
    """Return whether a text is an address at a domain of at least two labels."""
    try:
        _validated(address)
    except InvalidEmail:
        return False
    return True


def with_ascii_domain(address: str) -> str:
    """Return the address with its domain in the ASCII (IDNA) form, which all mail relays accept.

    The local part stays.

    Raises:
        InvalidEmail: the text contains non-ASCII letters and is not an address.
    """
    return address if address.isascii() else f"{address.rpartition('@')[0]}@{_validated(address).ascii_domain}"


def _validated(address: str) -> ValidatedEmail:
    try:
        validated = validate_email(address, check_deliverability=False, globally_deliverable=False, strict=True)
    except (EmailNotValidError, UnicodeError) as error:
        raise InvalidEmail(str(error)) from error
    if "." not in validated.ascii_domain:
        raise InvalidEmail("The domain must contain a dot.")
    return validated
