"""Pages of the second factor: the second step of the sign-in, set-up, backup codes and removal."""

from collections.abc import Callable
from typing import Any

import segno
from flask import Response

from app.access.guards import public, verified
from app.access.scope import Scope
from app.console.account.account_pages import AccountQuery, first_page
from app.console.blueprint import ROOT, blueprint
from app.console.shell.forms import Form
from app.console.shell.pages import Page, local_path, see_other
from app.console.shell.rendering import page
from app.http.actions import run
from app.resources.auth.two_factor import actions, challenges, guards
from app.resources.auth.two_factor import schemas as s
from app.resources.auth.two_factor.service import FEW_CODES, FactorMethod

GUARD = verified().without_second_factor()
URL = f"{ROOT}/account/second-factor"
NAMES = {"trustDevice": "trust"}
PROOFS: dict[str, tuple[type[s.CodeBody | s.BackupCodeBody], Callable[..., Any]]] = {
    FactorMethod.TOTP: (s.CodeBody, actions.verify_app_code),
    FactorMethod.OTP: (s.CodeBody, actions.verify_mail_code),
    "backup": (s.BackupCodeBody, actions.verify_backup_code),
}


def _prove(method: str, data: dict[str, object]) -> actions.ProvedFactor:
    """Prove the second factor with a code. An unknown method is that of an app."""
    body, act = PROOFS.get(method, PROOFS[FactorMethod.TOTP])
    proved: actions.ProvedFactor = run(lambda **_: act(**vars(body.loaded(data))), {}, guards.VERIFY)
    return proved


@blueprint.get("/second-factor")
@Page(guard=public(), query=AccountQuery)
def second_factor_page(*, scope: Scope, query: AccountQuery) -> Response:
    """Ask for the second factor of a sign-in."""
    return page("account/second_step.html", query=query, methods=actions.methods_of_challenge())


@blueprint.post("/second-factor")
@Page(
    guard=public(),
    inputs=("method", "code", "trust"),
    query=AccountQuery,
    shown_by="second_factor_page",
    names=NAMES,
)
def prove_second_factor(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Finish the sign-in. With few backup codes, lead to the page that makes new ones."""
    data = {"code": form.text("code"), "trustDevice": form.is_checked("trust")}
    proved = _prove(form.text("method"), data)
    if proved.remaining_codes <= FEW_CODES:
        return see_other(URL)
    target = local_path(query.next)
    return see_other(first_page(proved.user) if target == ROOT else target)


@blueprint.post("/second-factor/send")
@Page(guard=public(), inputs=(), query=AccountQuery, shown_by="second_factor_page")
def send_second_factor_code(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Mail a code for the sign-in."""
    run(lambda **_: actions.send_code(), {}, guards.SEND_CODE)
    return see_other(f"{ROOT}/second-factor?done=code-sent")


@blueprint.get("/reset-second-factor")
@Page(guard=public(), query=AccountQuery)
def reset_second_factor_page(*, scope: Scope, query: AccountQuery) -> Response:
    """Ask for the password with which the link of a mail removes a lost second factor."""
    return page("account/reset_second_factor.html", query=query)


@blueprint.post("/reset-second-factor")
@Page(guard=public(), inputs=("token", "password"), query=AccountQuery, shown_by="reset_second_factor_page")
def reset_second_factor(*, scope: Scope, query: AccountQuery, form: Form) -> Response:
    """Remove a lost second factor."""
    body = s.ResetFactorBody.loaded(form.texts("token", "password"))
    run(lambda **_: actions.complete_reset(**vars(body)), {}, guards.RESET)
    return see_other(f"{ROOT}/sign-in?done=factor-removed")


@blueprint.get("/account/second-factor")
@Page(guard=GUARD)
def second_factor(*, scope: Scope) -> Response:
    """Show the second factor, or its set-up."""
    return _show(scope)


def _show(scope: Scope, backup_codes: list[str] | None = None) -> Response:
    state = actions.state_of(scope.user, scope.session)
    code = segno.make(state.uri, error="m").svg_data_uri(scale=5) if state.uri is not None else None
    return page(
        "account/second_factor.html",
        state=state,
        qr_code=code,
        backup_codes=backup_codes,
        is_required=scope.caller.needs_second_factor and not state.methods,
        few_codes=FEW_CODES,
    )


def _change(act: Callable[..., Any], form: Form, **values: object) -> Any:
    """Run a change of the second factor with the password of the form."""
    password = s.PasswordBody.loaded({"password": form.text("password") or None}).password
    return run(lambda scope: act(scope.user, scope.session, password=password, **values), {}, guards.CHANGE)


@blueprint.post("/account/second-factor/enable")
@Page(guard=GUARD, inputs=("password", "method"), shown_by="second_factor")
def enable_second_factor(*, scope: Scope, form: Form) -> Response:
    """Prepare an authenticator app, or choose codes by mail and show backup codes."""
    method = FactorMethod.OTP if form.text("method") == FactorMethod.OTP else FactorMethod.TOTP
    prepared = _change(actions.enable, form, method=method)
    return _show(scope, prepared.backup_codes) if method == FactorMethod.OTP else see_other(URL)


@blueprint.post("/account/second-factor/confirm")
@Page(guard=GUARD, inputs=("code",), shown_by="second_factor")
def confirm_second_factor(*, scope: Scope, form: Form) -> Response:
    """Confirm the authenticator app with a code, and show new backup codes."""
    _prove(FactorMethod.TOTP, {"code": form.text("code")})
    replaced = run(lambda scope: actions.new_backup_codes(scope.user), {}, guards.NEW_CODES)
    return _show(scope, replaced)


@blueprint.post("/account/second-factor/codes")
@Page(guard=GUARD, inputs=("password",), shown_by="second_factor")
def replace_backup_codes(*, scope: Scope, form: Form) -> Response:
    """Replace the backup codes and show them once."""
    return _show(scope, _change(actions.replace_backup_codes, form)["backup_codes"])


@blueprint.post("/account/second-factor/disable")
@Page(guard=GUARD, inputs=("password",), shown_by="second_factor")
def disable_second_factor(*, scope: Scope, form: Form) -> Response:
    """Remove the second factor."""
    _change(actions.disable, form)
    return see_other(f"{URL}?done=factor-removed")


@blueprint.post("/account/sessions/distrust")
@Page(guard=GUARD, inputs=("device_id",), shown_by="sessions")
def end_trusted_device(*, scope: Scope, form: Form) -> Response:
    """End the trust in a browser."""
    device_id = s.RevokeDeviceBody.loaded({"id": form.text("device_id")}).id
    run(lambda scope: challenges.end_device(scope.caller.id, device_id), {}, guards.END_DEVICE)
    return see_other(f"{ROOT}/account/sessions?done=ended")
