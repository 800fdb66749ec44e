"""File paths as bodies and queries give them: the rule of `app.core.paths` as validators."""

from typing import Any

from marshmallow import ValidationError, fields

from app.core.paths import path_fault


def plain_path(value: str) -> None:
    """The file-path rule as a validator."""
    fault = path_fault(value) or ("The path is not valid UTF-8" if "\ufffd" in value else None)
    if fault:
        raise ValidationError(fault)


class OnePath(fields.String):
    """A query parameter that must stand exactly once and be a plain relative path."""

    is_multiple = True
    """Tells webargs to give all there are, so that a second one is seen."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        if len(value) != 1:
            raise ValidationError("Give exactly one path.")
        path = super()._deserialize(value[0], attr, data, **kwargs)
        plain_path(path)
        return path
