"""Random actions of an editor: each commit contains what the action says and nothing else, and Hugo has the same pages.

`GALLEY_SITES=FOLDER` runs them on each checkout of the folder, `GALLEY_ACTIONS=NUMBER` runs more actions.
"""

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath

import pytest
from werkzeug.test import TestResponse

from tests.console.test_editing import WHOLE_PATH, form_of
from tests.console.test_entry_folders import FILES as FOLDERS
from tests.console.test_organizations import submit
from tests.resources.project_content.conftest import Site, make_site
from tests.serving.test_console_screens import PNG
from tests.support.samples.editorial_sites import hugo_documentation
from tests.support.world import World

pytestmark = pytest.mark.one_database

ACTIONS, SEED, UNDONE = int(os.environ.get("GALLEY_ACTIONS", "15")), 7, 0.7

SHORTCODE = re.compile(r"\{\{[<%]\s*(/?[\w/-]+)")
PAGES = (".md", ".mdx", ".markdown")
CONFIGURATIONS = ("hugo.toml", "config.toml", "hugo.yaml", "config.yaml", "config/_default")
Files = dict[str, str]
"""The blobs of a commit by path."""


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SITES: dict[str, Callable[[], Mapping[str, bytes]]] = {
    "sections": lambda: FOLDERS | {"hugo.toml": b""},
    "documentation": hugo_documentation,
}
if os.environ.get("GALLEY_SITES"):
    SITES = {path.name: partial(files_of, path) for path in sorted(Path(os.environ["GALLEY_SITES"]).iterdir())}


def parent(path: str) -> str:
    return str(PurePosixPath(path).parent)


