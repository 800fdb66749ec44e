"""Bodies, queries and results of the authentication routes."""

from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from marshmallow import Schema, ValidationError, fields, validate

from app.http.json_schema import OPTIONAL
from app.http.validation import (
    ABSENT,
    Absent,
    DateTimeMs,
    Length,
    RequestBody,
    RequestQuery,
    RequestSchema,
    StrictBoolean,
    text,
)
from app.resources.auth.two_factor.schemas import ChallengeSchema
from app.resources.user.schemas import (
    SIGN_IN_METHODS,
    Country,
    Email,
    NewPassword,
    Trimmed,
    UserSchema,
    password_field,
    person_name,
)
from app.security.passwords import password_error

PROVIDERS = ["social_a", "social_b", "github", "google"]
PAGE: dict[str, Any] = {"required": False, "load_default": None, "allow_none": True}


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
        str,
        fields.String(
            required=True,
            validate=validate.Regexp(r"[0-9]{6}\Z", error="The code has 6 digits."),
            metadata={"maxLength": 6},
        ),
    ]

    @classmethod
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
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
    def normalize(cls, data: dict[str, object]) -> dict[str, object]:
        """Use `id` if `token` is missing."""
        return data | {"token": data["id"]} if "token" not in data and "id" in data else data


@dataclass(frozen=True, kw_only=True)
class UpdateUserBody(RequestBody):
    """Changes of the name and image of the caller."""

    name: Annotated[str | Absent, person_name()] = ABSENT
    image: Annotated[
        str | Absent | None,
        fields.String(
            allow_none=True,
            validate=Length(max=512),
            metadata={"description": "The key of an upload of the caller. Null removes the image"},
        ),
    ] = ABSENT


class PublicKeyCredentialSchema(RequestSchema):
    """The credential of the browser as JSON. The parts of `response` are checked together with the signature."""

    id = fields.String(required=True)
    rawId = fields.String(required=True)  # noqa: N815 (wire name)
    type = fields.String(required=True)
    response = fields.Dict(
        keys=fields.String(),
        required=True,
        metadata={"description": "The parts that the authenticator returns, as Base64url texts"},
    )


@dataclass(frozen=True, kw_only=True)
class ReauthenticateBody(RequestBody):
    """One proof of the identity: the password, a code of the authenticator app, or the response of a passkey."""

    password: Annotated[str | None, password_field(load_default=None, allow_none=True)]
    code: Annotated[
        str | None,
        fields.String(
            load_default=None,
            allow_none=True,
            validate=Length(max=16),
            metadata={"description": "A code of the authenticator app"},
        ),
    ]
    response: Annotated[
        dict[str, Any] | None,
        fields.Nested(
            PublicKeyCredentialSchema,
            load_default=None,
            allow_none=True,
            metadata={"description": "The credential of a passkey"},
        ),
    ]

    def __post_init__(self) -> None:
        """Require exactly one proof."""
        if sum(value is not None for value in vars(self).values()) != 1:
            raise ValidationError("Send exactly one of the fields.", "password")


class SessionSchema(Schema):
    """A session. Its token is only in the cookie."""

    id = fields.String()
    userId = fields.String(attribute="user_id")  # noqa: N815 (wire name)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)
    expiresAt = DateTimeMs(attribute="expires_at")  # noqa: N815 (wire name)
    ipAddress = fields.String(attribute="ip_address", allow_none=True)  # noqa: N815 (wire name)
    userAgent = fields.String(attribute="user_agent", allow_none=True)  # noqa: N815 (wire name)


class ListedSessionSchema(SessionSchema):
    """A session in a list. `token` is its id for `revoke-session`, not the secret of the cookie."""

    token = fields.String(attribute="id", dump_only=True)


class SignedUpSchema(Schema):
    """A new user without a session, because the e-mail address is not verified."""

    token = fields.Constant(None, metadata={"description": "Always null: a sign-up starts no session"})
    user = fields.Nested(UserSchema)


class SignedInSchema(ChallengeSchema):
    """The signed-in user, or a sign-in that waits for the second factor. The cookie carries the session."""

    redirect = fields.Constant(False, metadata={"description": "Always false: the sign-in needs no page of a provider"})
    user = fields.Nested(UserSchema, metadata=OPTIONAL)


class VerifiedEmailSchema(ChallengeSchema):
    """The user with a verified e-mail address. The cookie carries the session, unless a second factor is needed."""

    status = fields.Constant(True, metadata={"description": "Always true"})
    user = fields.Nested(UserSchema, metadata=OPTIONAL)


class PasswordChangedSchema(Schema):
    """The user after a change of the password. The cookie carries the new token."""

    token = fields.Constant(None, metadata={"description": "Always null: the new token is in the cookie"})
    user = fields.Nested(UserSchema)


class CurrentSessionSchema(Schema):
    """The current session and its user."""

    user = fields.Nested(UserSchema)
    session = fields.Nested(SessionSchema)


class CurrentSession(TypedDict):
    """The rows of `CurrentSessionSchema`."""

    user: Any
    session: Any


class SuccessSchema(Schema):
    """The result `{success: true}`."""

    success = fields.Boolean()


class AccountSchema(Schema):
    """A sign-in method with the field names of better-auth."""

    id = fields.String()
    providerId = fields.String(attribute="provider", validate=validate.OneOf(SIGN_IN_METHODS))  # noqa: N815
    accountId = fields.String(attribute="subject")  # noqa: N815 (wire name)
    createdAt = DateTimeMs(attribute="created_at")  # noqa: N815 (wire name)
    updatedAt = DateTimeMs(attribute="updated_at")  # noqa: N815 (wire name)
    scopes: fields.Field[Any] = fields.Constant(
        [], metadata={"description": "Always empty: the service stores no scopes of sign-in providers"}
    )


@dataclass(frozen=True, kw_only=True)
class SocialSignInBody(RequestBody):
    """The provider, by the name of the specification or of better-auth, and the pages after the login."""

    provider: Annotated[str, fields.String(required=True, validate=validate.OneOf(PROVIDERS))]
    callback_url: Annotated[str | None, text(0, 2048, data_key="callbackURL", **PAGE)]
    error_callback_url: Annotated[str | None, text(0, 2048, data_key="errorCallbackURL", **PAGE)]


class SocialStartedSchema(Schema):
    """The URL of the provider."""

    url = fields.Url()
    redirect = fields.Boolean(metadata={"description": "Always true: the browser continues at `url`"})


@dataclass(frozen=True, kw_only=True)
class CallbackQuery(RequestQuery):
    """The query of a callback. A missing or malformed state equals an unknown one."""

    code: Annotated[str, fields.String(load_default="")]
    state: Annotated[str, fields.String(load_default="")]
    error: Annotated[str, fields.String(load_default="")]
