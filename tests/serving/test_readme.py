"""The README's tour, run as it stands against the service as `make run` starts it."""

import re
import subprocess
from pathlib import Path

from tests.serving.processes import ROOT, running

SHA, TIME = re.compile(r"\b[0-9a-f]{40}\b"), re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def steps() -> list[tuple[str, str]]:
    """(commands, what the README says they print) of the tour."""
    section = (ROOT / "README.md").read_text().split("## Five minutes with curl")[1].split("\n## ")[0]
    blocks = re.findall(r"```(\w*)\n(.*?)```", section, re.DOTALL)
    found: list[tuple[str, str]] = []
    for kind, text in blocks:
        if kind == "bash":
            found.append((text, ""))
        else:
            found[-1] = (found[-1][0], text)
    return found


def comparable(text: str) -> list[str]:
    """The lines of a step without what differs from run to run."""
    return [TIME.sub("TIME", SHA.sub("SHA", line)).rstrip() for line in text.splitlines() if line.strip()]


class TestTour:
    def test_every_step_prints_what_the_readme_says(self, tmp_path: Path) -> None:
        told = steps()
        script = "set -euo pipefail\n" + "\n".join(f"{commands}\necho @@@@" for commands, _ in told)
        script = script.replace("/tmp/galley-save.json", f"{tmp_path}/save.json").replace(".venv/bin/flask", "flask")
        with running(tmp_path) as service:
            service.wait_for("job=content.index")  # the demo's first index; a reader of the page is slower than that
            env = service.env | {"PATH": f"{ROOT}/.venv/bin:{service.env['PATH']}"}
            done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed = done.stdout.split("@@@@\n")
        for (_, expected), actual in zip(told, printed, strict=False):
            assert comparable(actual) == comparable(expected)
