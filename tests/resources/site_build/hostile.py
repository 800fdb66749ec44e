"""Runs a hostile build next to an ordinary one, and checks that it reached nothing outside of its sandbox."""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from app.core import clock
from app.core.limits import MIB
from app.extensions import db, drivers
from app.models.site_build import SiteBuild
from app.resources.site_build.page_comparison import compare_page
from app.resources.site_build.verification import compare
from config import Settings
from tests.preview_proxy.test_middleware import Window
from tests.resources.sandbox.conftest import make_site
from tests.resources.site_build.test_builds import Builds
from tests.support.samples.hostile_builds import PRELUDE, HostileBuild
from tests.support.world import World

COMMANDS = "preview:\n  command: [python3, -m, http.server]\n  build: [python3, build.py]\n  output: {}\n"
CANARY = "canary-of-another-site"
PLAIN = {".galley.yml": COMMANDS.format("out").encode(), "build.py": PRELUDE.encode(), "a.txt": CANARY.encode()}
HEADERS = {"X-Content-Type-Options": "nosniff", "X-Robots-Tag": "noindex", "Referrer-Policy": "no-referrer"}


class Hostile:
    """The site of a hostile build, and the site of another organization that is built after it."""

    def __init__(self, world: World, other: Builds, tried: HostileBuild) -> None:
        self.world, self.app, self.other, self.tried = world, world.app, other, tried
        self.settings: Settings = self.app.config["SETTINGS"]
        self.builds = Builds(make_site(world, self._files()))

    def _files(self) -> dict[str, Any]:
        data = str(self.settings.server.instance_dir)
        script = self.tried.script.replace("{data}", data)
        own = {".galley.yml": COMMANDS.format(self.tried.output).encode(), "build.py": (PRELUDE + script).encode()}
        return own | dict(self.tried.files)

    def run(self) -> dict[str, Any]:
        """Build both sites. Return the hostile build."""
        self.other.site.repo.commit({"b.txt": os.urandom(8)})
        ids = [builds.request().ok(201)["id"] for builds in (self.builds, self.other)]
        build = self.builds.finished(ids[0])
        following = self.other.finished(ids[1])
        assert following["state"] == "ready", following
        self._check_end(build)
        self._check_reach(ids)
        if build["state"] == "ready":
            self._check_pages(build)
        if self.tried.is_compared is not None:
            self._check_comparison(build["id"], following["id"])
        return build

    def _check_end(self, build: dict[str, Any]) -> None:
        if not self.tried.code:
            assert build["state"] == "ready", build
            return
        failure = build["failure"]
        assert (build["state"], failure["code"]) == ("failed", self.tried.code), build
        assert failure["hint"], failure
        told = " ".join(filter(None, (failure["message"], failure["hint"], failure["log_tail"])))
        assert self.tried.text in told, failure
        assert all(character.isprintable() or character in "\n\t\ufffd" for character in told)

    def _check_reach(self, build_ids: list[str]) -> None:
        """Check the stored contents, the log, and what remained of the sandbox."""
        contents = list(self._contents())
        with self.app.app_context():
            log = db.session.get_one(SiteBuild, build_ids[0]).log or ""
            stored = compare(drivers.storage, before=clock.now() + timedelta(days=1))
        own = f"/{self.builds.site.project}/"
        assert [key for key in (*stored.unreferenced, *stored.missing) if own in key] == []
        assert len(log) <= MIB
        for secret in self._secrets():
            assert secret not in log
            assert [len(content) for content in contents if secret.encode() in content] == []
        # A waiting build of another test starts when the node is free.
        names = [build_id.removeprefix("bld_") for build_id in build_ids]
        assert [held for held in self.builds.site.held() if any(name in held for name in names)] == []

    def _contents(self) -> Iterator[bytes]:
        for key in self.builds.objects():
            with self.app.app_context():
                yield b"".join(drivers.storage.get(key, start=0, length=MIB))

    def _secrets(self) -> list[str]:
        security, url = self.settings.security, self.settings.database.url
        return ["root:x:0:0", CANARY, security.secret_key, str(url), "GALLEY_TEST_PROCESS"]

    def _check_pages(self, build: dict[str, Any]) -> None:
        window = Window(self.app, {"previewUrl": build["url"]})
        window.enter()
        for path, content in self.tried.served.items():
            response = window.get(path, buffered=False)
            read = b"".join(response.response)
            assert read.startswith(content), (path, response.status, read[:200])
            assert {name: response.headers.get(name) for name in HEADERS} == HEADERS
            assert "\n" not in "".join(value for _, value in response.headers)
            response.close()
        for path in self.tried.missing:
            response = window.get(path)
            assert response.status_code in (301, 404), (path, response.status)
            assert CANARY not in response.text
            assert not response.headers.get("Location", "").startswith(("//", "http")), response.headers
        assert window.get("/").status_code == 200

    def _check_comparison(self, build_id: str, other_id: str) -> None:
        with self.app.app_context():
            rows = [db.session.get_one(SiteBuild, own) for own in (build_id, other_id)]
            compared = compare_page(*rows, "/", drivers.storage)
            assert (compared.changes is not None) is self.tried.is_compared
            assert "\0" not in compared.title
