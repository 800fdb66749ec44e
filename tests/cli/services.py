"""Applications for backups and restores, and a summary of their data."""

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import sqlalchemy as sa
from flask import Flask

from app.backup import tables
from app.backup.json_lines import LineDigest
from app.extensions import db, drivers
from app.models.project import Project
from app.models.project_content import DraftImage
from config import Settings
from tests.contract.matrix import Matrix
from tests.contract.outside import Outside
from tests.contract.scene import template
from tests.resources.bucket.uploads import upload
from tests.support.applications import application, settings_for
from tests.support.databases import another_database
from tests.support.git_hosts import connect_github, login_of
from tests.support.world import World

BINARY = {"cover.png": bytes(range(256)) * 40, "notes.md": b"# Notes\n\nA lighthouse at dusk.\n"}


def unmigrated_at(url: str, home: Path) -> AbstractContextManager[Flask]:
    """Return an application with an empty or unreachable database."""
    return application(Settings.for_tests(home, DATABASE_URL=url), migrated=False)


def command(app: Flask, *words: object) -> tuple[int, str]:
    done = app.test_cli_runner().invoke(args=[str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


@contextmanager
def empty_service(store: str, home: Path, like: Settings, **storage: object) -> Iterator[Flask]:
    """Return an application with an empty database without tables and with the keys of `like`."""
    home.mkdir()
    with another_database(store, home, is_empty=True) as url:
        plain = settings_for(home, url)
        kept = dataclasses.replace(plain.storage, **storage)  # type: ignore[arg-type]
        settings = dataclasses.replace(plain, security=like.security, github=like.github, storage=kept)
        with application(settings, migrated=False) as app:
            yield app


@contextmanager
def populated_service(
    store: str, home: Path, *, walked: bool = True, **storage: object
) -> Iterator[tuple[Flask, Outside]]:
    """Return an application with the demo data, an asset and a credential. If `walked`, an owner has called every route."""
    home.mkdir()
    with Outside() as outside, another_database(store, home) as url:
        plain = outside.settings(url, home)
        kept = dataclasses.replace(plain.storage, **storage)  # type: ignore[arg-type]
        with application(dataclasses.replace(plain, storage=kept)) as app:
            app.extensions["outside"] = outside
            assert command(app, "seed", "demo")[0] == 0
            World(app).work_off(within_s=300)
            matrix = Matrix(app, template(home / "template.git"), whole=False)
            World(app).work_off(within_s=300)
            matrix.scene.served_key = upload(matrix.scene.owner).ok(201)["key"]
            assert not walked or matrix.cells(callers=("owner",)).checked > 80
            World(app).work_off(within_s=300)
            me = World(app).person()
            connect_github(me, outside.hosts, outside.hosts.on_github(login_of(me)).installation)
            _store_draft_image(app, me.id)
            yield app, outside


def _store_draft_image(app: Flask, user_id: str) -> None:
    """Write a row with binary values."""
    with app.app_context():
        project_id = db.session.scalar(sa.select(Project.id).limit(1))
        data = bytes(range(256))
        image = DraftImage(
            user_id=user_id, branch="main", file="a.md", path="a.png", url="a.png", size=256, content=data
        )
        image.project_id = project_id or ""
        db.session.add(image)
        db.session.commit()


def contents(app: Flask) -> dict[str, tuple[int, str]]:
    """Return the number of rows of each table and a hash that does not depend on their order."""
    values = {}
    with app.app_context(), db.engine.connect() as connection:
        for table in tables.tables_of(connection, app.extensions["jobs"]):
            digest = LineDigest()
            for line in tables.lines_of(connection, table):
                digest.add(line)
            values[table.name] = (digest.lines, digest.sha256)
    return values


def objects(app: Flask) -> dict[str, bytes]:
    with app.app_context():
        store = drivers.storage
        return {found.key: b"".join(store.get(found.key)) for found in store.list()}


def histories(app: Flask) -> dict[str, object]:
    with app.app_context():
        bundles = drivers.git.local.bundles
        return {name: bundles.described(name) for name in bundles.names()}
