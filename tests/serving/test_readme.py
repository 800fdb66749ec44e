"""The first tour of the README, run as written against the service that `make run` starts."""

import subprocess
from pathlib import Path

from tests.serving.processes import ROOT, running
from tests.serving.readme import comparable, steps


class TestTour:
    def test_tour_steps_print_the_documented_output(self, tmp_path: Path) -> None:
        told = steps("Five minutes with curl")
        script = "set -euo pipefail\n" + "\n".join(f"{commands}\necho @@@@" for commands, _ in told)
        script = script.replace("/tmp/galley-save.json", f"{tmp_path}/save.json").replace(".venv/bin/flask", "flask")
        with running(tmp_path) as service:
            service.wait_for("job=content.index")  # Wait for the first index of the demo.
            env = service.env | {"PATH": f"{ROOT}/.venv/bin:{service.env['PATH']}"}
            done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed = done.stdout.split("@@@@\n")
        for (_, expected), actual in zip(told, printed, strict=False):
            assert comparable(actual) == comparable(expected)
