"""What bodies about an account may hold, and how a user is shown (contract 4.2, 4.3)."""

from typing import Any, TypedDict

from marshmallow import Schema, ValidationError, fields, validate

from app.core.countries import country_code
from app.core.emails import is_email
from app.core.passwords import password_fault
from app.http.validation import Body, Flag, Moment, Name, text
from app.resources.user.accounts import NAME_LENGTH

EMAIL_LENGTH, PASSWORD_LENGTH = 254, 512


class Trimmed(fields.String):
    """Text as a person types or pastes it, without the white space around it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        typed: str = super()._deserialize(value, attr, data, **kwargs)
        return typed.strip()


class Email(Trimmed):
    """An e-mail address as a person types it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        address = super()._deserialize(value, attr, data, **kwargs)
        if len(address) > EMAIL_LENGTH or not is_email(address):
            raise ValidationError("This is not an e-mail address.")
        return address


def person_name(**kwargs: Any) -> Name:
    """What a person is called; without the brackets in which commits write the e-mail (limits, section 2)."""
    return Name(NAME_LENGTH, without="<>", **kwargs)


class NewPassword(fields.String):
    """A password to be set; used exactly as received. The own e-mail is compared where it is known."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        password: str = super()._deserialize(value, attr, data, **kwargs)
        if fault := password_fault(password, ""):
            raise ValidationError(f"{fault}.")
        return password


class Country(fields.String):
    """ISO 3166 alpha-2 or an English name; loads as alpha-2."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        code = country_code(super()._deserialize(value, attr, data, **kwargs))
        if code is None:
            raise ValidationError("This is not a country.")
        return code


def given_password(**kwargs: Any) -> fields.String:
    """A password to be compared; only its length is bounded."""
    return fields.String(validate=validate.Length(max=PASSWORD_LENGTH), **kwargs)


class UserView(Schema):
    """A user as shown everywhere."""

    id = fields.String()
    user_id = fields.String(attribute="id", dump_only=True)
    name = fields.String()
    full_name = fields.String(attribute="name", dump_only=True)
    email = fields.String()
    emailVerified = fields.Boolean(attribute="email_verified")  # noqa: N815 (wire name)
    image = fields.String(allow_none=True)
    country = fields.String(allow_none=True)
    subscribed = fields.Boolean()
    role = fields.Function(lambda user: "admin" if user.is_admin else "user")
    provider = fields.String()
    createdAt = Moment(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = Moment(attribute="updated_at")  # noqa: N815 (wire name)


class LinkedAccount(Schema):
    """A way to sign in."""

    providerId = fields.String(attribute="provider")  # noqa: N815 (wire name)
    createdAt = Moment(attribute="created_at")  # noqa: N815 (wire name)


class ProfileView(UserView):
    """A user as they see themselves."""

    has_password = fields.Boolean()
    accounts = fields.List(fields.Nested(LinkedAccount))


class SetPassword(Body):
    """`currentPassword` is needed where a password is set."""

    newPassword = NewPassword(required=True, attribute="new_password")  # noqa: N815 (wire name)
    currentPassword = given_password(attribute="current_password", load_default=None)  # noqa: N815 (wire name)


class SetPasswordBody(TypedDict):
    """What `SetPassword` loads."""

    new_password: str
    current_password: str | None


class ChangeCountry(Body):
    """Where a person lives."""

    country = Country(required=True)


class CountryBody(TypedDict):
    """What `ChangeCountry` loads."""

    country: str


class ChangeNewsletter(Body):
    """Whether news may be mailed."""

    subscribed = Flag(required=True)


class NewsletterBody(TypedDict):
    """What `ChangeNewsletter` loads."""

    subscribed: bool


class DeleteAccount(Body):
    """The password counts as signing in anew."""

    password = given_password(load_default=None)
    reason = text(0, 1000, required=False, load_default=None, allow_none=True)


class DeleteBody(TypedDict):
    """What `DeleteAccount` loads."""

    password: str | None
    reason: str | None


class Status(Schema):
    """`{status: true}`."""

    status = fields.Boolean()


class Deleted(Schema):
    """`{deleted: true}`."""

    deleted = fields.Boolean()


class Quota(Schema):
    """How much of a limit is used."""

    limit = fields.Integer()
    used = fields.Integer()
    remaining = fields.Integer()
    allowed = fields.Boolean()


class PerOrganization(Schema):
    """A limit of each owned organization."""

    per_organization = fields.Dict(fields.String(), fields.Nested(Quota))


class ProjectQuota(Quota):
    """The limit of all projects, and each organization's."""

    per_organization = fields.Dict(fields.String(), fields.Nested(Quota))


class Limits(Schema):
    """What `check-limits` answers."""

    organizations = fields.Nested(Quota)
    projects = fields.Nested(ProjectQuota)
    members = fields.Nested(PerOrganization)
