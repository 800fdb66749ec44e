"""Tests of the set-up of a checkout without a network."""

import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "deploy" / "bootstrap.py"
EMPTY = "# nothing\n"


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return the script after an installation in a checkout without requirements.

    The environment of the checkout had these requirements and lost its interpreter.
    """
    spec = importlib.util.spec_from_file_location("bootstrap", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ROOT = tmp_path_factory.mktemp("checkout")
    module.VENV = module.ROOT / ".venv"
    (module.ROOT / "requirements.txt").write_text(EMPTY)
    (module.VENV / "bin").mkdir(parents=True)
    (module.VENV / "bin" / "python").symlink_to(module.ROOT / "removed")
    (module.VENV / ".requirements.txt.sha256").write_text(hashlib.sha256(EMPTY.encode()).hexdigest())
    (module.VENV / "old").touch()
    module.install(module.ROOT / "requirements.txt")
    return module


class TestInstall:
    def test_installed_requirements_are_not_reinstalled(
        self, bootstrap: ModuleType, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bootstrap.install(bootstrap.ROOT / "requirements.txt")
        assert capsys.readouterr().out == ""

    def test_other_requirements_use_the_same_environment(
        self, bootstrap: ModuleType, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (bootstrap.ROOT / "requirements-dev.txt").write_text("# nothing either\n")
        bootstrap.install(bootstrap.ROOT / "requirements-dev.txt")
        assert capsys.readouterr().out == "Installing requirements-dev.txt …\n"

    def test_environment_without_interpreter_is_recreated(self, bootstrap: ModuleType) -> None:
        assert bootstrap.runs()
        assert not (bootstrap.VENV / "old").exists()

    def test_requirements_file_lists_every_dependency(self) -> None:
        check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
        assert check.returncode == 0, check.stdout


PIP = """
print("WARNING: Location 'file:///x' is ignored")
print("Collecting a==1", flush=True)
print("Processing ./b-1.whl", flush=True)
print("Installing collected packages: a, b")
print("ERROR: no space left")
raise SystemExit(%d)
"""


class TestInstalling:
    def test_progress_names_packages_and_remaining_time(
        self, bootstrap: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bootstrap, "SHOWN_EVERY_S", 0.0)
        assert bootstrap.installing([sys.executable, "-c", PIP % 0], 2) is None
        lines = capsys.readouterr().out.splitlines()
        assert [line.partition(", about")[0] for line in lines] == [
            "  1 of 2 packages",
            "  2 of 2 packages",
            "  2 of 2 packages are ready. Unpacking …",
        ]

    def test_failure_returns_the_lines_of_pip_without_warnings(self, bootstrap: ModuleType) -> None:
        lines = bootstrap.installing([sys.executable, "-c", PIP % 1], 2)
        assert lines[:2] + lines[-1:] == ["Collecting a==1", "Processing ./b-1.whl", "ERROR: no space left"]


class TestSetApplication:
    def test_set_application_makes_the_application_available_in_every_folder(
        self, bootstrap: ModuleType, tmp_path: Path
    ) -> None:
        bootstrap.set_application()
        assert flask_app(bootstrap, tmp_path) == str(bootstrap.ROOT / "wsgi.py")
        (tmp_path / "wsgi.py").touch()
        assert flask_app(bootstrap, tmp_path) == "None"


def flask_app(bootstrap: ModuleType, folder: Path) -> str:
    """Return FLASK_APP of a program in a folder."""
    command = [bootstrap.VENV / "bin" / "python", "-c", "import os; print(os.environ.get('FLASK_APP'))"]
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=True).stdout.strip()


class TestMissing:
    def test_missing_command_is_reported_with_its_package(self, bootstrap: ModuleType, tmp_path: Path) -> None:
        assert bootstrap.missing(bootstrap.SERVICE, str(tmp_path)) == ["git", "bubblewrap"]
