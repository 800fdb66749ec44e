"""JSON Schema keywords of validators, and the fields and validators of paths, branches and shas."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from marshmallow import ValidationError, fields

from app.core.paths import path_error
from app.core.refs import is_branch_name, is_sha

Validator = TypeVar("Validator", bound=Callable[..., object])

SHA_PATTERN = "^[0-9a-f]{40}$"
_NOT_IN_BRANCHES = r"\x00-\x20\x7f~^:?*\[\\/"
_COMPONENT = f"[^{_NOT_IN_BRANCHES}.][^{_NOT_IN_BRANCHES}]*"
BRANCH_PATTERN = r"^(?!-|refs/|@$|HEAD$)(?!.*(\.\.|@\{|\.$|\.lock(/|$)))" + f"{_COMPONENT}(/{_COMPONENT})*$"
_SEGMENT = r"[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd\\/]+"
_NOT_SPECIAL = r"(?!(.*/)?(\.{1,2}|\.[gG][iI][tT])(/|$))"
PATH_PATTERN = f"^{_NOT_SPECIAL}{_SEGMENT}(/{_SEGMENT})*$"
FOLDER_PATTERN = f"^{_NOT_SPECIAL}({_SEGMENT}(/{_SEGMENT})*/?)?$"
# The control characters that Python counts as white space are not in `\s` of ECMA-262.
NOT_BLANK_PATTERN = r"[^\s\x1c-\x1f\x85]"
_NOT_IN_NAMES = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_OCTET = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
WEB_URL_PATTERN = (
    rf"^https?://({_LABEL}|({_LABEL}\.)+[A-Za-z]{{2,63}}|({_OCTET}\.){{3}}{_OCTET})(:[0-9]{{1,5}})?([/?#][!-~]*)?$"
)
ID_BODY, ID_LENGTH = "[0-7][0-9a-hjkmnp-tv-z]{25}", 26

SHA = {"pattern": SHA_PATTERN, "maxLength": 40}
BRANCH = {"pattern": BRANCH_PATTERN, "minLength": 1, "maxLength": 255}
PATH = {"pattern": PATH_PATTERN, "minLength": 1, "maxLength": 1024}
FOLDER = {"pattern": FOLDER_PATTERN, "maxLength": 1024}
WEB_URL = {"pattern": WEB_URL_PATTERN}

OPTIONAL: dict[str, object] = {"x_optional": True}
"""Metadata of a field that a response may lack."""


def described(**keywords: object) -> Callable[[Validator], Validator]:
    """Attach keywords to a validator, for example `pattern`. A field with this validator has them in the document."""

    def attach(validator: Validator) -> Validator:
        validator.json_schema = keywords  # type: ignore[attr-defined]
        return validator

    return attach


def keywords_of(validator: object) -> dict[str, object]:
    """Return the attached keywords."""
    keywords: dict[str, object] = getattr(validator, "json_schema", {})
    return keywords


def name_pattern(forbidden: str, *, may_be_empty: bool) -> str:
    """Return the pattern of names on one line. `forbidden` contains additional characters that are refused."""
    refused = _NOT_IN_NAMES + forbidden
    pattern = f"[^{refused}]*[^{refused}\\s][^{refused}]*"
    return f"^({pattern})?$" if may_be_empty else f"^{pattern}$"


def exclusive(first: str, second: str) -> dict[str, object]:
    """Return the keywords of an object that has exactly one of two texts."""
    return {
        "if": {"required": [first], "properties": {first: {"type": "string"}}},
        "then": {"properties": {second: {"type": "null"}}},
        "else": {"required": [second], "properties": {second: {"type": "string"}}},
    }


def id_keywords(prefix: str) -> dict[str, object]:
    """Return the keywords of ids with a prefix."""
    return {"pattern": f"^{prefix}_{ID_BODY}$", "maxLength": len(prefix) + 1 + ID_LENGTH}


@described(**PATH)
def plain_path(value: str) -> None:
    """The file-path rule as a validator."""
    fault = path_error(value) or ("The path is not valid UTF-8" if "\ufffd" in value else None)
    if fault:
        raise ValidationError(fault)


class FilePathField(fields.String):
    """A required query parameter with one value, a plain relative path."""

    json_schema = PATH
    is_multiple = True
    """All values of the parameter are loaded, so that a repeated parameter is detected."""

    def _deserialize(self, value: Any, attr: str | None, data: object, **kwargs: object) -> Any:
        if len(value) != 1:
            raise ValidationError("Give exactly one path.")
        path = super()._deserialize(value[0], attr, data, **kwargs)
        plain_path(path)
        return path


@described(**BRANCH)
def branch_name(value: str) -> None:
    """Validate the name of a branch."""
    if not is_branch_name(value):
        raise ValidationError("This is not a valid branch name.")


BranchName = Annotated[str | None, fields.String(load_default=None, validate=branch_name)]
"""A branch in a query string. None is the working branch."""


@described(**SHA)
def full_sha(value: str) -> None:
    """Validate a complete commit or blob sha."""
    if not is_sha(value):
        raise ValidationError("This must be the 40 hexadecimal digits of a commit or blob.")
