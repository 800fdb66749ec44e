"""Validators of file paths in bodies and queries, by the rule of `app.core.paths`."""

from typing import Any

from marshmallow import ValidationError, fields

from app.core.paths import path_error
from app.http.json_schema import PATH, described


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

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if len(value) != 1:
            raise ValidationError("Give exactly one path.")
        path = super()._deserialize(value[0], attr, data, **kwargs)
        plain_path(path)
        return path
