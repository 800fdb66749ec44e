"""One lease as long as leases are, on the real clock: a quarter of an hour, so only with GALLEY_LONG=1."""

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
GONE_WITHIN_S = 10
ROUNDING_S = 2


def left_s(told: Any) -> float:
    """Seconds until what was told expires; service and test share a clock here."""
    return datetime.fromisoformat(told["expiresAt"]).timestamp() - time.time()


def is_gone(service: Service, owner: Member, preview: Any, processes: list[int]) -> bool:
    """Whether nothing of it is left, for those who ask and on the machine."""
    name = preview["sandboxName"]
    told = owner.record()["state"] == "stopped" and owner.get(host_of(preview)).status == 410
    return told and not any(map(is_alive, processes)) and name not in leftovers(root_of(service))["folders"]


class TestLease:
    def test_it_lasts_ten_minutes_and_what_heartbeats_add_and_is_then_gone(self, tmp_path: Path) -> None:
        with running(tmp_path) as service:
            owner = Member(service)
            preview = owner.create()
            owner.follow(preview["previewUrl"])
            processes = jails_of(root_of(service), preview["sandboxName"])
            assert abs(left_s(preview) - 600) < ROUNDING_S + 5  # the answer comes when it runs
            capped = left_s(owner.beat())
            assert abs(capped - 600) < ROUNDING_S

            time.sleep(350)
            before = left_s(owner.record() | {"expiresAt": owner.record()["expires_at"]})
            beat = owner.beat()
            assert abs(left_s(beat) - before - 300) < ROUNDING_S

            time.sleep(max(0.0, left_s(beat) - 5))
            assert owner.get(host_of(preview)).status == 200
            while not is_gone(service, owner, preview, processes):
                assert left_s(beat) > -GONE_WITHIN_S
                time.sleep(0.2)
            print(f"\nlease: {capped:.0f} s after a first beat, gone {-left_s(beat):.1f} s after its end")
