"""What bodies of the sign-in routes may hold; names as better-auth's clients send them."""

from typing import Any, TypedDict

from marshmallow import ValidationError, fields, pre_load, validate, validates_schema

from app.core.passwords import password_fault
from app.http.validation import Body, Flag, text
from app.resources.user.schemas import Country, Email, NewPassword, Trimmed, given_password, person_name


class SignUp(Body):
    """A new account."""

    email = Email(required=True)
    password = fields.String(required=True)
    name = person_name(least=0, load_default="")
    country = Country(load_default=None, allow_none=True)
    subscribed = Flag(load_default=False)

    @validates_schema(skip_on_field_errors=False)
    def check_password(self, data: dict[str, Any], **_kwargs: Any) -> None:
        """Refuse what is easy to guess, the own e-mail included."""
        if "password" in data and (fault := password_fault(data["password"], data.get("email", ""))):
            raise ValidationError(f"{fault}.", "password")


class SignUpBody(TypedDict):
    """What `SignUp` loads."""

    email: str
    password: str
    name: str
    country: str | None
    subscribed: bool


class SignIn(Body):
    """`rememberMe: false` ends with the browser."""

    email = Trimmed(required=True, validate=validate.Length(max=320))
    password = given_password(required=True)
    rememberMe = Flag(load_default=True, attribute="remember_me")  # noqa: N815 (wire name)


class SignInBody(TypedDict):
    """What `SignIn` loads."""

    email: str
    password: str
    remember_me: bool


class OnlyEmail(Body):
    """An e-mail to send a code to."""

    email = Email(required=True)


class EmailBody(TypedDict):
    """What `OnlyEmail` loads."""

    email: str


class VerifyEmail(Body):
    """The mailed code; `code` is another name of `otp`."""

    email = Email(required=True)
    otp = fields.String(required=True, validate=validate.Regexp(r"[0-9]{6}\Z", error="The code has 6 digits."))

    @pre_load
    def take_code(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Accept `code` where `otp` is missing."""
        return data | {"otp": data["code"]} if "otp" not in data and "code" in data else data


class VerifyEmailBody(TypedDict):
    """What `VerifyEmail` loads."""

    email: str
    otp: str


class ForgetPassword(Body):
    """`redirectTo` is the page of the web app that takes the new password."""

    email = Email(required=True)
    redirectTo = text(0, 2048, required=False, load_default=None, allow_none=True, attribute="redirect_to")  # noqa: N815


class ForgetPasswordBody(TypedDict):
    """What `ForgetPassword` loads."""

    email: str
    redirect_to: str | None


class ResetPassword(Body):
    """The token of the mailed link's fragment."""

    newPassword = NewPassword(required=True, attribute="new_password")  # noqa: N815 (wire name)
    token = fields.String(required=True, validate=validate.Length(max=512))


class ResetPasswordBody(TypedDict):
    """What `ResetPassword` loads."""

    new_password: str
    token: str


class ChangePassword(Body):
    """`revokeOtherSessions` signs every other browser out."""

    newPassword = NewPassword(required=True, attribute="new_password")  # noqa: N815 (wire name)
    currentPassword = given_password(required=True, attribute="current_password")  # noqa: N815 (wire name)
    revokeOtherSessions = Flag(load_default=False, attribute="revoke_others")  # noqa: N815 (wire name)


class ChangePasswordBody(TypedDict):
    """What `ChangePassword` loads."""

    new_password: str
    current_password: str
    revoke_others: bool


class RevokeSession(Body):
    """A session's handle, which is its id; `id` is another name of `token`."""

    token = fields.String(required=True, validate=validate.Length(max=255))

    @pre_load
    def take_id(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Accept `id` where `token` is missing."""
        return data | {"token": data["id"]} if "token" not in data and "id" in data else data


class RevokeSessionBody(TypedDict):
    """What `RevokeSession` loads."""

    token: str


class UpdateUser(Body):
    """What a person may change of themselves here."""

    name = person_name()
    image = fields.String(allow_none=True, validate=validate.Length(max=512))


class UpdateUserBody(TypedDict, total=False):
    """What `UpdateUser` loads."""

    name: str
    image: str | None
