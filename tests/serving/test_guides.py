"""The first tour of the README and the guides in `docs/guides`, run as written against the service that `make run` starts."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.serving.member import Member
from tests.serving.processes import ROOT, Service, running
from tests.serving.readme import comparable, steps, steps_of
from tests.support.doubles.ai import AiDouble, say
from tests.support.doubles.server import Reply
from tests.support.doubles.webhook_receiver import WebhookReceiver
from tests.support.servers.git_daemon import git_daemon

FOLDER = ROOT / "docs" / "guides"
DECAP = """\
backend: {name: git-gateway, branch: main}
media_folder: static/uploads
public_folder: /uploads
collections:
  - name: posts
    label: Posts
    folder: content/posts
    fields:
      - {name: title, label: Title, widget: string}
      - {name: date, label: Date, widget: datetime}
      - {name: body, label: Body, widget: markdown}
"""
CONNECTED = """
PROJECT=$(call $API/project/orgs/$ORG | get 0.project_id)
until [ "$(call $API/project-content/$PROJECT | get status)" = ready ]; do sleep 0.2; done
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run the service with a model that replies with one greeting."""
    with AiDouble(say("Hel", "lo")) as model:
        settings = {
            "AI_PROVIDER": "openai",
            "AI_MODEL": "m",
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "operator",
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.1/32",
        }
        with running(tmp_path_factory.mktemp("guides"), **settings) as service:
            yield service


class Shell:
    """Shell for the commands of the documentation."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env

    def run(self, commands: str) -> str:
        """Run commands in the project folder and return their output."""
        script = f"set -euo pipefail\n{commands}".replace(".venv/bin/flask", "flask")
        done = subprocess.run(
            ["bash", "-c", script], cwd=ROOT, env=self._env, capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def assert_documented_output(self, blocks: Sequence[tuple[str, str]]) -> None:
        """Run pairs of commands and documented output, and compare the output."""
        output = self.run("\n".join(f"{commands}\necho @@@@" for commands, _ in blocks))
        for (commands, expected), actual in zip(blocks, output.split("@@@@\n"), strict=False):
            assert comparable(actual) == comparable(expected), commands


@pytest.fixture(scope="module")
def shell(service: Service) -> Shell:
    """A shell in the project folder."""
    return Shell(service.env)


def delete_note(owner: Member) -> None:
    """Delete the file that the tour adds. The guide for front ends contains the number of files."""
    url = f"/api/v1/project-content/{owner.project}"
    files = [{"path": "content/posts/note.md", "action": "delete"}]
    owner.call(f"{url}/commit", {"message": "Delete", "base_sha": owner.call(url)["commit_sha"], "files": files})


@pytest.mark.server
class TestTour:
    def test_tour_steps_print_the_documented_output(self, service: Service, shell: Shell, tmp_path: Path) -> None:
        service.wait_for("job=content.index")  # Wait for the first index of the demo.
        saved = f"{tmp_path}/save.json"
        blocks = steps("Five minutes with curl")
        shell.assert_documented_output([(text.replace("/tmp/galley-save.json", saved), out) for text, out in blocks])
        delete_note(Member(service))


@pytest.mark.server
class TestGuides:
    @pytest.mark.parametrize("name", ["own-site", "team"])
    def test_guide_steps_print_the_documented_output(self, shell: Shell, name: str) -> None:
        shell.assert_documented_output(steps_of((FOLDER / f"{name}.md").read_text()))

    def test_site_is_built_by_a_job_by_a_hook_and_from_a_mirror(self, shell: Shell, tmp_path: Path) -> None:
        mirror = tmp_path / "mirror" / "site.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(mirror)], check=True)
        with closing(WebhookReceiver()) as host, git_daemon(mirror.parent, accepts_pushes=True) as daemon:
            text = (FOLDER / "publish.md").read_text()
            for name, value in {
                "https://api.netlify.com/build_hooks/YOUR_HOOK": f"{host.url}/build_hooks/1",
                "https://github.com/OWNER/SITE.git": f"{daemon}/site.git",
            }.items():
                assert name in text
                text = text.replace(name, value)
            shell.assert_documented_output(steps_of(text))
            assert [call.body for call in host.received("build_hooks/1")] == [b""]

    def test_step_of_a_deploy_hook_that_fails_ends(self, shell: Shell) -> None:
        create, token, *_ = steps_of((FOLDER / "publish.md").read_text())
        hook = next(
            commands for commands, _ in steps_of((FOLDER / "publish.md").read_text()) if "HOOK_URL=" in commands
        )
        commands = create[0].replace("publisher", "refused") + token[0]
        with closing(WebhookReceiver()) as host:
            host.replies["build_hooks/1"] = [Reply(503)]
            url = f"{host.url}/build_hooks/1"
            output = shell.run(commands + hook.replace("https://api.netlify.com/build_hooks/YOUR_HOOK", url))
        assert output.splitlines()[-2:] == ["webhook.test", "waiting"]

    def test_migration_from_decap_adopts_its_schema(self, shell: Shell, tmp_path: Path) -> None:
        site = tmp_path / "site"
        (site / "content" / "posts").mkdir(parents=True)
        (site / "content" / "posts" / "hello.md").write_text("---\ntitle: Hello\ndate: 2026-01-02\n---\n\nHello.\n")
        (site / "static" / "admin").mkdir(parents=True)
        (site / "static" / "admin" / "config.yml").write_text(DECAP)
        prelude = [commands for commands, _ in steps_of((FOLDER / "own-site.md").read_text())[:2]]
        connect, *rest = re.findall(r"```console\n(.*?)```", (FOLDER / "migrate.md").read_text(), re.DOTALL)
        script = "\n".join([*prelude, connect, CONNECTED, *(f"echo @@@@\n{commands}" for commands in rest)])
        for name, value in {
            "you@example.org": "moved@example.org",
            "you/site": "moved/site",
            "https://github.com/OWNER/SITE.git": str(site),
        }.items():
            script = script.replace(name, value)
        paths, schema, entries, adopted = shell.run(script).split("@@@@\n")[1:]
        assert paths.startswith("prj_")
        assert json.loads(schema)["result"]["source"] == {"kind": "decap", "path": "static/admin/config.yml"}
        assert json.loads(schema)["result"]["problems"] == []
        listed, without_title = (json.loads(line)["result"] for line in entries.replace("}{", "}\n{").splitlines())
        assert [one["path"] for one in listed] == ["content/posts/hello.md"]
        assert without_title == []
        assert adopted == "main\n"

    def test_deployment_checks_and_backup_run_as_written(self, service: Service, shell: Shell, tmp_path: Path) -> None:
        text = (FOLDER / "one-machine.md").read_text()
        commands = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL))
        commands = commands.replace("https://cms.example.org", service.base).replace("/backups/", f"{tmp_path}/")
        output = shell.run(f'run() {{ "$@"; }}\n{commands}')
        assert "server.port" in output
        assert "Saved " in output
        assert len(list(tmp_path.glob("*/manifest.json"))) == 1

    def test_python_client_prints_the_documented_output(self, shell: Shell, tmp_path: Path) -> None:
        guide = (FOLDER / "front-end.md").read_text()
        program = tmp_path / "client.py"
        program.write_text("\n\n".join(re.findall(r"```python\n(.*?)```", guide, re.DOTALL)))
        start = next(iter(re.findall(r"```console\n(.*?)```", guide, re.DOTALL)))
        output = shell.run(start.replace("python3 client.py", f"{sys.executable} {program}"))
        assert [output] == re.findall(r"```\n(Project: .*?)```", guide, re.DOTALL)
