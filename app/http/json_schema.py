"""JSON Schema keywords of validator functions. The OpenAPI document contains them."""

from collections.abc import Callable
from typing import Any, TypeVar

Validator = TypeVar("Validator", bound=Callable[..., Any])

SHA_PATTERN = "^[0-9a-f]{40}$"
BRANCH_PATTERN = r"^[^\x00-\x20\x7f~^:?*\[\\]+$"
_SEGMENT = r"[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\\/]+"
PATH_PATTERN = f"^{_SEGMENT}(/{_SEGMENT})*$"
FOLDER_PATTERN = f"^({_SEGMENT}(/{_SEGMENT})*/?)?$"
NOT_BLANK_PATTERN = r"\S"
ID_BODY = "[0-7][0-9a-hjkmnp-tv-z]{25}"

SHA = {"pattern": SHA_PATTERN}
BRANCH = {"pattern": BRANCH_PATTERN, "minLength": 1, "maxLength": 255}
PATH = {"pattern": PATH_PATTERN, "minLength": 1, "maxLength": 1024}
FOLDER = {"pattern": FOLDER_PATTERN, "maxLength": 1024}

OPTIONAL: dict[str, Any] = {"x_optional": True}
"""Metadata of a field that a response may lack."""


def described(**keywords: Any) -> Callable[[Validator], Validator]:
    """Attach keywords to a validator, for example `pattern`. A field with this validator has them in the document."""

    def attach(validator: Validator) -> Validator:
        validator.json_schema = keywords  # type: ignore[attr-defined]
        return validator

    return attach


def keywords_of(validator: object) -> dict[str, Any]:
    """Return the attached keywords."""
    keywords: dict[str, Any] = getattr(validator, "json_schema", {})
    return keywords


def id_pattern(prefix: str) -> str:
    """Return the pattern of ids with a prefix."""
    return f"^{prefix}_{ID_BODY}$"
