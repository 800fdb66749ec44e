"""The account (spec 4.3)."""

from flask import Blueprint

from app.core.limits import InputLimits
from app.http import login
from app.http.configuration import settings
from app.http.endpoint import endpoint
from app.http.guards import own_user, verified
from app.http.scope import Scope
from app.models.user import User
from app.resources.user import limits as creation_limits
from app.resources.user import preparation, service
from app.resources.user.allowances import limits_of
from app.resources.user.schemas import (
    ChangeCountry,
    ChangeNewsletter,
    CountryBody,
    DeleteAccount,
    DeleteBody,
    Deleted,
    Limits,
    NewsletterBody,
    ProfileView,
    SetPassword,
    SetPasswordBody,
    Status,
    UserView,
)

blueprint = Blueprint("user", __name__)
BYTES = InputLimits.auth_bytes


@blueprint.get("/<id>")
@endpoint(guard=own_user("id", or_platform_admin=True), result=ProfileView, message="User found")
def read(scope: Scope) -> service.Profile:
    """Return the profile of a user."""
    return service.profile(scope.user, by=scope.actor)


@blueprint.patch("/set-password")
@endpoint(
    guard=verified(), body=SetPassword, result=Status, message="Password set",
    prepare=preparation.set_password, max_bytes=BYTES,
)  # fmt: skip
def set_password(scope: Scope, _body: SetPasswordBody, hashes: tuple[str | None, str]) -> dict[str, bool]:
    """Set or update the password."""
    limits, link = settings().limits.sessions, f"{settings().server.web_url}/forgot-password"
    login.admit(service.set_password(scope.actor, scope.session, hashes, limits=limits, link=link))
    return {"status": True}


@blueprint.post("/check-limits")
@endpoint(guard=verified("verifyAuth (decided)"), result=Limits, message="Limits checked")
def check_limits(scope: Scope) -> dict[str, object]:
    """Tell how much of the creation limits the caller has used."""
    return creation_limits.check(scope.actor, limits=limits_of(scope.actor.id))


@blueprint.patch("/update-country/<id>")
@endpoint(
    guard=own_user("id"), body=ChangeCountry, result=UserView, message="Country updated",
    max_bytes=BYTES, current="user.read",
)  # fmt: skip
def update_country(scope: Scope, body: CountryBody) -> User:
    """Update the country of residence."""
    return service.change_country(scope.user, body["country"])


@blueprint.patch("/update-newsletter/<id>")
@endpoint(
    guard=own_user("id", words="verifyAuth+self (decided)"), body=ChangeNewsletter, result=UserView,
    message="Newsletter subscription updated", max_bytes=BYTES, current="user.read",
)  # fmt: skip
def update_newsletter(scope: Scope, body: NewsletterBody) -> User:
    """Subscribe to the newsletter, or no more."""
    return service.change_newsletter(scope.user, subscribed=body["subscribed"])


@blueprint.delete("/delete/<id>")
@endpoint(
    guard=own_user("id", words="verifyAuth+self+fresh"), body=DeleteAccount, result=Deleted,
    message="Account deleted", prepare=preparation.delete, max_bytes=BYTES, current="user.read",
)  # fmt: skip
def delete(scope: Scope, body: DeleteBody, _checked: None) -> dict[str, bool]:
    """Delete the account with everything in it."""
    return login.dismiss(service.delete(scope.user, reason=body["reason"]))
