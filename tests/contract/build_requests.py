"""Valid requests for builds: a ready build of a project with one file."""

import secrets
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from app.core.ids import new_id
from app.extensions import db
from app.models.base import utcnow_ms
from app.models.change_set import ChangeSet
from app.models.site_build import BuildState, SiteBuild, SiteBuildFile
from tests.contract.scene import Scene
from tests.support.world import Browser

Key = tuple[str, str]
BUILD = "/build/:build_id"


def _request(scene: Scene, _who: Browser) -> dict[str, Any]:
    return {"commit_sha": scene.repo.head()}


BODIES = {("POST", "/project/:projectId/builds"): _request}


def ids_of(scene: Scene, key: Key) -> dict[str, str]:
    """Return the path variables: a new build of project P."""
    return {"build_id": create_build(scene)} if key[1].startswith(BUILD) else {}


def create_build(scene: Scene) -> str:
    """Create a ready build."""
    build_id = new_id("bld")
    with scene.app.app_context():
        db.session.add(_build(scene, build_id, secrets.token_hex(20)))
        db.session.commit()
    return build_id


def _build(scene: Scene, build_id: str, commit_sha: str) -> SiteBuild:
    now = utcnow_ms()
    return SiteBuild(
        id=build_id,
        project_id=scene.project,
        user_id=scene.extra.id,
        commit_sha=commit_sha,
        label=secrets.token_hex(16),
        state=BuildState.READY,
        files=12,
        size=48_200,
        stored=3,
        started_at=now,
        ended_at=now,
        expires_at=now,
    )


def with_changed_page(scene: Scene, _key: Key, _who: Browser) -> Iterator[dict[str, Any]]:
    """Build the newest set and its base, so that one page is changed."""
    with scene.app.app_context():
        row = db.session.scalars(sa.select(ChangeSet).order_by(ChangeSet.id.desc()).limit(1)).one()
        for sha, digest in ((row.base_sha, "1" * 32), (row.head_sha, "2" * 32)):
            build = _build(scene, new_id("bld"), sha)
            db.session.add(build)
            db.session.flush()
            page = {"path": "hours/index.html", "mimetype": "text/html", "title": "Opening hours", "size": 2_400}
            digests = {"sha256": digest * 2, "content_digest": digest, "frame_digest": digest}
            db.session.add(SiteBuildFile(build_id=build.id, project_id=scene.project, **page, **digests))
        db.session.commit()
    yield {}


def with_listed_build(scene: Scene, _key: Key, _who: Browser) -> Iterator[dict[str, Any]]:
    """Send the list of builds after one was created."""
    create_build(scene)
    yield {}
