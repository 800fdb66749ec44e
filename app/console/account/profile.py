"""The own account: profile, password, sessions, preferences, connections, billing, deletion."""

from collections.abc import Sequence
from typing import Any

from flask import Response, request

from app.access import authentication
from app.access.guards import verified
from app.access.scope import Scope
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.frame import ZONES_COOKIE
from app.console.shell.pages import Page, local_path, see_other
from app.console.shell.rendering import page
from app.console.shell.translation import current_language
from app.console.shell.translation import gettext as _
from app.core.locales import LANGUAGES, is_time_zone, time_zones
from app.extensions import current_settings, drivers, keyring
from app.http.actions import run
from app.http.loading import instance
from app.resources.auth.schemas import AccountSchema, ListedSessionSchema, RevokeSessionBody, UpdateUserBody
from app.resources.auth.two_factor import challenges
from app.resources.auth.two_factor.schemas import TrustedDeviceSchema
from app.resources.git_provider import credentials
from app.resources.git_provider.schemas import CredentialSchema
from app.resources.order import actions as order_actions
from app.resources.order import service as orders
from app.resources.order.guards import own_subscription
from app.resources.order.schemas import BillingHistorySchema, CancelSubscriptionBody
from app.resources.user import actions, creation_limits, service
from app.resources.user import sessions as user_sessions
from app.resources.user.creation_limits import limits_of
from app.resources.user.guards import DELETE
from app.resources.user.schemas import DeleteAccountBody, ProfileSchema, SetPasswordBody
from app.resources.user_preference import service as preferences
from app.resources.user_preference.guards import CHANGE
from app.resources.user_preference.schemas import NOTICES, PreferencesBody, PreferenceSchema

GUARD = verified()
URL = f"{ROOT}/account"
SWITCHES = ("impersonate", "developer_view")
MAX_DISMISSED, YEAR_S = 20, 365 * 86_400
PASSWORD_NAMES = {"newPassword": "new_password", "currentPassword": "current_password"}


@blueprint.get("/account")
@Page(guard=GUARD)
def profile(*, scope: Scope) -> Response:
    """Show name, e-mail address and password."""
    user = instance(ProfileSchema).dump(service.profile(scope.user, by=scope.caller))
    return page("account/profile.html", user=user)


@blueprint.post("/account/profile")
@Page(guard=GUARD, inputs=("name",), shown_by="profile")
def change_profile(*, scope: Scope, form: Form) -> Response:
    """Change the name."""
    values = UpdateUserBody.loaded(form.texts("name")).sent()
    run(lambda scope: service.update(scope.user, values), {}, guard=GUARD)
    return see_other(f"{URL}?done=saved")


@blueprint.post("/account/password")
@Page(guard=GUARD, inputs=("new_password", "current_password"), shown_by="profile", names=PASSWORD_NAMES)
def change_password(*, scope: Scope, form: Form) -> Response:
    """Change the password, or set the first one."""
    data = {"newPassword": form.text("new_password"), "currentPassword": form.text("current_password")}
    body = SetPasswordBody.loaded(data, is_change=True)
    run(lambda scope: actions.set_password(scope.user, scope.session, **vars(body)), {}, guard=GUARD, outside=True)
    return see_other(f"{URL}?done=password")


@blueprint.post("/account/delete")
@Page(guard=GUARD, inputs=("delete_password",), shown_by="profile", names={"password": "delete_password"})
def delete_account(*, scope: Scope, form: Form) -> Response:
    """Delete the account."""
    password = DeleteAccountBody.loaded({"password": form.text("delete_password")}).password
    run(lambda scope: actions.delete(scope.target, scope.session, password=password), {"id": scope.caller.id}, DELETE)
    return see_other(f"{ROOT}/sign-in?done=deleted")


@blueprint.get("/account/sessions")
@Page(guard=GUARD)
def sessions(*, scope: Scope) -> Response:
    """List the browsers in which the user is signed in."""
    rows: Any = instance(ListedSessionSchema, many=True).dump(user_sessions.of_user(scope.caller.id))
    listed = [row | {"device": device_name(row["userAgent"])} for row in rows]
    trusted: Any = instance(TrustedDeviceSchema, many=True).dump(challenges.devices_of(scope.caller.id))
    devices = [row | {"device": device_name(row["userAgent"])} for row in trusted]
    return page("account/sessions.html", sessions=listed, devices=devices, current=scope.caller.session.id)


@blueprint.post("/account/sessions/end")
@Page(guard=GUARD, inputs=("session_id",), shown_by="sessions")
def end_session(*, scope: Scope, form: Form) -> Response:
    """End one session, or all other sessions."""
    if form.text("session_id"):
        session_id = RevokeSessionBody.loaded({"token": form.text("session_id")}).token
        run(lambda scope: user_sessions.end(scope.caller.id, session_id), {}, guard=GUARD)
    else:
        run(lambda scope: user_sessions.end_all(scope.caller.id, but=scope.session.id), {}, guard=GUARD)
    return see_other(f"{URL}/sessions?done=ended")


@blueprint.get("/account/preferences")
@Page(guard=GUARD)
def show_preferences(*, scope: Scope) -> Response:
    """Show theme, language, time zone, attribution and view."""
    return page(
        "account/preferences.html",
        preferences=instance(PreferenceSchema).dump(preferences.read(scope.caller)),
        languages=LANGUAGES,
        zones=sorted(time_zones()),
    )


