"""The guides in `docs/guides`, run as written against the service that `make run` starts."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.processes import ROOT, Service, running
from tests.serving.readme import comparable, steps_of
from tests.support.doubles.ai import AiDouble, say

FOLDER = ROOT / "docs" / "guides"
GUIDES = ("own-site", "team")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service with a model that replies with one greeting."""
    with AiDouble(say("Hel", "lo")) as model:
        settings = {
            "AI_PROVIDER": "openai",
            "AI_MODEL": "m",
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "operator",
        }
        with running(tmp_path_factory.mktemp("guides"), **settings) as service:
            yield service


@pytest.mark.server
class TestGuides:
    def test_guide_steps_print_the_documented_output(self, service: Service) -> None:
        for name in GUIDES:
            blocks = steps_of((FOLDER / f"{name}.md").read_text())
            script = "set -euo pipefail\n" + "\n".join(f"{commands}\necho @@@@" for commands, _ in blocks)
            env = service.env | {"PATH": f"{ROOT}/.venv/bin:{service.env['PATH']}"}
            done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True)
            assert done.returncode == 0, (name, done.stdout, done.stderr)
            for (commands, expected), actual in zip(blocks, done.stdout.split("@@@@\n"), strict=False):
                assert comparable(actual) == comparable(expected), (name, commands)

    def test_python_client_prints_the_documented_output(self, service: Service, tmp_path: Path) -> None:
        guide = (FOLDER / "front-end.md").read_text()
        program = tmp_path / "client.py"
        program.write_text("\n\n".join(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)))
        password = (service.home / "instance" / "demo_password").read_text().strip()
        env = service.env | {"GALLEY_URL": service.base, "GALLEY_PASSWORD": password}
        done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (done.stdout, done.stderr)
        expected = re.findall(r"```\n(Project: .*?)```", guide, re.DOTALL)
        assert [done.stdout] == expected
