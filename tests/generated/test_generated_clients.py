"""Clients that generators make from the served OpenAPI document, run against the service. `make clients` runs this file.

The generators are installed once outside the checkout. Without Node, Java or a package registry the tests are skipped.
`.ci/run` runs the tests of openapi-generator and a linter, and skips none of them.
"""

import json
import os
import re
import shutil
import subprocess
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.node import CACHE, packages
from tests.serving.processes import ROOT, Service, running
from tests.support.doubles.ai import AiDouble, say
from tests.support.programs import required_program

HERE = Path(__file__).parent
OUTPUT = """\
User: Olive Owner
Tree: main true
Saved: content/about.md
Conflict: 409 content/about.md
Resolved: content/about.md
Stream: Hello
"""
WITHOUT_STREAM = "".join(f"{line}\n" for line in OUTPUT.splitlines()[:3]) + "Conflict: 409 CONFLICT\n"
"""Output of the scripts for clients that cannot read events."""

TIMEOUT_S = 300


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the demo, whose model replies with one greeting."""
    with AiDouble(say("Hel", "lo")) as model:
        settings = {
            "AI_PROVIDER": "openai",
            "AI_MODEL": "m",
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "operator",
        }
        with running(tmp_path_factory.mktemp("generated"), **settings) as service:
            yield service


@pytest.fixture(scope="module")
def project(service: Service) -> Path:
    """A folder with the npm packages, the scripts and the served document."""
    folder = packages(HERE / "node")
    for file in (HERE / "node").iterdir():
        shutil.copy(file, folder)
    with urllib.request.urlopen(f"{service.base}/api/v1/openapi.json") as response:
        (folder / "openapi.json").write_bytes(response.read())
    return folder


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with the generator for Python."""
    folder = CACHE / "generated-python"
    program = folder / "bin" / "python"
    if not program.exists():
        venv.create(folder, with_pip=True)
    command = [program, "-m", "pip", "install", "-q", "-r", HERE / "python" / "requirements.txt"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        assert not os.environ.get("CI"), done.stderr
        pytest.skip(f"pip could not install the generator: {done.stderr[-300:]}")
    return program


def run(folder: Path, *command: str | Path) -> str:
    """Run a command and return its output."""
    return completed(folder, *command).stdout


def generate(folder: Path, *command: str | Path) -> str:
    """Run a generator and return its output. A warning is a failure: a part of the document may be missing."""
    done = completed(folder, *command)
    assert "warn" not in done.stderr.lower(), (command, done.stderr[-3000:])
    return done.stdout


def completed(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done


def tool(project: Path, name: str, *arguments: str | Path) -> str:
    """Run a program of the npm packages."""
    return run(project, program(project, name), *arguments)


def program(project: Path, name: str) -> Path:
    """Return the path of a program of the npm packages."""
    return project / "node_modules" / ".bin" / name


def sign_in(service: Service) -> tuple[str, str, str]:
    """Return the arguments of a script: URL, e-mail address and password."""
    return service.base, "owner@demo.example.org", (service.home / "instance" / "demo_password").read_text().strip()


def openapi_generator(project: Path, python: Path, name: str, output: str, *options: str) -> None:
    """Run a generator of openapi-generator, which needs Java."""
    required_program("java", package="default-jre-headless")
    command = (python.with_name("openapi-generator-cli"), "generate", "-i", "openapi.json", "-g", name, "-o", output)
    generate(project, *command, *options)


@pytest.mark.server
class TestGeneratedClients:
    def test_typescript_clients_compile_and_print_the_same(self, service: Service, project: Path) -> None:
        for folder in ("hey", "out"):
            shutil.rmtree(project / folder, ignore_errors=True)
        options = ("-o", "galley.ts", "--default-non-nullable", "false")
        generate(project, program(project, "openapi-typescript"), "openapi.json", *options)
        generate(project, program(project, "openapi-ts"))
        tool(project, "tsc", "-p", ".")
        for script in ("openapi-fetch.js", "hey-api.js"):
            assert run(project, "node", project / "out" / script, *sign_in(service)) == OUTPUT, script

    def test_typescript_client_of_orval_compiles_and_runs(self, service: Service, project: Path) -> None:
        shutil.rmtree(project / "out", ignore_errors=True)
        (project / "orval.gen.ts").unlink(missing_ok=True)
        generate(project, program(project, "orval"), "--config", "orval.config.mjs")
        self.compile_and_run(service, project, "orval")

    def test_typescript_client_of_swagger_typescript_api_compiles_and_runs(
        self, service: Service, project: Path
    ) -> None:
        shutil.rmtree(project / "sta", ignore_errors=True)
        command = (program(project, "swagger-typescript-api"), "generate", "-p", "openapi.json")
        generate(project, *command, "-o", "sta", "-n", "api.ts")
        self.compile_and_run(service, project, "swagger-typescript-api")

    def test_typescript_client_of_openapi_generator_compiles_and_runs(
        self, service: Service, project: Path, python: Path
    ) -> None:
        shutil.rmtree(project / "oag", ignore_errors=True)
        openapi_generator(project, python, "typescript-fetch", "oag", "--additional-properties=importFileExtension=.ts")
        self.compile_and_run(service, project, "openapi-generator")

    def compile_and_run(self, service: Service, project: Path, name: str) -> None:
        """Compile the script of a generator and compare its output."""
        options = ("--strict", "--target", "ES2023", "--lib", "ES2023,DOM,DOM.Iterable", "--types", "node")
        modules = ("--module", "NodeNext", "--moduleResolution", "NodeNext", "--rewriteRelativeImportExtensions")
        tool(project, "tsc", *options, *modules, "--skipLibCheck", "--outDir", f"out-{name}", f"{name}.ts")
        assert run(project, "node", project / f"out-{name}" / f"{name}.js", *sign_in(service)) == WITHOUT_STREAM

    def test_python_client_of_openapi_generator_runs(self, service: Service, project: Path, python: Path) -> None:
        folder = project / "oag-python"
        shutil.rmtree(folder, ignore_errors=True)
        openapi_generator(project, python, "python", "oag-python", "--package-name=galley_api")
        shutil.copy(HERE / "python" / "openapi_generator.py", folder)
        assert run(folder, python, "openapi_generator.py", *sign_in(service)) == WITHOUT_STREAM

    def test_models_of_datamodel_code_generator_read_responses(
        self, service: Service, project: Path, python: Path
    ) -> None:
        folder = project / "models"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        options = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel")
        output = ("--formatters", "builtin", "--output", folder / "galley_models.py")
        generator = python.with_name("datamodel-codegen")
        generate(project, generator, "--input", "openapi.json", *options, *output)
        shutil.copy(HERE / "python" / "datamodel_code_generator.py", folder)
        assert run(folder, python, "datamodel_code_generator.py", *sign_in(service)) == WITHOUT_STREAM

    def test_python_client_is_complete_and_typed(self, service: Service, project: Path, python: Path) -> None:
        folder = project / "python"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(HERE / "python" / "openapi_python_client.yaml", folder)
        generator = ("openapi_python_client", "generate", "--path", project / "openapi.json", "--meta", "none")
        options = ("--config", "openapi_python_client.yaml", "--output-path", folder / "galley_client")
        assert "Unable to process" not in generate(folder, python, "-m", *generator, *options)
        shutil.copy(HERE / "python" / "client.py", folder)
        run(folder, python, "-m", "mypy", "--strict", "client.py")
        assert run(folder, python, "client.py", *sign_in(service)) == OUTPUT


@pytest.mark.server
class TestDocument:
    def test_redocly_reports_no_problem(self, project: Path) -> None:
        report = json.loads(tool(project, "redocly", "lint", "openapi.json", "--format=json"))
        assert [(each["ruleId"], each["message"]) for each in report["problems"]] == []

    def test_spectral_reports_no_error(self, project: Path) -> None:
        severity = ("--ruleset", "spectral.yaml", "--fail-severity", "error", "--display-only-failures")
        report = json.loads(tool(project, "spectral", "lint", "openapi.json", *severity, "--format", "json", "--quiet"))
        assert report == []


class TestGuide:
    def test_typescript_of_the_guide_compiles(self) -> None:
        packages_folder = packages(HERE / "node")
        guide = (ROOT / "docs" / "guides" / "front-end.md").read_text()
        folder = packages_folder / "guide"
        folder.mkdir(exist_ok=True)
        names = []
        for number, block in enumerate(re.findall(r"```ts\n(.*?)```", guide, re.DOTALL)):
            title = re.match(r"// (\S+\.ts)\n", block)
            names.append(title[1] if title else f"page{number}.ts")
            (folder / names[-1]).write_text(block)
        assert {"vite.config.ts", "galley.ts"} <= set(names)
        options = ("--strict", "--noEmit", "--target", "ES2023", "--module", "ESNext", "--moduleResolution", "bundler")
        libraries = ("--lib", "ES2023,DOM,DOM.Iterable,DOM.AsyncIterable", "--skipLibCheck")
        tool(packages_folder, "tsc", *options, *libraries, *(folder / name for name in names))
