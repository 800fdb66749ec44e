"""Routes of user accounts (spec 4.3)."""

from app.access import authentication
from app.access.guards import own_user, verified
from app.access.scope import Scope, UserScope
from app.access.tokens import EDITS, READS
from app.core.limits import InputLimits
from app.extensions import current_settings
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.user import User
from app.resources.user import creation_limits, service
from app.resources.user.creation_limits import limits_of
from app.resources.user.guards import compare_password
from app.resources.user.passwords import check_new, hashed
from app.resources.user.schemas import (
    ChangeCountryBody,
    ChangeNewsletterBody,
    DeleteAccountBody,
    DeletedUserSchema,
    LimitsSchema,
    ProfileSchema,
    SetPasswordBody,
    StatusSchema,
    UserSchema,
)

BYTES = InputLimits.auth_bytes


def hash_passwords(scope: Scope, body: SetPasswordBody) -> tuple[str | None, str]:
    """Return the hash with which the current password was compared (None if it is not set), and the new hash.

    Raises:
        InvalidPassword: a password is set, and the sent one is missing or wrong.
    """
    stored = scope.user.password_hash
    if stored is not None:
        compare_password(scope.user, body.current_password)
    check_new(body.new_password, scope.user)
    return stored, hashed(body.new_password)


def confirm_identity(scope: Scope, body: DeleteAccountBody) -> None:
    """Confirm the identity of the user.

    Raises:
        InvalidPassword: the password is wrong.
        ReauthRequired: no password was sent, and the session is older than 15 minutes.
    """
    if body.password is not None:
        compare_password(scope.user, body.password)
    elif not service.is_fresh(scope.session, limits=current_settings().limits.sessions):
        raise service.ReauthRequired


blueprint = ApiBlueprint(
    "user",
    __name__,
    title="Users",
    noun="user",
    description="The profile, limits and deletion of an account.",
)


@blueprint.get("/<id>")
@endpoint(guard=own_user("id", or_platform_admin=True, token=READS), result=ProfileSchema, message="User found")
def read(*, scope: UserScope) -> service.Profile:
    """Return the profile of a user."""
    return service.profile(scope.target, by=scope.user)


@blueprint.patch("/set-password")
@endpoint(
    guard=verified(),
    body=SetPasswordBody,
    result=StatusSchema,
    message="Password set",
    upstream=hash_passwords,
    max_bytes=BYTES,
    errors=(
        "INVALID_PASSWORD",
        "CONFLICT",
    ),
)
def set_password(*, scope: Scope, body: SetPasswordBody, prepared: tuple[str | None, str]) -> dict[str, bool]:
    """Set or update the password."""
    limits, link = current_settings().limits.sessions, f"{current_settings().server.web_url}/forgot-password"
    authentication.set_session_cookie(
        service.set_password(scope.user, scope.session, prepared, limits=limits, link=link)
    )
    return {"status": True}


@blueprint.post("/check-limits")
@endpoint(guard=verified("verifyAuth (decided)", token=READS), result=LimitsSchema, message="Limits checked")
def check_limits(*, scope: Scope) -> dict[str, object]:
    """Return the used parts of the creation limits of the caller."""
    return creation_limits.check(scope.user, limits=limits_of(scope.user.id))


@blueprint.patch("/update-country/<id>")
@endpoint(
    guard=own_user("id", token=EDITS),
    body=ChangeCountryBody,
    result=UserSchema,
    message="Country updated",
    max_bytes=BYTES,
    etag_of="user.read",
)
def update_country(*, scope: UserScope, body: ChangeCountryBody) -> User:
    """Update the country of residence."""
    return service.change_country(scope.target, body.country)


@blueprint.patch("/update-newsletter/<id>")
@endpoint(
    guard=own_user("id", spec_name="verifyAuth+self (decided)", token=EDITS),
    body=ChangeNewsletterBody,
    result=UserSchema,
    message="Newsletter subscription updated",
    max_bytes=BYTES,
    etag_of="user.read",
)
def update_newsletter(*, scope: UserScope, body: ChangeNewsletterBody) -> User:
    """Subscribe to the newsletter or unsubscribe from it."""
    return service.change_newsletter(scope.target, subscribed=body.subscribed)


@blueprint.delete("/delete/<id>")
@endpoint(
    guard=own_user("id", spec_name="verifyAuth+self+fresh"),
    body=DeleteAccountBody,
    result=DeletedUserSchema,
    message="Account deleted",
    upstream=confirm_identity,
    max_bytes=BYTES,
    etag_of="user.read",
    errors=(
        "REAUTH_REQUIRED",
        "OWNS_ORGANIZATIONS",
        "INVALID_PASSWORD",
    ),
)
def delete(*, scope: UserScope, body: DeleteAccountBody, prepared: None) -> dict[str, bool]:
    """Delete the account with its data."""
    return authentication.clear_session_cookie(service.delete(scope.target, reason=body.reason))
