"""Tests that the secrets of webhooks are in no row, log line, response or backup, and follow a change of the key."""

import os
from collections.abc import Callable
from pathlib import Path

import zstandard
from flask import Flask

from app.security.secrets import Keyring
from tests.resources.outbound_webhook.hooks import Hook, save
from tests.support.assertions.canaries import dump, hits, logged, recorded
from tests.support.doubles.server import Reply
from tests.support.doubles.webhook_receiver import verified
from tests.support.workspace import Workspace
from tests.support.world import World

Make = Callable[..., Hook]
BUILD_KEY = "canary-5f0c6d2b4d1e8a3f"


def _texts(folder: Path) -> bytes:
    """Return the decompressed contents of a backup."""
    parts = []
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            is_packed = file.name.endswith(".zst")
            parts.append(zstandard.ZstdDecompressor().stream_reader(data).read() if is_packed else data)
    assert parts
    return b"\n".join(parts)


def test_secrets_are_in_no_row_log_response_or_backup(
    app: Flask, world: World, space: Workspace, hook: Make, tmp_path: Path
) -> None:
    with logged() as log:
        one = hook("one")
        deploy = hook(BUILD_KEY, format="empty", events=None, project_id=space.project)
        secrets = [one.secret, one.me.post(f"{one.path}/rotate").ok()["secret"]]
        deploy.receiver.replies[BUILD_KEY] = [Reply(500, f"no hook {BUILD_KEY}".encode())]
        deploy.receiver.replies["one"] = [Reply(500)]
        with recorded(app) as seen:
            save(space)
            world.work_off()
            for hooked in (one, deploy):
                hooked.shown()
                for item in hooked.deliveries():
                    hooked.me.get(f"{hooked.path}/delivery/{item['id']}").ok()
            one.me.get(f"/organization/{space.org}/webhooks").ok()
        folder = tmp_path / "backup"
        assert app.test_cli_runner().invoke(args=["backup", str(folder)]).output
    assert len(one.received) == len(deploy.received) == 1
    places = {
        "rows": dump(app),
        "log": log.getvalue().encode(),
        "responses": bytes(seen.told),
        "backup": _texts(folder),
    }
    assert hits([BUILD_KEY, *secrets, *(secret.removeprefix("whsec_") for secret in secrets)], places) == []


def _rotate(app: Flask) -> None:
    """Encrypt all secrets with the present key. Those of other tests in the database may be unreadable."""
    assert app.test_cli_runner().invoke(args=["keys", "rotate"]).exit_code in (0, 1)


def test_change_of_the_key_encrypts_the_secrets_again(app: Flask, space: Workspace, hook: Make) -> None:
    one = hook()
    new, before = ("new", os.urandom(32)), app.extensions["keyring"]
    settings = app.config["SETTINGS"].security.encryption_keys
    try:
        app.extensions["keyring"] = Keyring([new, *settings])
        _rotate(app)
        app.extensions["keyring"] = Keyring([new])
        save(space)
        one.run()
        assert verified(one.received[0], one.secret)
        app.extensions["keyring"] = Keyring([("other", os.urandom(32))])
        assert one.shown()["url"] is None
        save(space)
        one.run()
        item = one.deliveries()[0]
        [attempt] = one.me.get(f"{one.path}/delivery/{item['id']}").ok()["attempts"]
        assert (attempt["error"], len(one.received)) == ("secret_unreadable", 1)
        app.extensions["keyring"] = Keyring([*settings, new])
        _rotate(app)
        app.extensions["keyring"] = before
        save(space)
        one.run()
        assert verified(one.received[1], one.secret)
    finally:
        app.extensions["keyring"] = before
