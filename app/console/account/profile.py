"""The own account: profile, password, sessions, preferences, deletion."""

from flask import Response

from app.access.guards import verified
from app.access.scope import Scope
from app.console.account.devices import device_name
from app.console.blueprint import ROOT, blueprint
from app.console.shell import api
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.locales import LANGUAGES, time_zones
from app.resources.auth.routes import account as auth
from app.resources.git_provider.routes import credentials
from app.resources.user import routes as users
from app.resources.user_preference import routes as preferences

URL = f"{ROOT}/account"
PASSWORD_NAMES = {"newPassword": "new_password", "currentPassword": "current_password"}


def _ids(scope: Scope) -> dict[str, str]:
    return {"id": scope.caller.id}


@blueprint.get("/account")
@Page(guard=verified())
def profile(*, scope: Scope) -> Response:
    """Show name, e-mail address and password."""
    return page("account/profile.html", user=api.read(users.read, _ids(scope)))


@blueprint.post("/account/profile")
@Page(guard=verified(), inputs=("name",), shown_by="profile")
def change_profile(*, scope: Scope, form: Form) -> Response:
    """Change the name."""
    api.write(auth.update_user, data={"name": form.text("name")})
    return see_other(f"{URL}?done=saved")


@blueprint.post("/account/password")
@Page(guard=verified(), inputs=("new_password", "current_password"), shown_by="profile", names=PASSWORD_NAMES)
def change_password(*, scope: Scope, form: Form) -> Response:
    """Change the password, or set the first one."""
    data = {"newPassword": form.text("new_password"), "currentPassword": form.text("current_password")}
    api.write(users.set_password, data=data, method="PATCH")
    return see_other(f"{URL}?done=password")


@blueprint.post("/account/delete")
@Page(guard=verified(), inputs=("delete_password",), shown_by="profile", names={"password": "delete_password"})
def delete_account(*, scope: Scope, form: Form) -> Response:
    """Delete the account."""
    api.write(users.delete, _ids(scope), {"password": form.text("delete_password")}, method="DELETE")
    return see_other(f"{ROOT}/sign-in?done=deleted")


@blueprint.get("/account/sessions")
@Page(guard=verified())
def sessions(*, scope: Scope) -> Response:
    """List the browsers in which the user is signed in."""
    rows = [row | {"device": device_name(row["userAgent"])} for row in api.read(auth.list_sessions)]
    return page("account/sessions.html", sessions=rows, current=scope.caller.session.id)


@blueprint.post("/account/sessions/end")
@Page(guard=verified(), inputs=("session_id",), shown_by="sessions")
def end_session(*, scope: Scope, form: Form) -> Response:
    """End one session, or all other sessions."""
    if form.text("session_id"):
        api.write(auth.revoke_session, data={"token": form.text("session_id")})
    else:
        api.write(auth.revoke_other_sessions)
    return see_other(f"{URL}/sessions?done=ended")


@blueprint.get("/account/preferences")
@Page(guard=verified())
def show_preferences(*, scope: Scope) -> Response:
    """Show theme, language, time zone and attribution."""
    return page(
        "account/preferences.html",
        preferences=api.read(preferences.read, _ids(scope)),
        languages=LANGUAGES,
        zones=sorted(time_zones()),
    )


@blueprint.post("/account/preferences")
@Page(guard=verified(), inputs=("theme", "language", "timezone", "impersonate"), shown_by="show_preferences")
def change_preferences(*, scope: Scope, form: Form) -> Response:
    """Change theme, language, time zone and attribution."""
    data = form.texts("theme", "language", "timezone")
    api.write(preferences.update, _ids(scope), data | {"impersonate": form.is_checked("impersonate")}, method="PATCH")
    return see_other(f"{URL}/preferences?done=saved")


@blueprint.get("/account/connections")
@Page(guard=verified())
def connections(*, scope: Scope) -> Response:
    """List the connected accounts of Git providers and the sign-in methods."""
    return page(
        "account/connections.html",
        credentials=api.read(credentials.list_connected, {"userId": scope.caller.id}),
        methods=api.read(auth.list_accounts),
    )


@blueprint.post("/account/connections/remove")
@Page(guard=verified(), inputs=("id",), shown_by="connections")
def remove_connection(*, scope: Scope, form: Form) -> Response:
    """Disconnect an account of a Git provider."""
    api.write(credentials.disconnect, {"id": form.text("id")}, method="DELETE")
    return see_other(f"{URL}/connections?done=removed")
