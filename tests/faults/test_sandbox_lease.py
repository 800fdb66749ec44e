"""Test of a complete lease on the real clock. It takes 15 minutes and runs with `GALLEY_LONG=1` only."""

import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.drivers.sandbox.machine import is_alive, jails_of, leftovers
from tests.serving.member import Member, host_of, root_of
from tests.serving.processes import Service, running

pytestmark = pytest.mark.skipif(not os.environ.get("GALLEY_LONG"), reason="takes a quarter of an hour")
REMOVED_WITHIN_S = 10
ROUNDING_S = 2


def remaining_s(reply: Any) -> float:
    """Return the seconds until the reported expiry. Service and test share a clock."""
    return datetime.fromisoformat(reply["expiresAt"]).timestamp() - time.time()


def is_removed(service: Service, owner: Member, preview: Any, processes: list[int]) -> bool:
    """Return True if the API and the machine have no remains of the preview."""
    name = preview["sandboxName"]
    replies = owner.record()["state"] == "stopped" and owner.get(host_of(preview)).status == 410
    return replies and not any(map(is_alive, processes)) and name not in leftovers(root_of(service))["folders"]


class TestLease:
    def test_lease_without_heartbeats_ends_after_ten_minutes(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            owner = Member(service)
            preview = owner.create()
            owner.follow(preview["previewUrl"])
            processes = jails_of(root_of(service), preview["sandboxName"])
            assert abs(remaining_s(preview) - 600) < ROUNDING_S + 5  # the response is sent when the preview runs
            capped = remaining_s(owner.beat())
            assert abs(capped - 600) < ROUNDING_S

            time.sleep(350)
            before = remaining_s(owner.record() | {"expiresAt": owner.record()["expires_at"]})
            beat = owner.beat()
            assert abs(remaining_s(beat) - before - 300) < ROUNDING_S

            time.sleep(max(0.0, remaining_s(beat) - 5))
            assert owner.get(host_of(preview)).status == 200
            while not is_removed(service, owner, preview, processes):
                assert remaining_s(beat) > -REMOVED_WITHIN_S
                time.sleep(0.2)
            print(f"\nlease: {capped:.0f} s after a first beat, gone {-remaining_s(beat):.1f} s after its end")
