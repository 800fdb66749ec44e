"""Valid requests for the second factor: new users whose sign-in waits for it, and callers with a factor."""

import secrets
from datetime import timedelta
from typing import Any

import pyotp

from app.core import clock
from app.core.limits import CodeLimits
from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.second_factor import SecondFactor, SecondFactorChallenge, TrustedDevice
from app.models.user import User
from app.resources.auth.one_time_codes import hash_of
from app.resources.auth.two_factor.service import replace_backup_codes
from app.security.secrets import associated_data, hash_token, new_token
from tests.contract.scene import CODE, PASSWORD, Scene, hashed
from tests.support.world import Browser, Person

Key = tuple[str, str]
ROOT, RESET = "/auth/two-factor", "/organization/:org_id/member/:user_id/reset-second-factor"


def _protect(user: User) -> tuple[SecondFactor, str]:
    """Give a user an app, codes by mail and a link. Return the secret of the app as well."""
    secret, later = pyotp.random_base32(), utcnow_ms() + timedelta(minutes=5)
    user.two_factor_enabled = True
    row = db.session.scalar(db.select(SecondFactor).where(SecondFactor.user_id == user.id))
    if row is None:
        row = SecondFactor(user_id=user.id)
        db.session.add(row)
        db.session.flush()
    row.totp_secret = keyring.encrypt(secret, aad=associated_data("second_factors", row.id, "totp"))
    row.confirmed_at, row.last_step, row.uses_mail = utcnow_ms(), None, True
    row.mail_code_hash, row.mail_code_expires_at = hash_of(CODE, row.id), later
    return row, secret


def _newcomer(scene: Scene, who: Browser) -> dict[str, str]:
    """Create a user whose sign-in waits in the browser of the caller. Return the secrets of the user."""
    with scene.app.app_context():
        address = f"factor-{secrets.token_hex(6)}@mail.example.org"
        user = User(email=address, email_key=address, email_verified=True, name="Newcomer", password_hash=hashed())
        db.session.add(user)
        db.session.flush()
        row, secret = _protect(user)
        token, reset = new_token(), new_token()
        row.reset_hash, row.reset_expires_at = hash_token(reset), utcnow_ms() + timedelta(minutes=5)
        expires_at = utcnow_ms() + timedelta(minutes=5)
        db.session.add(
            SecondFactorChallenge(user_id=user.id, token_hash=hash_token(token), remember=True, expires_at=expires_at)
        )
        [backup_code, *_] = replace_backup_codes(user.id, limits=CodeLimits())
        db.session.commit()
    who.client.set_cookie("two_factor", token)
    return {"app": pyotp.TOTP(secret).at(clock.now()), "backup": backup_code, "reset": reset}


def _of_caller(scene: Scene, who: Browser, *, with_factor: bool) -> dict[str, Any]:
    """Return the password. The caller has a factor, or none."""
    if isinstance(who, Person):
        with scene.app.app_context():
            user = db.session.get_one(User, who.id)
            _protect(user)
            user.two_factor_enabled = False
            if not with_factor:
                db.session.execute(db.delete(SecondFactor).where(SecondFactor.user_id == user.id))
            db.session.commit()
    return {"password": PASSWORD}


def _active(scene: Scene, who: Browser) -> dict[str, Any]:
    body = _of_caller(scene, who, with_factor=True)
    if isinstance(who, Person):
        with scene.app.app_context():
            db.session.get_one(User, who.id).two_factor_enabled = True
            db.session.commit()
    return body


def _challenged(scene: Scene, who: Browser) -> dict[str, Any]:
    _newcomer(scene, who)
    return {}


BODIES = {
    ("POST", f"{ROOT}/enable"): lambda scene, who: _of_caller(scene, who, with_factor=False),
    ("POST", f"{ROOT}/disable"): lambda scene, who: _of_caller(scene, who, with_factor=True),
    ("POST", f"{ROOT}/get-totp-uri"): lambda scene, who: _of_caller(scene, who, with_factor=True),
    ("POST", f"{ROOT}/verify-totp"): lambda scene, who: {"code": _newcomer(scene, who)["app"]},
    ("POST", f"{ROOT}/send-otp"): _challenged,
    ("POST", f"{ROOT}/verify-otp"): lambda scene, who: _challenged(scene, who) | {"code": CODE},
    ("POST", f"{ROOT}/generate-backup-codes"): _active,
    ("POST", f"{ROOT}/verify-backup-code"): lambda scene, who: {"code": _newcomer(scene, who)["backup"]},
    ("POST", f"{ROOT}/reset"): lambda scene, who: {"token": _newcomer(scene, who)["reset"], "password": PASSWORD},
    ("POST", f"{ROOT}/revoke-trusted-device"): lambda *_: {"id": "dev_unknown"},
}


def ids_of(scene: Scene, key: Key) -> dict[str, str]:
    """Return the path variables: a new member of O with a second factor."""
    if key[1] != RESET:
        return {}
    with scene.app.app_context():
        user = db.session.get_one(User, scene.extra.id)
        _protect(user)
        db.session.commit()
        return {"user_id": user.id}


def with_listed_device(scene: Scene, _key: Key, who: Browser) -> list[dict[str, Any]]:
    """Send the list of trusted devices after the caller has trusted one."""
    with scene.app.app_context():
        now = utcnow_ms()
        db.session.add(
            TrustedDevice(
                user_id=who.id if isinstance(who, Person) else "",
                token_hash=hash_token(new_token()),
                ip_address="192.0.2.7",
                user_agent="Mozilla/5.0 (X11; Linux x86_64)",
                expires_at=now + timedelta(days=30),
                last_used_at=now,
            )
        )
        db.session.commit()
    return [{}]
