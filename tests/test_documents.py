"""Tests that the commands, paths and links that the documentation names exist."""

import re
from pathlib import Path

import click
import pytest

from app.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("docs/[dg]*/*.md")])
NAME = re.compile(r"[\w-]+\.(?:py|md|toml|html)\b|[A-Za-z_]\w+")
GROUPS = {command.name: command for command in COMMANDS}
TOP = {"app", "deploy", "docs", "migrations", "tests", ".ci"}
PLACEHOLDERS = {"app/x/y.py", "tests/x/test_y.py"}
"""Examples of a naming rule."""
OF_A_SITE = {"docs/requirements.txt"}
"""Files of an edited site, not of this project."""
GENERATED = {"docs/adr/index.md", "docs/tour.md", "docs/configuration.md"}
"""Pages that `deploy/site_pages.py` creates."""


def code_of(text: str) -> str:
    """Return the code blocks and the code spans of a page."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", text)])


def is_command(name: str, subcommand: str) -> bool:
    """Return True if `flask` has the command. The commands of `flask db` belong to Flask-Migrate."""
    command = GROUPS.get(name)
    return name == "db" or (
        command is not None and (not isinstance(command, click.Group) or subcommand in ("", *command.commands))
    )


def test_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = {path.parent.name for path in (ROOT / "app").glob("*/__init__.py")}
    assert {name for name in packages if f"`app/{name}`" not in text} == set()


def test_names_in_the_recipes_exist() -> None:
    text = (ROOT / "docs" / "howto.md").read_text()
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))
    folders = [ROOT / name for name in ("app", "tests", "docs", "deploy")]
    files = [
        file for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".md", ".toml", ".html")
    ]
    sources = {word for file in files if file.suffix == ".py" for word in re.findall(r"\w+", file.read_text())}
    known = sources | {file.name for file in [*files, *ROOT.iterdir()]}
    words = {name for span in spans if "/" not in span and " " not in span for name in NAME.findall(span)}
    assert len(words) > 50
    assert {name for name in words if name not in known} == set()


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
class TestDocuments:
    def test_targets_of_make_exist(self, page: Path) -> None:
        targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert set(re.findall(r"\bmake ([a-z][\w-]*)", code_of(page.read_text()))) <= targets

    def test_flask_commands_exist(self, page: Path) -> None:
        named = re.findall(r"\bflask ([a-z][\w-]*)(?: ([a-z][\w-]*))?", code_of(page.read_text()))
        assert [pair for pair in named if not is_command(*pair)] == []

    def test_paths_exist(self, page: Path) -> None:
        spans = re.findall(r"`((?:\.ci|\w+)/[\w./-]+)(?:::[\w:]+)?`", page.read_text())
        named = {span for span in spans if span.partition("/")[0] in TOP} - PLACEHOLDERS - OF_A_SITE
        assert {path for path in named if not (ROOT / path).exists()} == set()

    def test_links_to_files_exist(self, page: Path) -> None:
        links = re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", page.read_text())
        files = {(page.parent / link).resolve() for link in links} - {ROOT / name for name in GENERATED}
        assert {file for file in files if not file.exists()} == set()
