"""Pages of the own passkeys: list, registration, rename and delete. A script calls the authenticator."""

import json
from typing import Any

from flask import Response, request

from app.access.scope import Scope
from app.console.account.profile import device_name
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, see_other
from app.console.shell.rendering import page
from app.core.limits import TextLengths
from app.extensions import current_settings
from app.http.actions import run
from app.http.loading import instance
from app.resources.auth import responses
from app.resources.auth.passkeys import actions, guards, service
from app.resources.auth.passkeys import schemas as s
from app.resources.auth.passkeys.verification import fault_of

URL = f"{ROOT}/account/passkeys"


def _page(scope: Scope, options: str | None = None) -> Response:
    return page(
        "account/passkeys.html",
        passkeys=instance(s.PasskeySchema, many=True).dump(service.of_user(scope.caller.id)),
        fault=fault_of(current_settings().server),
        device=device_name(request.headers.get("User-Agent"))[: TextLengths.PASSKEY_NAME],
        options=options,
        url=URL,
    )


@blueprint.get("/account/passkeys")
@Page(guard=guards.OWN)
def passkeys(*, scope: Scope) -> Response:
    """List the passkeys of the user."""
    return _page(scope)


@blueprint.post("/account/passkeys")
@Page(guard=guards.OWN, inputs=("name",), shown_by="passkeys")
def begin_passkey(*, scope: Scope, form: Form) -> Response:
    """Return the page with the options of a new passkey, for the script."""
    browser = responses.ensure_browser_secret()
    options: Any = run(
        lambda scope: actions.begin_registration(scope.caller, name=None, attachment=None, browser=browser),
        {},
        guards.BEGIN_REGISTRATION,
    )
    return _page(scope, json.dumps(options))


@blueprint.post("/account/passkeys/add")
@Page(guard=guards.OWN, inputs=("name", "response"), shown_by="passkeys")
def add_passkey(*, scope: Scope, form: Form) -> Response:
    """Store the passkey that the authenticator has created."""
    body = s.VerifyRegistrationBody.loaded({"name": form.text("name"), "response": form.parsed("response")})
    browser = responses.browser_secret() or ""
    run(
        lambda scope: actions.register(scope.caller, body.response, name=body.name, browser=browser),
        {},
        guards.REGISTER,
    )
    return see_other(f"{URL}?done=created")


@blueprint.post("/account/passkeys/rename")
@Page(guard=guards.OWN, inputs=("passkey_id", "name"), shown_by="passkeys")
def rename_passkey(*, scope: Scope, form: Form) -> Response:
    """Rename a passkey."""
    body = s.UpdatePasskeyBody.loaded({"id": form.text("passkey_id"), "name": form.text("name")})
    run(lambda scope: service.rename(scope.caller.id, body.id, body.name), {}, guards.CHANGE)
    return see_other(f"{URL}?done=renamed")


@blueprint.post("/account/passkeys/delete")
@Page(guard=guards.OWN, inputs=("passkey_id",), shown_by="passkeys")
def delete_passkey(*, scope: Scope, form: Form) -> Response:
    """Delete a passkey."""
    passkey_id = form.text("passkey_id")
    run(lambda scope: actions.delete(scope.caller, passkey_id), {}, guards.DELETE)
    return see_other(f"{URL}?done=deleted")
