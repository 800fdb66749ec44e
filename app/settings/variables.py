"""The schema of all environment variables, with the rules that concern more than one of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from app.settings.defaults import build_groups
from app.settings.production import production_errors
from app.settings.providers import ProviderVariables
from app.settings.server import ServerVariables
from app.settings.stores import StoreVariables

REQUIRED_TOGETHER = {
    ("STORAGE_DRIVER", "s3"): ("S3_BUCKET",),
    ("MAIL_DRIVER", "smtp"): ("SMTP_URL",),
    ("SANDBOX_DRIVER", "hosted"): ("SANDBOX_API_URL", "SANDBOX_API_KEY"),
    ("BILLING_DRIVER", "paddle"): ("PADDLE_API_KEY", "PADDLE_WEBHOOK_SECRET"),
}


class Environment(ProviderVariables, StoreVariables, ServerVariables):
    """Every variable that the service reads. Marshmallow orders the fields from the last base class to the first."""

    def value(self, data: Mapping[str, Any], variable: str) -> Any:
        """Return the loaded value of a variable, or None if it is invalid or not set."""
        value: Any = data
        for name in str(self.fields[variable].attribute).split("."):
            value = (value or {}).get(name)
        return value

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def check_conflicts(self, data: Mapping[str, Any], original: Mapping[str, str], **_: object) -> None:
        """Report every error that concerns more than one variable."""
        errors = dict(self._conflicts(data, original))
        if self.value(data, "APP_ENV") == "production":
            values = {name: self.value(data, name) for name in self.fields}
            errors |= dict(production_errors(values, original))
        if errors:
            raise ValidationError({name: [message] for name, message in errors.items()})

    def _conflicts(self, data: Mapping[str, Any], original: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name in original:
            if name.startswith("APP_") and name not in self.fields:
                yield name, "Is not a setting."
        for (variable, driver), required in REQUIRED_TOGETHER.items():
            if self.value(data, variable) == driver:
                missing = [name for name in required if name not in original]
                yield from ((name, f"Is required with {variable}={driver}.") for name in missing)

    @post_load
    def complete(self, data: dict[str, Any], **_: object) -> dict[str, Any]:
        """Add the values that follow from other values, and build the groups."""
        return build_groups(data)


def declarations() -> dict[str, fields.Field[Any]]:
    """Return the declaration of every variable by the dotted name of its setting."""
    return {str(field.attribute): field for field in Environment().fields.values()}
