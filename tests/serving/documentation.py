"""A repository like the documentation of a large project: nested folders, long front matter, and markup that editors break.

`GALLEY_DOCUMENTATION` names another repository for the test: the folder of a Git repository with Markdown files.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.samples.gitrepo import GitRepo

SECTIONS, PAGES = 12, 25

PAGE = """\
---
title:   "Step {page} of section {section}"   # shown in the navigation
description: >-
  How to configure part {page},
  and how to test it.
sidebar: {{order: {page}, badge: new}}
i18nReady: true
---

Part {page} of section {section} uses two  spaces and a trailing backslash\\\\
* * *
import Since from '~/components/Since.astro';

:::note[Since version 2]
Set `part-{page}` first.
:::

| Option | Default |
|--------|:-------:|
| `part` | {page} |

<details><summary>More</summary>
Text in HTML.
</details>

1) One
1) Two
   - nested
"""


START = re.compile(
    r"""---\n(?:.*\n)*?(?P<line>title: +(?P<quote>["']?)(?P<title>[A-Za-z0-9 ]{8,})(?P=quote)(?: +\#.*)?)\n(?:.*\n)*?---\n\n"""
    r"(?P<paragraph>[A-Z][\w ,.'-]{30,}\S*)\n"
)
"""Front matter with a title, and a first paragraph of plain words."""


@dataclass(frozen=True)
class Document:
    """A page with a title and a first paragraph, which the test edits."""

    path: str
    title: str
    title_line: str
    paragraph: str


def pages() -> Mapping[str, bytes]:
    """Return the files of the generated repository."""
    return {
        f"src/content/docs/en/section-{section:02}/part-{page:02}.mdx": PAGE.format(section=section, page=page).encode()
        for section in range(1, SECTIONS + 1)
        for page in range(1, PAGES + 1)
    }


def repository(folder: Path) -> tuple[GitRepo, str]:
    """Return a repository with documentation, and the commit that is connected."""
    if chosen := os.environ.get("GALLEY_DOCUMENTATION"):
        repo = GitRepo.existing(Path(chosen))
        return repo, repo.text("rev-parse", "HEAD")
    repo = GitRepo(folder, pages())
    return repo, repo.head()


def editable(repo: GitRepo, commit: str) -> Document:
    """Return the last Markdown file whose text starts with a paragraph on one line."""
    for path in sorted(repo.text("ls-tree", "-r", "--name-only", commit).splitlines(), reverse=True):
        if not re.search(r"/[a-z-]*[a-z0-9-]+\.mdx?$", path):
            continue
        start = START.match(repo.show(path, commit).decode(errors="replace"))
        if start:
            return Document(path, start["title"], start["line"], start["paragraph"])
    raise AssertionError("no page of the repository starts with a paragraph")
