"""Test of a worker that is killed while it builds sites: each build ends, and each stored file has its content.

`GALLEY_LONG=1` kills it 40 times, which takes about ten minutes. Run it with `make faults`.
"""

import os
import random
import time
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from app.core import clock
from app.extensions import db, drivers
from app.models.site_build import UNFINISHED, SiteBuild, SiteBuildFile
from app.resources.site_build.verification import compare
from tests.faults.kills import Site
from tests.support.servers.service import Service

KILLS = 40 if os.environ.get("GALLEY_LONG") else 6
LONGEST_S, PATIENCE_S = 3.0, 600
SCRIPT = b"""
import pathlib, time
out = pathlib.Path("out"); out.mkdir()
for number in range(200):
    (out / f"{number}.html").write_text(f"<h1>{number % 50}</h1>" + pathlib.Path("a.md").read_text())
time.sleep(0.5)
"""
FILES = {
    ".galley.yml": b"preview:\n  command: [python3, -m, http.server]\n  build: [python3, build.py]\n  output: out\n",
    "build.py": SCRIPT,
}


def test_builds_end_after_kills_of_the_worker(tmp_path: Path) -> None:
    generator = random.Random(7)
    with Service(tmp_path, BUILD_PROCESSES="1") as service:
        site = Site(service)
        site.repository.commit(FILES)
        client, ids = service.client(site.owner), []
        try:
            for number in range(KILLS):
                head = site.repository.commit({"a.md": f"Text {number}\n".encode()})
                path = f"{service.url}/api/v1/project/{site.project}/builds"
                answer = client.post(path, json={"commit_sha": head}, timeout=30)
                assert answer.status_code == 201, answer.text
                ids.append(answer.json()["result"]["id"])
                time.sleep(generator.uniform(0, LONGEST_S))
                site.worker.kill()
                site.worker.wait(10)
                site.start_worker()
            _wait_for_the_end(service)
        finally:
            site.close()
        with service.app.app_context():
            rows = db.session.scalars(sa.select(SiteBuild).where(SiteBuild.id.in_(ids))).all()
            states = {row.id: str(row.state) for row in rows}
            files = dict(
                db.session.execute(
                    sa.select(SiteBuildFile.build_id, sa.func.count()).group_by(SiteBuildFile.build_id)
                ).all()
            )
            result = compare(drivers.storage, before=clock.now() + timedelta(days=1))
    assert set(states) == set(ids)
    assert set(states.values()) <= {"ready", "failed"}
    assert {files[build_id] for build_id, state in states.items() if state == "ready"} <= {200}
    assert [build_id for build_id in files if states[build_id] != "ready"] == []
    assert result.missing == []
    print(f"\n{KILLS} kills: {sorted(states.values())}, {len(result.unreferenced)} contents without a row")


def _wait_for_the_end(service: Service) -> None:
    ends = time.monotonic() + PATIENCE_S
    unfinished = sa.select(sa.func.count()).select_from(SiteBuild).where(SiteBuild.state.in_(UNFINISHED))
    while time.monotonic() < ends:
        with service.app.app_context():
            if not db.session.scalar(unfinished):
                return
        time.sleep(1)
    raise AssertionError("a build did not end")
