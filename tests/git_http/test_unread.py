"""Answers that a client does not read: they hold no lock, no process and no record of their user."""

import pytest

from app.core.jobs import registry
from app.drivers.jobs.port import JobRun
from app.extensions import db
from app.worker import JobRunner
from tests.git_http.client import GitClient, Site
from tests.git_http.raw_push import MANY, ReviewedSet
from tests.support.servers.service import Service


class TestPush:
    @pytest.mark.parametrize("version", [0, 2])
    def test_pusher_of_an_unread_answer_cannot_approve(self, site: Site, git: GitClient, version: int) -> None:
        made = ReviewedSet(site, git)
        with made.unread_push(version=version, branches=MANY):
            site.wait_for(lambda: made.is_moved)
            made.pusher.post(f"/change-set/{made.id}/reviews", {"verdict": "approve"}).fails(403, "OWN_REVIEW")

    def test_unread_answer_holds_no_lock_and_no_process(self, site: Site, git: GitClient, service: Service) -> None:
        made = ReviewedSet(site, git)
        with made.unread_push():
            site.wait_for(lambda: made.is_moved)
            file = {"action": "create", "path": "more.md", "content": "More\n"}
            body = {"message": "More", "base_sha": made.sha, "files": [file]}
            site.owner.post(f"/change-set/{made.id}/commit", body).ok(201)
            site.wait_for_no_process()
        assert "git.lock_timed_out" not in (service.home / "log").read_text()
        assert {entry["user_id"] for entry in site.log() if entry["commit_sha"] == made.sha} <= {made.pusher.id}

    def test_push_has_all_effects_although_the_answer_is_not_read(self, site: Site, git: GitClient) -> None:
        made = ReviewedSet(site, git)
        site.owner.get(f"/project-content/{site.project}?ref={made.branch}").ok()
        with made.unread_push():
            site.wait_for(lambda: made.is_moved)
            site.wait_for_no_process()
        assert {entry["user_id"] for entry in site.log() if entry["commit_sha"] == made.sha} == {made.pusher.id}


class TestFetch:
    @pytest.mark.one_database
    @pytest.mark.parametrize("version", [0, 2])
    def test_unread_names_hold_no_process(self, site: Site, version: int) -> None:
        site.add_tags(100_000)
        with site.listing(site.token("read"), version=version):
            site.wait_for(lambda: bool(site.processes()))
            site.wait_for_no_process()

    @pytest.mark.one_database
    def test_unread_pack_holds_no_process(self, site: Site) -> None:
        site.repo.commit({"large.bin": site.noise(16 << 20)})
        with site.unread_clone(site.token("read")) as processes:
            assert processes()
            site.wait_for_no_process()


class TestEffects:
    """The process of a push is killed before it stores the effects. A job that was enqueued with the permission follows."""

    def permitted(self, site: Site) -> list[dict[str, object]]:
        with site.world.app.app_context(), db.engine.connect() as connection:
            calls = site.world.app.extensions["jobs"].unfinished(connection)
            return [dict(call.args) for call in calls if call.name == "git_push.permitted"]

    def follow(self, site: Site) -> None:
        [arguments] = self.permitted(site)
        JobRunner(site.world.app, registry, lambda *_: None)(JobRun("1", "git_push.permitted", arguments, 1))

    def test_second_writer_does_not_hide_the_pusher(self, site: Site, git: GitClient) -> None:
        site.log()
        git.clone(site.url(site.token()))
        sha = git.commit("site", {"a.md": b"a\n"})
        git.ok("push", "--quiet", within="site")
        site.repo.commit({"b.md": b"b\n"})
        entries = {entry["commit_sha"]: entry["user_id"] for entry in site.log()}
        assert entries[sha] == site.owner.id
        assert len(entries) == 2

    def test_effects_are_stored_once(self, site: Site, git: GitClient) -> None:
        site.log()
        git.clone(site.url(site.token()))
        git.commit("site", {"a.md": b"a\n"})
        git.ok("push", "--quiet", within="site")
        before = site.log()
        self.follow(site)
        with site.world.app.app_context(), db.engine.connect() as connection:
            names = [call.name for call in site.world.app.extensions["jobs"].unfinished(connection)]
        assert "git_push.received" not in names
        assert site.log() == before

    def test_rewind_that_git_has_not_made_has_no_effect(self, site: Site, git: GitClient) -> None:
        site.log()
        git.clone(site.url(site.token()))
        older = site.head()
        newer = git.commit("site", {"a.md": b"a\n"})
        git.ok("push", "--quiet", within="site")
        before = site.log()
        update = {"updates": [["main", newer, older]], "user_id": site.owner.id, "token_id": "key_none"}
        arguments = {"repository": site.repository} | update
        JobRunner(site.world.app, registry, lambda *_: None)(JobRun("1", "git_push.received", arguments, 1))
        assert site.log() == before
