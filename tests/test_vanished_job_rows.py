"""Tests of jobs whose object is deleted between two statements. No run fails."""

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa
from flask import Flask
from structlog.testing import capture_logs

from app.core.jobs import registry
from app.drivers.jobs.port import JobRun
from app.extensions import db, keyring
from app.models.base import utcnow_ms
from app.models.git_credential import GitRevocation
from app.models.login import CodePurpose, OneTimeCode
from app.models.media import MediaAsset
from app.models.project import LocalRepository, Provider, RepositoryImport
from app.models.project_content import ContentIndex
from app.models.sandbox import PreviewState, Sandbox
from app.models.user import User
from app.resources.git_provider import token_encryption
from app.security.secrets import associated_data
from app.worker import JobRunner
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.applications import application, settings_for
from tests.support.databases import another_database
from tests.support.interleaving import before_statement, deletion
from tests.support.world import World

pytestmark = pytest.mark.slow

MAX_STATEMENTS = 60


@pytest.fixture(scope="module")
def app(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Return an application of this module. The periodic jobs process the rows of every project."""
    home = tmp_path_factory.mktemp("vanished-rows")
    with another_database(store, home) as url, application(settings_for(home, url)) as flask_app:
        yield flask_app


Target = tuple[str, dict[str, object]]
"""The id of the row that is deleted during a run, and the arguments of the job."""


def index_of(site: Site) -> str:
    statement = sa.select(ContentIndex.id).where(ContentIndex.project_id == site.project)
    return str(db.session.scalars(statement).one())


def of_index(site: Site) -> Target:
    return site.project, {"index_id": index_of(site)}


def of_every_index(site: Site) -> Target:
    site.repo.commit({"content/new.md": b"new"})
    return site.project, {}


def of_pushed_index(site: Site) -> Target:
    site.world.work_off()
    site.repo.commit({"content/new.md": b"# New\n\n[link](https://example.com/)\n", "content/about.md": None})
    return site.project, {"index_id": index_of(site)}


def of_indexed(site: Site) -> Target:
    """Return the index of a branch without its followers: its tree and its texts are missing."""
    site.world.work_off()
    index = db.session.get_one(ContentIndex, index_of(site))
    index.snapshot_sha = index.snapshot_key = index.described_sha = index.shaped_sha = None
    for table in ("content_texts", "content_links", "content_fields", "content_shapes"):
        db.session.execute(sa.text(f"DELETE FROM {table} WHERE project_id = :id"), {"id": site.project})
    return site.project, {"index_id": index.id}


def of_missing_followers(site: Site) -> Target:
    return of_indexed(site)[0], {}


def of_code(site: Site, purpose: CodePurpose, **arguments: object) -> Target:
    user = db.session.get_one(User, site.owner.id)
    user.email_verified = purpose != CodePurpose.VERIFY_EMAIL
    code = OneTimeCode(email_key=user.email_key, purpose=purpose, user_id=user.id)
    db.session.add(code)
    db.session.flush()
    return site.owner.id, {"code_id": code.id, "language": "en", **arguments}


def of_verification(site: Site) -> Target:
    return of_code(site, CodePurpose.VERIFY_EMAIL)


def of_reset(site: Site) -> Target:
    return of_code(site, CodePurpose.RESET_PASSWORD, page="https://cms.example.org/reset")


def of_import(site: Site) -> Target:
    db.session.execute(sa.delete(LocalRepository).where(LocalRepository.name == site.name))
    name = f"{site.organization}/clone"
    site.repo.git("clone", "--bare", "--quiet", ".", str(site.world.git_root / f"{name}.git"))
    db.session.add(LocalRepository(name=name, organization_id=site.organization))
    row = RepositoryImport(
        organization_id=site.organization,
        user_id=site.owner.id,
        url="https://git.example.org/clone.git",
        repository=name,
        project_name="Clone",
    )
    db.session.add(row)
    db.session.flush()
    return site.owner.id, {"import_id": row.id}


def of_revocation(_site: Site) -> Target:
    row = GitRevocation(provider=Provider.GITHUB, kind=token_encryption.REFRESH, token_secret="")
    db.session.add(row)
    db.session.flush()
    aad = associated_data(token_encryption.REVOCATIONS, row.id, "token")
    row.token_secret = keyring.encrypt("token", aad=aad)
    return row.id, {"revocation_id": row.id}


def of_sandbox(site: Site) -> Target:
    values = {"label": site.project, "node": "a", "expires_at": utcnow_ms() - timedelta(minutes=1)}
    db.session.add(Sandbox(project_id=site.project, user_id=site.owner.id, state=PreviewState.RUNNING, **values))
    return site.project, {}


def of_asset(site: Site) -> Target:
    old = utcnow_ms() - timedelta(days=3)
    values = {"mimetype": "image/webp", "size": 1, "width": 1, "height": 1, "hash": "0" * 64, "stored_at": old}
    asset = MediaAsset(key=f"users/{site.owner.id}.webp", uploader_id=site.owner.id, created_at=old, **values)
    db.session.add(asset)
    db.session.flush()
    return asset.id, {}


CASES: dict[str, tuple[str, str, Callable[[Site], Target]]] = {
    "index": ("content.index", "projects", of_index),
    "index-push": ("content.index", "projects", of_pushed_index),
    "tree": ("content.snapshot", "projects", of_indexed),
    "texts": ("content.describe", "projects", of_indexed),
    "missing": ("content.complete", "projects", of_missing_followers),
    "follow": ("content.follow_local", "projects", of_every_index),
    "code": ("auth.send_code", "users", of_verification),
    "reset": ("auth.send_reset", "users", of_reset),
    "import-user": ("project.import", "users", of_import),
    "revocation": ("git_provider.revoke", "git_revocations", of_revocation),
    "sandbox": ("sandbox.reap", "projects", of_sandbox),
    "media": ("media.sweep", "media_assets", of_asset),
}


WITH_REPOSITORY = ("index", "texts")


@pytest.mark.parametrize(
    ("case", "with_repository"), [*((case, False) for case in CASES), *((case, True) for case in WITH_REPOSITORY)]
)
def test_job_with_a_row_deleted_at_any_statement_does_not_fail(
    world: World, app: Flask, case: str, with_repository: bool
) -> None:
    name, table, arrange = CASES[case]
    url, runner = app.config["SETTINGS"].database.url, JobRunner(app, registry, lambda *_: None)
    for position in range(1, MAX_STATEMENTS):
        site = make_site(world, FILES, indexed=False)
        with app.app_context():
            row_id, arguments = arrange(site)
            db.session.commit()
        then = partial(shutil.rmtree, site.repo.folder) if with_repository else lambda: None
        action = deletion(url, table, row_id, then)
        with capture_logs() as lines, before_statement(app, position, action) as hook:
            runner(JobRun("1", name, arguments, 1))
        assert [line for line in lines if line["event"] == "job.failed" or line["log_level"] == "error"] == [], position
        world.drop_jobs()
        deletion(url, "projects", site.project)()
        if not hook.has_run:
            break
    else:
        raise AssertionError("the job runs more statements than the test covers")
