"""Routes of user accounts (spec 4.3)."""

from app.access.guards import own_user, verified
from app.access.scope import Scope, UserScope
from app.access.tokens import EDITS, READS
from app.core.limits import InputLimits
from app.core.outbound import UnrecordedAct
from app.http.blueprint import ApiBlueprint
from app.http.endpoint import endpoint
from app.models.user import User
from app.resources.user import actions, creation_limits, service
from app.resources.user.creation_limits import limits_of
from app.resources.user.guards import DELETE
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
    return service.profile(scope.target, by=scope.caller)


@blueprint.patch("/set-password")
@endpoint(
    guard=verified(),
    body=SetPasswordBody,
    result=StatusSchema,
    message="Password set",
    outside=True,
    max_bytes=BYTES,
    errors=("INVALID_PASSWORD", "CONFLICT"),
)
def set_password(*, scope: Scope, body: SetPasswordBody) -> UnrecordedAct[dict[str, object]]:
    """Set or update the password."""
    return actions.set_password(scope.user, scope.session, **vars(body))


@blueprint.post("/check-limits")
@endpoint(guard=verified("verifyAuth (decided)", token=READS), result=LimitsSchema, message="Limits checked")
def check_limits(*, scope: Scope) -> dict[str, object]:
    """Return the used parts of the creation limits of the caller."""
    return creation_limits.check(scope.caller, limits=limits_of(scope.caller.id))


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
    **vars(DELETE),
    body=DeleteAccountBody,
    result=DeletedUserSchema,
    message="Account deleted",
    max_bytes=BYTES,
    errors=("REAUTH_REQUIRED", "OWNS_ORGANIZATIONS", "INVALID_PASSWORD"),
)
def delete(*, scope: UserScope, body: DeleteAccountBody) -> UnrecordedAct[dict[str, bool]]:
    """Delete the account with its data."""
    return actions.delete(scope.target, scope.session, **vars(body))