class HugoPages:
    """The pages that Hugo finds in a checkout of the site. There is no theme, so nothing is rendered."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        site.repo.git("worktree", "add", "--quiet", "--detach", str(folder), "main")
        names = [name for name in CONFIGURATIONS if list(folder.glob(f"**/{name}"))]
        self.root = min(folder.glob(f"**/{names[0]}"), key=lambda path: len(path.parts)) if names else None
        if self.root is not None:
            self.root = self.root.parents[self.root.name == "_default"]
        self.layouts = folder.with_name("layouts")
        names = set[str]().union(
            *(SHORTCODE.findall(path.read_text("utf-8", "replace")) for path in folder.rglob("*.md"))
        )
        for name in names:
            shortcode = self.layouts / "shortcodes" / f"{name.lstrip('/')}.html"
            shortcode.parent.mkdir(parents=True, exist_ok=True)
            shortcode.write_text("{{ .Inner }}" if f"/{name.lstrip('/')}" in names else "")

    def paths(self) -> set[str]:
        """Return the paths of the pages at the head of the branch, without those of sections."""
        program = shutil.which("hugo")
        if self.root is None or program is None:
            return set()
        subprocess.run(["git", "-C", self.folder, "checkout", "--quiet", "--detach", self.site.repo.head()], check=True)
        config = self.folder / "pages.toml"
        config.write_text(f'baseURL = "/"\nlayoutDir = "{self.layouts}"\n')
        command = [program, "list", "all", "--source", self.root, "--config", config]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        config.unlink()
        below = self.root.relative_to(self.folder)
        return {str(below / line.partition(",")[0]) for line in listed.splitlines()[1:] if line.startswith("content/")}


class Editor:
    """The owner of a site, who acts on random pages. `done` counts the actions and what was refused."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.random, self.done = site, random.Random(SEED), Counter[str]()
        self.base, self.pages = f"/console/projects/{site.project}", HugoPages(site, folder)

    def get(self, path: str) -> TestResponse:
        return self.site.owner.client.get(f"{self.base}{path}")

    def files(self, commit: str = "main") -> Files:
        return {path: sha for path, (_, _, sha, _) in self.site.repo.entries(commit).items()}

    def page(self) -> str:
        """Return the path of a page with a title."""
        found = self.site.repo.git("grep", "-lz", "^title:", "main").decode().split("\0")[:-1]
        paths = [path.removeprefix("main:") for path in found]
        return self.random.choice([path for path in paths if path.endswith(PAGES) and "/" in path])

    def act(self) -> None:
        """Do an action, compare its commit with what it says, and undo most of the commits."""
        name = self.random.choice(["edit", "rename", "delete", "bulk_state", "bulk_move", "bulk_delete", "upload"])
        before, head, pages = self.files(), self.site.repo.head(), self.pages.paths()
        try:
            answer: TestResponse = getattr(self, name)()
        except StopIteration:  # The configuration of the site does not permit it.
            self.done[f"{name} not offered"] += 1
            return
        after, message = self.files(), f"{name}: {answer.location or re.findall(r'error[^<]*<[^<]*', answer.text)[:3]}"
        if answer.status_code != 303 or self.site.repo.head() == head:
            self.done[f"{name} refused"] += 1
            assert (answer.status_code in (303, 400, 409, 422), after == before) == (True, True), message
            return
        self.done[name] += 1
        assert self.site.repo.text("rev-list", "--count", f"{head}..main").strip() == "1", message
        self.check(name, before, after, pages, message)
        if name != "upload" and self.random.random() < UNDONE:
            self.undo(before, message)
            assert self.pages.paths() == pages, message

    def check(self, name: str, before: Files, after: Files, pages: set[str], message: str) -> None:
        removed = {path: sha for path, sha in before.items() if path not in after}
        added = {path: sha for path, sha in after.items() if path not in before}
        changed = {path for path in before.keys() & after.keys() if before[path] != after[path]}
        assert self.is_expected(name, removed, added, changed), (message, removed, added, changed)
        expected = pages - removed.keys() if "delete" in name else pages
        # A file outside the content folder becomes a page if it is moved into it.
        new_pages = set[str]()
        if name in ("rename", "bulk_move"):
            moved = {sha: path for path, sha in added.items()}
            expected = {moved[removed[path]] if path in removed else path for path in pages}
            new_pages = added.keys() - expected
        assert self.pages.paths() - new_pages == expected, message

    def is_expected(self, name: str, removed: Files, added: Files, changed: set[str]) -> bool:
        chosen, folders = set(self.chosen), tuple(f"{parent(path)}/" for path in self.chosen)
        is_entry = all(path in chosen or path.startswith(folders) for path in removed)
        match name:
            case "edit" | "bulk_state":
                return not removed and not added and changed <= chosen and self.has_short_changes(changed)
            case "rename" | "bulk_move":
                return is_entry and not changed and Counter(removed.values()) == Counter(added.values())
            case "upload":
                return len(added) == 1 and not removed and not changed
        return is_entry and not added and not changed and bool(chosen & removed.keys())

    def has_short_changes(self, changed: set[str]) -> bool:
        """Return whether each changed file has one new line, and at most one that it replaces."""
        lines = [line.split() for line in self.site.repo.text("diff", "--numstat", "main~1", "main").splitlines()]
        return len(lines) == len(changed) and all(line[0] == "1" and line[1] in ("0", "1") for line in lines)

    def undo(self, before: Files, message: str) -> None:
        answer = submit(self.site.owner, f"{self.base}/undo/{self.site.repo.head()}", next=self.base)
        assert "done=undone" in (answer.location or ""), (message, answer.text[-3000:])
        assert self.files() == before, message
        self.done["undo"] += 1

    # Actions

    def form(self, path: str, action: str) -> dict[str, str]:
        return form_of(self.get(f"/edit/{path}"), action)

    def edit(self) -> TestResponse:
        self.chosen = [path := self.page()]
        sent = self.form(path, "editor-form")
        sent["fm.title"] = f"{sent['fm.title']} {self.random.randrange(1000)}"
        return submit(self.site.owner, f"{self.base}/edit/{path}", **sent)

    def rename(self) -> TestResponse:
        self.chosen = [path := self.page()]
        sent = self.form(path, f"{self.base}/rename/") | WHOLE_PATH
        new = re.sub(r"[^/]+?(/_?index)?(\.[a-z-]+)?(\.\w+)$", rf"renamed-{self.random.randrange(10**6)}\1\2\3", path)
        return submit(self.site.owner, f"{self.base}/rename/{path}", **sent | {"new_path": new})

    def delete(self) -> TestResponse:
        self.chosen = [path := self.page()]
        return submit(self.site.owner, f"{self.base}/delete/{path}", **self.form(path, f"{self.base}/delete/"))

    def select(self, action: str, **fields: str) -> TestResponse:
        self.chosen = [self.page() for _ in range(self.random.randrange(1, 4))]
        sent = {"base_sha": self.site.repo.head(), "folder": "", "select": self.chosen, "confirmed": "1"}
        return submit(self.site.owner, f"{self.base}/{action}", **sent | fields)

    def bulk_state(self) -> TestResponse:
        return self.select("bulk-state", state=self.random.choice(["draft", "published"]))

    def bulk_move(self) -> TestResponse:
        return self.select("bulk-move", target=parent(parent(self.page())))

    def bulk_delete(self) -> TestResponse:
        return self.select("bulk-delete")

    def upload(self) -> TestResponse:
        self.chosen = []
        sent = form_of(self.get("/media"), "multipart")
        picture = BytesIO(PNG), f"picture-{self.random.randrange(10**6)}.png"
        return submit(self.site.owner, f"{self.base}/media", **sent | {"file": picture})


@pytest.mark.parametrize("name", SITES)
def test_commit_contains_its_action_alone(world: World, tmp_path: Path, name: str) -> None:
    editor = Editor(make_site(world, dict(SITES[name]())), tmp_path / "checkout")
    for _ in range(ACTIONS):
        editor.act()
    print(name, dict(editor.done))
    editor.site.repo.check()
    assert editor.done["undo"] >= 1
