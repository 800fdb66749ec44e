"""Tests of endless lists, truncated trees and invalid heads. They must not change the index.

The tests use the running service. Run them with `make faults`.
"""

from urllib.parse import urlencode

import pytest

from tests.faults.git_responses import EVER, HEAD, HOSTS, LIST, TREE
from tests.faults.hosted_deployment import HostedDeployment, HostedWorkload
from tests.support.doubles.server import Fault, Reply


class TestLists:
    @pytest.mark.parametrize("host", HOSTS)
    def test_endless_branch_pages_return_502(self, deployment: HostedDeployment, host: str) -> None:
        workload = HostedWorkload(deployment, host=host)
        link = {"Link": f'<{workload.double.url}/x?{urlencode({"page": 2, "per_page": 100})}>; rel="next"'}
        with workload.with_faults(Fault(LIST, times=EVER, reply=Reply(200, [], link))):
            reply = workload.ask(workload.owner, "GET", f"/project/{workload.project}/branches")
            assert (reply.status, reply.code) == (502, "UPSTREAM_BROKEN")
            assert len(workload.double.calls(LIST)) <= 4
        workload.recover()
        assert workload.check() == []

    def test_endless_tree_pages_keep_the_index(self, deployment: HostedDeployment) -> None:
        workload = HostedWorkload(deployment, host="gitlab")
        before = workload.current_tree()
        entry = {"id": "1" * 40, "name": "x", "type": "blob", "path": "x", "mode": "100644"}
        link = {"Link": f'<{workload.double.url}/x?page_token=eA&per_page=100&pagination=keyset>; rel="next"'}
        with workload.with_faults(Fault(TREE["gitlab"], times=EVER, reply=Reply(200, [entry], link))):
            assert workload.run_during_fault()[0].status == 502
            assert workload.current_tree() == before
        workload.recover()
        assert workload.check() == []

    def test_truncated_tree_is_read_by_folder_and_never_indexed_partially(self, deployment: HostedDeployment) -> None:
        workload = HostedWorkload(deployment, host="github")
        with workload.with_faults():
            workload.double.tree_entries = 2  # type: ignore[attr-defined]
            try:
                assert workload.run_during_fault()[0].status == 201
                workload.follow()
            finally:
                del workload.double.tree_entries  # type: ignore[attr-defined]
        before = workload.current_tree()
        cut = Reply(200, {"sha": "1" * 40, "url": "http://127.0.0.1/t", "tree": [], "truncated": True})
        with workload.with_faults(
            Fault(TREE["github"], times=EVER, reply=cut), Fault(r"GET .*/compare/", times=EVER, reply=Reply(500))
        ):
            assert workload.run_during_fault()[0].status == 502
            assert workload.current_tree() == before
        workload.recover()
        assert workload.check() == []

    def test_unknown_head_keeps_the_index(self, deployment: HostedDeployment) -> None:
        workload = HostedWorkload(deployment, host="github")
        before = workload.current_tree()
        unknown_head = Reply(200, {"ref": "refs/heads/main", "object": {"type": "commit", "sha": "2" * 40, "url": "u"}})
        with workload.with_faults(Fault(HEAD["github"], times=EVER, reply=unknown_head)):
            reply = workload.run_during_fault()[0]
            assert reply.status in (404, 409, 422, 502)
            assert workload.current_tree() == before
        workload.recover()
        assert workload.check() == []
