"""Request bodies and results of user accounts (contract 4.2, 4.3)."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from marshmallow import Schema, ValidationError, fields, validate

from app.core.emails import is_email
from app.core.errors import ErrorMessage
from app.core.limits import PasswordLimits, TextLengths
from app.http.validation import DateTimeMs, Length, NameField, RequestBody, StrictBoolean, text
from app.resources.user.countries import AmbiguousCountry, country_code, country_codes
from app.security.passwords import password_error

EMAIL_LENGTH, PASSWORD_LENGTH = 254, 512
PASSWORD: dict[str, object] = {"minLength": PasswordLimits.min_characters, "maxLength": PasswordLimits.max_characters}
SIGN_IN_METHODS = ["credential", "social_a", "social_b"]


class Trimmed(fields.String):
    """A text without leading and trailing white space."""

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        typed: str = super()._deserialize(value, attr, data, **kwargs)
        return typed.strip()


class Email(Trimmed):
    """An e-mail address without surrounding white space."""

    json_schema: ClassVar[dict[str, object]] = {"format": "email", "maxLength": EMAIL_LENGTH}

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        address = super()._deserialize(value, attr, data, **kwargs)
        if len(address) > EMAIL_LENGTH or not is_email(address):
            raise ValidationError(ErrorMessage("Must be an e-mail address."))
        return address


def person_name(**kwargs: Any) -> NameField:
    """Build the field of a person's name. It excludes the brackets that commits put around e-mail addresses."""
    return NameField(TextLengths.USER_NAME, forbidden="<>", **kwargs)


class NewPassword(fields.String):
    """A new password, used exactly as received. The service compares it with the e-mail address."""

    json_schema = PASSWORD

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        password: str = super()._deserialize(value, attr, data, **kwargs)
        if fault := password_error(password, ""):
            raise ValidationError(f"{fault}.")
        return password


class Country(fields.String):
    """A country as ISO 3166 alpha-2 code or English name. It loads as the code."""

    json_schema: ClassVar[dict[str, object]] = {
        "enum": [*country_codes()],
        "description": "An ISO 3166 code of two letters. The service also accepts the English name.",
    }

    def _deserialize(self, value: object, attr: str | None, data: object, **kwargs: object) -> str:
        try:
            code = country_code(super()._deserialize(value, attr, data, **kwargs))
        except AmbiguousCountry as error:
            raise ValidationError(str(error)) from error
        if code is None:
            raise ValidationError("Must be a country: an ISO 3166 code of two letters or its English name.")
        return code


def password_field(**kwargs: Any) -> fields.String:
    """Build the field of a password that is compared. Only its length is limited."""
    return fields.String(validate=Length(max=PASSWORD_LENGTH), **kwargs)


class UserSchema(Schema):
    """A user (contract 4.2)."""

    id = fields.String()
    user_id = fields.String(attribute="id", dump_only=True)
    name = fields.String()
    full_name = fields.String(attribute="name", dump_only=True)
    email = fields.String(metadata={"format": "email"})
    emailVerified = fields.Boolean(attribute="email_verified")  # noqa: N815 (wire name)
    twoFactorEnabled = fields.Boolean(  # noqa: N815 (wire name)
        attribute="two_factor_enabled", metadata={"description": "Whether a sign-in needs a second factor"}
    )
    image = fields.String(allow_none=True, metadata={"description": "The key of an upload, or null"})
    country = fields.String(allow_none=True)
    subscribed = fields.Boolean()
    role = fields.Function(
        lambda user: "admin" if user.is_admin else "user", metadata={"type": "string", "enum": ["user", "admin"]}
    )
    provider = fields.String(validate=validate.OneOf(SIGN_IN_METHODS))
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)


class LinkedAccountSchema(Schema):
    """A sign-in method."""

    providerId = fields.String(attribute="provider", validate=validate.OneOf(SIGN_IN_METHODS))  # noqa: N815
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)


class ProfileSchema(UserSchema):
    """A user with sign-in methods."""

    has_password = fields.Boolean()
    accounts = fields.List(fields.Nested(LinkedAccountSchema))


@dataclass(frozen=True, kw_only=True)
class SetPasswordBody(RequestBody):
    """A new password. `currentPassword` is required if a password is set."""

    new_password: Annotated[str, NewPassword(required=True, data_key="newPassword")]
    current_password: Annotated[str | None, password_field(data_key="currentPassword", load_default=None)]


@dataclass(frozen=True, kw_only=True)
class ChangeCountryBody(RequestBody):
    """The country of residence."""

    country: Annotated[str, Country(required=True)]


@dataclass(frozen=True, kw_only=True)
class ChangeNewsletterBody(RequestBody):
    """The subscription of the newsletter."""

    subscribed: Annotated[bool, StrictBoolean(required=True)]


@dataclass(frozen=True, kw_only=True)
class DeleteAccountBody(RequestBody):
    """The deletion of an account. The password replaces a recent sign-in."""

    password: Annotated[str | None, password_field(load_default=None)]
    reason: Annotated[
        str | None,
        text(
            0,
            1000,
            required=False,
            load_default=None,
            allow_none=True,
            metadata={"description": "The reason of the user, for the log of the operator"},
        ),
    ]


class StatusSchema(Schema):
    """The result `{status: true}`."""

    status = fields.Boolean(metadata={"description": "Always true"})


class DeletedUserSchema(Schema):
    """The result `{deleted: true}`."""

    deleted = fields.Boolean()


class QuotaSchema(Schema):
    """The used part of a limit."""

    limit = fields.Integer()
    used = fields.Integer()
    remaining = fields.Integer()
    allowed = fields.Boolean()


class PerOrganizationSchema(Schema):
    """A limit of each owned organization."""

    per_organization = fields.Dict(
        fields.String(),
        fields.Nested(QuotaSchema),
        metadata={"description": "The limits by the id of each organization that the caller owns"},
    )


class ProjectQuotaSchema(QuotaSchema):
    """The limit of all projects and of the projects of each organization."""

    per_organization = fields.Dict(
        fields.String(),
        fields.Nested(QuotaSchema),
        metadata={"description": "The limits by the id of each organization that the caller owns"},
    )


class LimitsSchema(Schema):
    """The result of `check-limits`."""

    organizations = fields.Nested(QuotaSchema)
    projects = fields.Nested(ProjectQuotaSchema)
    members = fields.Nested(PerOrganizationSchema)
