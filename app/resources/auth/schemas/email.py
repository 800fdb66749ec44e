"""Request bodies of the sign-in routes, with the field names of better-auth."""

from typing import Any, TypedDict

from marshmallow import ValidationError, fields, pre_load, validate, validates_schema

from app.http.validation import RequestSchema, StrictBoolean, text
from app.resources.user.schemas import PASSWORD, Country, Email, NewPassword, Trimmed, password_field, person_name
from app.security.passwords import password_error


class SignUp(RequestSchema):
    """A new account."""

    email = Email(required=True)
    password = fields.String(required=True, metadata=PASSWORD)
    name = person_name(min_length=0, load_default="")
    country = Country(load_default=None, allow_none=True)
    subscribed = StrictBoolean(load_default=False)

    @validates_schema(skip_on_field_errors=False)
    def check_password(self, data: dict[str, Any], **_kwargs: Any) -> None:
        """Refuse passwords that are easy to guess, such as the own e-mail address."""
        if "password" in data and (fault := password_error(data["password"], data.get("email", ""))):
            raise ValidationError(f"{fault}.", "password")


class SignUpBody(TypedDict):
    """Loaded body of `SignUp`."""

    email: str
    password: str
    name: str
    country: str | None
    subscribed: bool


class SignIn(RequestSchema):
    """Credentials of a sign-in. `rememberMe: false` ends the session with the browser."""

    email = Trimmed(required=True, validate=validate.Length(max=320))
    password = password_field(required=True)
    rememberMe = StrictBoolean(load_default=True, attribute="remember_me")  # noqa: N815 (wire name)


class SignInBody(TypedDict):
    """Loaded body of `SignIn`."""

    email: str
    password: str
    remember_me: bool


class OnlyEmail(RequestSchema):
    """An e-mail address that receives a code."""

    email = Email(required=True)


class EmailBody(TypedDict):
    """Loaded body of `OnlyEmail`."""

    email: str


class VerifyEmail(RequestSchema):
    """The code of a mail. `code` is another name of `otp`."""

    email = Email(required=True)
    otp = fields.String(required=True, validate=validate.Regexp(r"[0-9]{6}\Z", error="The code has 6 digits."))

    @pre_load
    def take_code(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Accept `code` where `otp` is missing."""
        return data | {"otp": data["code"]} if "otp" not in data and "code" in data else data


class VerifyEmailBody(TypedDict):
    """Loaded body of `VerifyEmail`."""

    email: str
    otp: str


class ForgetPassword(RequestSchema):
    """A request for a reset link. `redirectTo` is the page of the web app that accepts the new password."""

    email = Email(required=True)
    redirectTo = text(0, 2048, required=False, load_default=None, allow_none=True, attribute="redirect_to")  # noqa: N815


class ForgetPasswordBody(TypedDict):
    """Loaded body of `ForgetPassword`."""

    email: str
    redirect_to: str | None


class ResetPassword(RequestSchema):
    """A new password with the token of the mailed link."""

    newPassword = NewPassword(required=True, attribute="new_password")  # noqa: N815 (wire name)
    token = fields.String(required=True, validate=validate.Length(max=512))


class ResetPasswordBody(TypedDict):
    """Loaded body of `ResetPassword`."""

    new_password: str
    token: str


class ChangePassword(RequestSchema):
    """A new password. `revokeOtherSessions` ends all other sessions."""

    newPassword = NewPassword(required=True, attribute="new_password")  # noqa: N815 (wire name)
    currentPassword = password_field(required=True, attribute="current_password")  # noqa: N815 (wire name)
    revokeOtherSessions = StrictBoolean(load_default=False, attribute="revoke_others")  # noqa: N815 (wire name)


class ChangePasswordBody(TypedDict):
    """Loaded body of `ChangePassword`."""

    new_password: str
    current_password: str
    revoke_others: bool


class RevokeSession(RequestSchema):
    """The id of a session. `id` is another name of `token`."""

    token = fields.String(required=True, validate=validate.Length(max=255))

    @pre_load
    def take_id(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Accept `id` where `token` is missing."""
        return data | {"token": data["id"]} if "token" not in data and "id" in data else data


class RevokeSessionBody(TypedDict):
    """Loaded body of `RevokeSession`."""

    token: str


class UpdateUser(RequestSchema):
    """Changes of the name and image of the caller."""

    name = person_name()
    image = fields.String(allow_none=True, validate=validate.Length(max=512))


class UpdateUserBody(TypedDict, total=False):
    """Loaded body of `UpdateUser`."""

    name: str
    image: str | None
