"""Tests of `flask keys rotate` with concurrent writes and interruptions."""

import base64
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask

from app.extensions import db, drivers, keyring
from app.models.git_credential import GitCredential, GitRevocation
from app.resources.git_provider import token_encryption
from app.resources.git_provider.provider_selection import token_refresher
from app.resources.git_provider.token_refresh import TokenRefresher
from app.security.secrets import Keyring
from tests.support.git_hosts import Hosts, connect_github, connect_gitlab, hosted_application, login_of
from tests.support.world import World

NEW = ("new", os.urandom(32))


def key(name: str, raw: bytes) -> str:
    return f"{name}:{base64.b64encode(raw).decode()}"


OLD_RAW = os.urandom(32)


@pytest.fixture
def running(store: str, tmp_path: Path) -> Iterator[tuple[Flask, Hosts]]:
    with hosted_application(store, tmp_path, ENCRYPTION_KEYS=key("old", OLD_RAW)) as made:
        yield made


def add_new_key(app: Flask) -> None:
    """Put a new key before the old one, as an operator does before a rotation."""
    app.extensions["keyring"] = Keyring([NEW, ("old", OLD_RAW)])


def secrets_of(app: Flask) -> list[str]:
    columns = [getattr(GitCredential, token_encryption.column(field)) for field in token_encryption.FIELDS]
    with app.app_context():
        rows = [
            *db.session.execute(sa.select(*columns)).all(),
            *db.session.execute(sa.select(GitRevocation.token_secret)),
        ]
    return [value for row in rows for value in row if value is not None]


def rotate(app: Flask) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=["keys", "rotate"])
    return done.exit_code, done.output


class TestRotate:
    def test_rotate_encrypts_all_rows_once(self, running: tuple[Flask, Hosts]) -> None:
        app, hosts = running
        me, other = World(app).person(), World(app).person()
        made = connect_github(me, hosts, hosts.on_github(login_of(me)).installation)["id"]
        gone = connect_gitlab(other, hosts)["id"]
        other.delete(f"/git-provider/{gone}").ok()
        add_new_key(app)
        assert {secret.split(":")[0] for secret in secrets_of(app)} == {"old"}
        assert rotate(app) == (0, "3 rows were encrypted with the first key.\n")
        assert {secret.split(":")[0] for secret in secrets_of(app)} == {"new"}
        assert rotate(app) == (0, "0 rows were encrypted with the first key.\n")
        app.extensions["keyring"] = Keyring([NEW])
        with app.app_context():
            assert token_refresher(drivers.git).token(made) in hosts.github.grants
        World(app).work_off()
        assert login_of(other) not in {name for name, _ in hosts.gitlab.grants.values()}

    @pytest.mark.one_database
    def test_rotate_names_unreadable_rows_and_continues(self, running: tuple[Flask, Hosts]) -> None:
        app, hosts = running
        broken, whole = (connect_gitlab(World(app).person(), hosts)["id"] for _ in range(2))
        with app.app_context():
            db.session.get_one(GitCredential, broken).access_token_secret = "old:AAAA"
            db.session.commit()
        add_new_key(app)
        code, told = rotate(app)
        assert code == 1
        assert broken in told
        assert whole not in told
        with app.app_context():
            row = db.session.get_one(GitCredential, whole)
            assert not keyring.needs_rotation(str(row.access_token_secret))

    def test_rotate_does_not_block_token_refreshes(self, running: tuple[Flask, Hosts]) -> None:
        app, hosts = running
        ids = [connect_gitlab(World(app).person(), hosts)["id"] for _ in range(6)]
        add_new_key(app)
        with app.app_context():
            kept: TokenRefresher = token_refresher(drivers.git)
        faults: list[BaseException] = []

        def renew() -> None:
            try:
                for _ in range(4):
                    for credential_id in ids:
                        kept.renew(kept.find(credential_id))
            except BaseException as error:
                faults.append(error)

        thread = threading.Thread(target=renew)
        thread.start()
        codes = {rotate(app)[0] for _ in range(5)}
        thread.join(30)
        assert (faults, codes) == ([], {0})
        assert rotate(app)[0] == 0
        assert {secret.split(":")[0] for secret in secrets_of(app)} == {"new"}
        assert all(kept.token(credential_id) in hosts.gitlab.grants for credential_id in ids)
