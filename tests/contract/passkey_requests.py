"""Valid requests for passkeys, signed by an authenticator in software."""

from typing import Any

from tests.contract.scene import Scene
from tests.support.authenticator import Authenticator
from tests.support.world import Browser

NEW, VERIFY_NEW = "/auth/passkey/generate-register-options", "/auth/passkey/verify-registration"
SIGN_IN, VERIFY = "/auth/passkey/generate-authenticate-options", "/auth/passkey/verify-authentication"
UNKNOWN = {"challenge": "AAAA", "user": {"id": "AAAA"}}


def _created(_scene: Scene, who: Browser) -> dict[str, Any]:
    answer = who.get(NEW)
    options = answer.ok() if answer.status == 200 else UNKNOWN
    return {"response": Authenticator().create(options), "name": "Laptop"}


def _signed(scene: Scene, who: Browser) -> dict[str, Any]:
    key, owner = Authenticator(), scene.extra.again()
    owner.post(VERIFY_NEW, {"response": key.create(owner.get(NEW).ok())}).ok()
    return {"response": key.sign(who.get(SIGN_IN).ok())}


def _own_id(scene: Scene, who: Browser) -> str:
    answer = who.post(VERIFY_NEW, _created(scene, who))
    return str(answer.ok()["id"]) if answer.status == 200 else "pky_unknown"


BODIES = {
    ("POST", VERIFY_NEW): _created,
    ("POST", VERIFY): _signed,
    ("POST", "/auth/passkey/update-passkey"): lambda scene, who: {"id": _own_id(scene, who), "name": "Desk"},
    ("POST", "/auth/passkey/delete-passkey"): lambda scene, who: {"id": _own_id(scene, who)},
}
