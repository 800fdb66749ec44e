"""Tests of credentials that a Git host refuses. They are refreshed once, then the user must reconnect.

The tests use the running service and both hosts. Run them with `make faults`.
"""

import pytest

from tests.faults.git_responses import ALL, EVER, HOSTS
from tests.faults.hosted_deployment import HostedDeployment, HostedWorkload
from tests.faults.steps import FINE
from tests.support.doubles.server import Fault, Reply

RENEWAL = {"github": "POST /login/oauth/access_token", "gitlab": "POST /oauth/token"}


@pytest.mark.parametrize("host", HOSTS)
class TestCredential:
    def test_token_refused_once_is_renewed_once(self, deployment: HostedDeployment, host: str) -> None:
        workload = HostedWorkload(deployment, host=host)
        workload.wait_until_idle()
        for token in workload.tokens():
            workload.double.grants.pop(token)  # type: ignore[attr-defined]
        reply = workload.save()
        assert reply.status == 201
        assert len(workload.double.calls(RENEWAL[host])) == 1
        assert [call.status for call in workload.double.calls(ALL)].count(401) == 1
        workload.recover()
        assert workload.check() == []

    def test_token_refused_always_sets_needs_reconnect(self, deployment: HostedDeployment, host: str) -> None:
        workload = HostedWorkload(deployment, host=host)
        workload.wait_until_idle()
        with workload.with_faults(
            Fault(r"/api/(?!app/)", times=EVER, reply=Reply(401, {"message": "Bad credentials"}))
        ):
            reply = workload.save()
            assert (reply.status, reply.code) == (409, "NEEDS_RECONNECT")
            assert len(workload.double.calls(RENEWAL[host])) == 1
            asked = len(workload.double.journal)
            assert workload.save().code == "NEEDS_RECONNECT"
            # The first save takes 5 s, and after this pause the service tries the connection once more.
            assert len(workload.double.journal) < 3 * asked
            assert workload.run_during_fault()[0].code == "NEEDS_RECONNECT"
        result = workload.ask(workload.owner, "GET", f"/project/{workload.project}")
        assert result.result["connection"]["status"] == "needs_reconnect"
        workload.connect()
        assert workload.ask(workload.owner, "PATCH", f"/project/git/{workload.project}", json={}).status == FINE
        workload.recover()
        assert workload.check() == []
