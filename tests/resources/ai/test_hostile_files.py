"""Tests that a model that obeys prompt injections cannot access anything outside the project."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.resources.ai.conftest import Limits
from tests.resources.ai.hostile import OWN, WAYS, Obedient, Targets, files
from tests.resources.ai.streams import of_kind, parts
from tests.resources.project_content.conftest import FILES, Site, make_site
from tests.support import factories
from tests.support.doubles.ai import AiDouble
from tests.support.doubles.server import Double
from tests.support.samples.gitrepo import SYMLINK
from tests.support.world import World

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

CANARY = "canary-outside-5512"
TOOLS = ["search_files", "read_file"]


class Outward:
    """Record of outbound activity of this process: connected ports and started programs."""

    def __init__(self) -> None:
        self.watching = False
        self.ports: set[int] = set()
        self.programs: list[str] = []
        sys.addaudithook(self._note)  # An audit hook cannot be removed.

    def _note(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.watching:
            return
        if event == "socket.connect" and isinstance(given[1], tuple):
            self.ports.add(given[1][1])
        elif event == "subprocess.Popen":
            self.programs.append(" ".join(map(str, given[1])))

    @contextmanager
    def watched(self) -> Iterator[None]:
        self.ports.clear()
        self.programs.clear()
        self.watching = True
        try:
            yield
        finally:
            self.watching = False


OUTWARD = Outward()


@pytest.fixture
def trap() -> Iterator[Double]:
    """Return a server that no code is expected to call."""
    made = Double()
    yield made
    made.close()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1].split("/")[0])


class TestHostileFiles:
    @pytest.mark.parametrize("way", WAYS)
    def test_obedient_model_receives_only_files_of_the_project(
        self, world: World, double: AiDouble, limits: Limits, trap: Double, tmp_path: Path, way: str
    ) -> None:
        limits.set(operator_tokens_a_day=10**9)
        site, targets, elsewhere = self.scene(world, trap, tmp_path, way)
        hostile = files(targets, way)
        assert len(hostile) == 6
        before = site.repo.head()
        for path in hostile:
            double.asked.clear()
            model = Obedient(trap.url)
            double.answer_to = model.answer
            with OUTWARD.watched(), structlog.testing.capture_logs() as lines:
                raw = self.ask(site, path)
            assert len(model.obeyed) >= 3, path
            assert OWN in raw, path
            self.assert_nothing_leaked(double, raw, path)
            database = {5432} & OUTWARD.ports
            assert OUTWARD.ports - database <= {port_of(double.root)}, path
            assert not [each for each in OUTWARD.programs for name in elsewhere if name in each], path
            assert {line["host"] for line in lines if line["event"] == "outbound.call"} == {double.root[7:]}, path
        assert trap.journal == []
        assert site.repo.head() == before

    @staticmethod
    def scene(world: World, trap: Double, tmp_path: Path, way: str) -> tuple[Site, Targets, list[str]]:
        """Return the project with its hostile files, their targets and the names of the other repositories."""
        secret = {"secret.md": CANARY.encode()}
        host_file = tmp_path / "secret.md"
        host_file.write_text(CANARY)
        strangers = make_site(world, FILES | secret)
        links = {"link-to-host": (SYMLINK, str(host_file).encode()), "link-up": (SYMLINK, str(tmp_path).encode())}
        site = make_site(world, FILES | links, indexed=False)
        name, _ = factories.repository(world, secret)
        sibling = factories.project(world, site.owner, site.organization, name)
        targets = Targets(sibling, strangers.project, name, "hidden", str(host_file), trap.url)
        site.repo.commit(secret, branch="hidden")
        site.repo.commit(secret)
        site.repo.commit({"secret.md": None, **files(targets, way)})
        world.work_off()
        return site, targets, [name, strangers.name]

    @staticmethod
    def ask(site: Site, path: str) -> str:
        said = [{"role": "user", "parts": [{"type": "text", "text": f"Read {path}"}]}]
        answer = site.owner.post("/api/ai/chat", {"projectId": site.project, "messages": said})
        stream_parts = parts(answer)
        assert stream_parts[-1]["type"] == "finish", stream_parts[-1]
        opened = {part["sourceId"] for part in of_kind(stream_parts, "source-document")}
        assert opened <= {path, "link-to-host", "link-up"}, opened
        return json.dumps(stream_parts, ensure_ascii=False)

    @staticmethod
    def assert_nothing_leaked(double: AiDouble, raw: str, path: str) -> None:
        """Assert that neither the reader nor the provider received foreign data and that the tools are unchanged."""
        assert CANARY not in raw, path
        system = {
            asked.body["messages"][0]["content"].partition("Look nothing more up")[0].rstrip() for asked in double.asked
        }
        assert len(system) == 1, path
        assert OWN not in next(iter(system))
        for asked in double.asked:
            assert CANARY not in json.dumps(asked.body), path
            assert (asked.path, asked.body["model"]) == ("/v1/chat/completions", "house-model")
            assert [tool["function"]["name"] for tool in asked.body["tools"]] == TOOLS, path
            assert asked.body["messages"][0]["role"] == "system"
            assert [m["role"] for m in asked.body["messages"]].count("system") == 1
