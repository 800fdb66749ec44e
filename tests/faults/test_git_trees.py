"""Lists that do not end, trees that are cut and heads that go astray: no index is made of them.

Played on the running service; run by `make faults`.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.doubles.server import Fault, Reply
from tests.faults.git_answers import EVER, HEAD, HOSTS, LIST, TREE
from tests.faults.hosted_plant import HostedLife, HostedPlant


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostedPlant]:
    with HostedPlant(tmp_path_factory.mktemp("hosted")) as made:
        assert isinstance(made, HostedPlant)
        yield made
        assert made.hosts.github.violations == []


class TestLists:
    @pytest.mark.parametrize("host", HOSTS)
    def test_pages_that_do_not_end_are_broken(self, plant: HostedPlant, host: str) -> None:
        life = HostedLife(plant, host=host)
        link = {"Link": f'<{life.double.url}/x?{urlencode({"page": 2, "per_page": 100})}>; rel="next"'}
        with life.met(Fault(LIST, times=EVER, reply=Reply(200, [], link))):
            told = life.ask(life.owner, "GET", f"/project/{life.project}/branches")
            assert (told.status, told.code) == (502, "UPSTREAM_BROKEN")
            assert len(life.double.calls(LIST)) <= 4
        life.recover()
        assert life.check() == []

    def test_tree_whose_pages_do_not_end_is_not_indexed(self, plant: HostedPlant) -> None:
        life = HostedLife(plant, host="gitlab")
        before = life.look()
        entry = {"id": "1" * 40, "name": "x", "type": "blob", "path": "x", "mode": "100644"}
        link = {"Link": f'<{life.double.url}/x?page_token=eA&per_page=100&pagination=keyset>; rel="next"'}
        with life.met(Fault(TREE["gitlab"], times=EVER, reply=Reply(200, [entry], link))):
            assert life.endure()[0].status == 502
            assert life.look() == before
        life.recover()
        assert life.check() == []

    def test_truncated_tree_is_read_by_folder_and_never_taken_for_whole(self, plant: HostedPlant) -> None:
        life = HostedLife(plant, host="github")
        with life.met():
            life.double.tree_entries = 2  # type: ignore[attr-defined]
            try:
                assert life.endure()[0].status == 201
                life.follow()
            finally:
                del life.double.tree_entries  # type: ignore[attr-defined]
        before = life.look()
        cut = Reply(200, {"sha": "1" * 40, "url": "http://127.0.0.1/t", "tree": [], "truncated": True})
        with life.met(
            Fault(TREE["github"], times=EVER, reply=cut), Fault(r"GET .*/compare/", times=EVER, reply=Reply(500))
        ):
            assert life.endure()[0].status == 502
            assert life.look() == before
        life.recover()
        assert life.check() == []

    def test_head_that_goes_astray_is_no_commit_of_the_index(self, plant: HostedPlant) -> None:
        life = HostedLife(plant, host="github")
        before = life.look()
        astray = Reply(200, {"ref": "refs/heads/main", "object": {"type": "commit", "sha": "2" * 40, "url": "u"}})
        with life.met(Fault(HEAD["github"], times=EVER, reply=astray)):
            told = life.endure()[0]
            assert told.status in (404, 409, 422, 502)
            assert life.look() == before
        life.recover()
        assert life.check() == []
