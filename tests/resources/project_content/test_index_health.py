"""The state of all content indexes."""

import pytest
import sqlalchemy as sa
from flask import Flask

from app.core.errors import InvalidRequest
from app.extensions import db
from app.models.project_content import ContentIndex, IndexStatus
from app.resources.project_content.index.index_health import count_indexes, list_indexes
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support.world import World


def set_status(site: Site, status: IndexStatus) -> None:
    db.session.execute(sa.update(ContentIndex).where(ContentIndex.project_id == site.project).values(status=status))


def test_pages_contain_each_unhealthy_index_once(app: Flask, world: World) -> None:
    failed, stale, ready = (make_site(world, FILES) for _ in range(3))
    with app.app_context():
        set_status(failed, IndexStatus.FAILED)
        set_status(stale, IndexStatus.STALE)
        found, cursor = [], None
        while True:
            page = list_indexes(limit=1, cursor=cursor)
            found += page.indexes
            cursor = page.next_cursor
            if cursor is None:
                break
            assert len(page.indexes) == 1
        projects = [one.project_id for one in found]
        assert {failed.project, stale.project} <= set(projects)
        assert ready.project not in projects
        assert len(projects) == len(set(projects))
        (row,) = (one for one in found if one.project_id == failed.project)
        assert (row.status, row.branch, row.files) == (IndexStatus.FAILED, "main", len(FILES))
        db.session.rollback()


def test_counts_have_every_status(app: Flask, site: Site) -> None:
    with app.app_context():
        before = count_indexes()
        assert set(before) == set(IndexStatus)
        set_status(site, IndexStatus.FAILED)
        after = count_indexes()
        changed = {status: after[status] - before[status] for status in IndexStatus}
        assert changed == dict.fromkeys(IndexStatus, 0) | {IndexStatus.FAILED: 1, IndexStatus.READY: -1}
        db.session.rollback()


def test_cursor_of_another_list_is_refused(app: Flask) -> None:
    with app.app_context(), pytest.raises(InvalidRequest):
        list_indexes(limit=1, cursor="eDp5")
