"""Tests of the routes of preview records."""

from functools import partial

import pytest

from app.resources.project_preview.service import is_below
from tests.support.parallel import THREADS, statuses, together
from tests.support.workspace import Workspace

KEYS = {
    *("project_id", "sandbox_id", "sandbox_name", "preview_url", "urls", "state", "commit_sha", "failure"),
    *("expires_at", "last_used_at", "createdAt", "updatedAt"),
}


class TestPreviewRecord:
    def test_record_is_created_updated_and_deleted(self, workspace: Workspace) -> None:
        me, path = workspace.me, f"/project-preview/{workspace.project}"
        me.get(path).fails(404)
        assert me.delete(path).ok() == {"project_id": workspace.project, "deleted": True}
        forged = {"project_id": "prj_x", "sandbox_id": "sbx_x", "expires_at": "2099-01-01T00:00:00Z"}
        created = me.put(path, forged | {"state": "running", "sandbox_name": "demo"}).ok()
        assert set(created) == KEYS
        assert (created["project_id"], created["sandbox_id"], created["expires_at"]) == (workspace.project, None, None)
        changed = me.put(path, {"state": "failed", "urls": {"web": "http://preview.localhost/"}}).ok()
        assert (changed["sandbox_name"], changed["state"]) == ("demo", "failed")
        assert me.get(path).ok() == changed
        me.delete(path).ok()
        me.get(path).fails(404)

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("change", "path"),
        [
            ({"state": "flying"}, "state"),
            ({"urls": "x"}, "urls"),
            ({"urls": {"web": "javascript:alert(1)"}}, "urls.web"),
            ({"commit_sha": "abc"}, "commit_sha"),
            ({"preview_url": "https://evil.example.org/"}, "preview_url"),
            ({"preview_url": "javascript:alert(1)"}, "preview_url"),
        ],
    )
    def test_invalid_field_returns_400_with_path(
        self, workspace: Workspace, change: dict[str, object], path: str
    ) -> None:
        workspace.me.put(f"/project-preview/{workspace.project}", change).fails(400, "VALIDATION_FAILED", path)

    def test_parallel_updates_succeed(self, workspace: Workspace) -> None:
        path = f"/project-preview/{workspace.project}"
        requests = [partial(workspace.me.again().put, path, {"state": "running"}) for _ in range(THREADS)]
        assert statuses(together(requests)) == {200: THREADS}


class TestIsBelow:
    HOSTS = ("preview.localhost", "hosted.example.com")

    @pytest.mark.parametrize(
        "url",
        [
            "http://preview.localhost/",
            "https://a.b.preview.localhost/x?y#z",
            "http://demo.preview.localhost:8080/",
            "https://x.hosted.example.com",
            "HTTP://DEMO.PREVIEW.LOCALHOST/",
        ],
    )
    def test_host_or_subdomain_is_accepted(self, url: str) -> None:
        assert is_below(url, self.HOSTS)

    @pytest.mark.parametrize(
        "url",
        [
            "https://evil.example.org/",
            "https://preview.localhost.evil.example.org/",
            "https://evilpreview.localhost/",
            "http://demo.preview.localhost@evil.example.org/",
            "http://evil.example.org\\@preview.localhost/",
            "http://evil.example.org\\.preview.localhost/",
            "http://preview.localhost:evil/",
            "ftp://preview.localhost/",
            "//preview.localhost/",
            "http://preview.localhost/ x",
            "http://[::1/",
        ],
    )
    def test_other_url_is_rejected(self, url: str) -> None:
        assert not is_below(url, self.HOSTS)
