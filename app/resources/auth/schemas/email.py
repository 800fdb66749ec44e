"""Request bodies of the sign-in routes, with the field names of better-auth."""

from dataclasses import dataclass
from typing import Annotated, Any

from marshmallow import ValidationError, fields, validate

from app.http.validation import ABSENT, Absent, Length, RequestBody, StrictBoolean, text
from app.resources.user.schemas import Country, Email, NewPassword, Trimmed, password_field, person_name
from app.security.passwords import password_error


@dataclass(frozen=True, kw_only=True)
class SignUpBody(RequestBody):
    """A new account."""

    email: Annotated[str, Email(required=True)]
    password: Annotated[str, NewPassword(required=True)]
    name: Annotated[str, person_name(min_length=0, load_default="")]
    country: Annotated[str | None, Country(load_default=None, allow_none=True)]
    subscribed: Annotated[bool, StrictBoolean(load_default=False)]

    def __post_init__(self) -> None:
        """Refuse the own e-mail address as the password."""
        if fault := password_error(self.password, self.email):
            raise ValidationError(f"{fault}.", "password")


@dataclass(frozen=True, kw_only=True)
class SignInBody(RequestBody):
    """Credentials of a sign-in. `rememberMe: false` ends the session with the browser."""

    email: Annotated[str, Trimmed(required=True, validate=Length(max=320))]
    password: Annotated[str, password_field(required=True)]
    remember_me: Annotated[bool, StrictBoolean(load_default=True, data_key="rememberMe")]


@dataclass(frozen=True, kw_only=True)
class EmailBody(RequestBody):
    """An e-mail address that receives a code."""

    email: Annotated[str, Email(required=True)]


@dataclass(frozen=True, kw_only=True)
class VerifyEmailBody(RequestBody):
    """The code of a mail. `code` is another name of `otp`."""

    email: Annotated[str, Email(required=True)]
    otp: Annotated[
        str, fields.String(required=True, validate=validate.Regexp(r"[0-9]{6}\Z", error="The code has 6 digits."))
    ]

    @classmethod
    def normalize(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Use `code` if `otp` is missing."""
        return data | {"otp": data["code"]} if "otp" not in data and "code" in data else data


@dataclass(frozen=True, kw_only=True)
class ForgetPasswordBody(RequestBody):
    """A request for a reset link. `redirectTo` is the page of the web app that accepts the new password."""

    email: Annotated[str, Email(required=True)]
    redirect_to: Annotated[
        str | None, text(0, 2048, required=False, load_default=None, allow_none=True, data_key="redirectTo")
    ]


@dataclass(frozen=True, kw_only=True)
class ResetPasswordBody(RequestBody):
    """A new password with the token of the mailed link."""

    new_password: Annotated[str, NewPassword(required=True, data_key="newPassword")]
    token: Annotated[str, fields.String(required=True, validate=Length(max=512))]


@dataclass(frozen=True, kw_only=True)
class ChangePasswordBody(RequestBody):
    """A new password. `revokeOtherSessions` ends all other sessions."""

    new_password: Annotated[str, NewPassword(required=True, data_key="newPassword")]
    current_password: Annotated[str, password_field(required=True, data_key="currentPassword")]
    revoke_others: Annotated[bool, StrictBoolean(load_default=False, data_key="revokeOtherSessions")]


@dataclass(frozen=True, kw_only=True)
class RevokeSessionBody(RequestBody):
    """The id of a session. `id` is another name of `token`."""

    token: Annotated[str, fields.String(required=True, validate=Length(max=255))]

    @classmethod
    def normalize(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Use `id` if `token` is missing."""
        return data | {"token": data["id"]} if "token" not in data and "id" in data else data


@dataclass(frozen=True, kw_only=True)
class UpdateUserBody(RequestBody):
    """Changes of the name and image of the caller."""

    name: Annotated[str | Absent, person_name()] = ABSENT
    image: Annotated[str | Absent | None, fields.String(allow_none=True, validate=Length(max=512))] = ABSENT
