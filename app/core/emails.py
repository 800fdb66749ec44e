"""What an e-mail address is and when two of them are the same; asks no DNS.

Reserved domains such as `example.org` are addresses like others here: whether mail arrives, the code that is mailed shows.
"""

import unicodedata

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, ValidatedEmail, validate_email

# The library's own way to allow names that never leave a house's network; a self-hosted service has users there.
SPECIAL_USE_DOMAIN_NAMES[:] = [name for name in SPECIAL_USE_DOMAIN_NAMES if name not in ("local", "localhost", "test")]


class InvalidEmail(ValueError):
    """The text is no e-mail address."""


def email_key(address: str) -> str:
    """What addresses are compared and found by: lower case, NFC, the domain in its ASCII (IDNA) form.

    Dots and tags count: `a.b@x.org`, `ab@x.org` and `ab+1@x.org` are three addresses.

    Raises:
        InvalidEmail: it is no address.
    """
    known = _validated(address)
    local = unicodedata.normalize("NFC", known.local_part.lower())
    return f"{local}@{known.ascii_domain.lower()}"


def is_email(address: str) -> bool:
    """Whether it is an address at a domain of at least two labels."""
    try:
        _validated(address)
    except InvalidEmail:
        return False
    return True


def with_ascii_domain(address: str) -> str:
    """The address as mail relays of any age take it: its domain in the ASCII (IDNA) form, what stands before it as it is.

    Raises:
        InvalidEmail: it holds letters beyond ASCII and is no address.
    """
    return address if address.isascii() else f"{address.rpartition('@')[0]}@{_validated(address).ascii_domain}"


def _validated(address: str) -> ValidatedEmail:
    try:
        known = validate_email(address, check_deliverability=False, globally_deliverable=False, strict=True)
    except (EmailNotValidError, UnicodeError) as error:
        raise InvalidEmail(str(error)) from error
    if "." not in known.ascii_domain:
        raise InvalidEmail("The part after the @ needs a dot.")
    return known