@blueprint.post("/account/preferences")
@Page(guard=GUARD, inputs=("theme", "language", "timezone", *SWITCHES), shown_by="show_preferences")
def change_preferences(*, scope: Scope, form: Form) -> Response:
    """Change theme, language, time zone, attribution and view."""
    data = form.texts("theme", "language", "timezone") | {name: form.is_checked(name) for name in SWITCHES}
    values = PreferencesBody.loaded(data, is_change=True).sent()
    run(lambda scope: preferences.change(scope.caller, values), {"id": scope.caller.id}, CHANGE)
    return see_other(f"{URL}/preferences?done=saved")


@blueprint.get("/account/notices")
@Page(guard=GUARD)
def show_notices(*, scope: Scope) -> Response:
    """Show which news are mailed."""
    return page("account/notices.html", muted=preferences.read(scope.caller).muted_mails)


@blueprint.post("/account/notices")
@Page(guard=GUARD, inputs=("mailed",), shown_by="show_notices")
def change_notices(*, scope: Scope, form: Form) -> Response:
    """Choose which news are mailed."""
    muted = [kind for kind in NOTICES if kind not in form.all("mailed")]
    values = PreferencesBody.loaded({"muted_mails": muted, "language": current_language()}, is_change=True).sent()
    run(lambda scope: preferences.change(scope.caller, values), {"id": scope.caller.id}, CHANGE)
    return see_other(f"{URL}/notices?done=saved")


@blueprint.post("/account/time-zone")
@Page(guard=GUARD, inputs=("timezone", "use", "next"), shown_by="show_preferences")
def answer_zone_offer(*, scope: Scope, form: Form) -> Response:
    """Store the time zone of the browser with the shown language, or do not offer this zone again."""
    zone, response = form.text("timezone"), see_other(local_path(form.text("next")))
    if form.is_checked("use"):
        values = PreferencesBody.loaded({"timezone": zone, "language": current_language()}, is_change=True).sent()
        run(lambda scope: preferences.change(scope.caller, values), {"id": scope.caller.id}, CHANGE)
    elif is_time_zone(zone):
        zones = [*request.cookies.get(ZONES_COOKIE, "").split()[1 - MAX_DISMISSED :], zone]
        https = authentication.is_https()
        response.set_cookie(
            ZONES_COOKIE, " ".join(zones), YEAR_S, path=ROOT, httponly=True, samesite="Lax", secure=https
        )
    return response


@blueprint.get("/account/connections")
@Page(guard=GUARD)
def connections(*, scope: Scope) -> Response:
    """List the connected accounts of Git providers and the sign-in methods."""
    return page(
        "account/connections.html",
        credentials=instance(CredentialSchema, many=True).dump(credentials.credentials_of(scope.caller)),
        methods=instance(AccountSchema, many=True).dump(service.sign_in_methods(scope.user)),
    )


@blueprint.post("/account/connections/remove")
@Page(guard=GUARD, inputs=("id",), shown_by="connections")
def remove_connection(*, scope: Scope, form: Form) -> Response:
    """Disconnect an account of a Git provider."""
    credential_id = form.text("id")
    run(lambda scope: credentials.disconnect_own(scope.caller, credential_id, ring=keyring), {}, guard=GUARD)
    return see_other(f"{URL}/connections?done=removed")


BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
"""Parts of a user agent and the names of browsers. Most browsers also name those that follow."""

SYSTEMS = (
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)


def device_name(user_agent: str | None) -> str:
    """Return the browser and the system, or the user agent if it names no known browser."""
    text = user_agent or ""
    browser, system = _name(text, BROWSERS), _name(text, SYSTEMS)
    if browser is None:
        return text or _("Unknown")
    return _("%(browser)s on %(system)s", browser=browser, system=system) if system is not None else browser


def _name(text: str, names: Sequence[tuple[str, str]]) -> str | None:
    return next((name for part, name in names if part in text), None)


BILLING = f"{ROOT}/account/billing"


@blueprint.get("/account/billing")
@Page(guard=verified())
def billing(*, scope: Scope) -> Response:
    """Show the plan, the used limits, the subscriptions and the orders."""
    return page(
        "account/billing.html",
        history=instance(BillingHistorySchema).dump(orders.history(scope.caller.id, by=scope.caller)),
        limits=creation_limits.check(scope.caller, limits=limits_of(scope.caller.id)),
        is_enabled=current_settings().billing.driver != "none",
    )


@blueprint.post("/account/billing/cancel")
@Page(guard=verified(), inputs=("subscription_id",), shown_by="billing")
def cancel_subscription(*, scope: Scope, form: Form) -> Response:
    """Cancel a subscription at the end of the paid period."""
    body = CancelSubscriptionBody.loaded(form.texts("subscription_id"))
    run(
        lambda scope: order_actions.cancel(scope.subscription, drivers.billing, immediately=False),
        {"subscription_id": body.subscription_id},
        guard=own_subscription("subscription_id"),
        outside=True,
        rate="billing",
    )
    return see_other(f"{BILLING}?done=canceled")
